"""Reading the YAML catalogues: every error names the file, the entry and the field."""

import math
from pathlib import Path

import yaml


def read_table(path: Path) -> dict:
    """The mapping in a YAML file; raises ValueError when the file holds anything else."""
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as error:
        raise ValueError(f"{path.name} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(table, dict):
        raise ValueError(f"{path.name} must hold a mapping, got {type(table).__name__}")
    return table


def lookup(table: dict, id: str, kind: str):
    """The entry of an id; raises ValueError that lists the known ids."""
    if id not in table:
        raise ValueError(f"unknown {kind} {id!r}; known: {', '.join(table)}")
    return table[id]


def field(entry: dict, name: str, where: str):
    """The entry's value of a field; where says the file and entry for the error line."""
    if name not in entry:
        raise ValueError(f"{where}: field {name!r} is missing")
    return entry[name]


def number(value, where: str) -> float:
    """A finite number above zero as a float.

    where: file, entry and field for the error line. Text is refused rather than converted:
    YAML 1.1 reads 1.0e12 as text, and only 1.0e+12 as a number.
    """
    if isinstance(value, str):
        raise ValueError(f"{where}: {value!r} is text, not a number (write 1.0e+12, not 1.0e12)")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: must be a number, got {value!r}")
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{where}: must be finite and positive, got {value}")
    return float(value)
