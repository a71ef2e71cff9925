"""Reading the YAML catalogues: every error names the file, the entry and the field."""

import sys
from pathlib import Path

import yaml


def read_table(path: Path) -> dict:
    """The mapping in a YAML file; raises ValueError when the file holds anything else."""
    where = f"{path.parent.name}/{path.name}"
    try:
        table = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{where} cannot be read ({error.strerror})") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        # A ValueError is text of other bytes than UTF-8, or a date that the calendar lacks.
        raise ValueError(f"{where} is not YAML: {' '.join(str(error).split())}") from None
    if not isinstance(table, dict):
        raise ValueError(f"{where} must hold a mapping, got {type(table).__name__}")
    return table


def lookup(table: dict, id: str, kind: str):
    """The entry of an id; raises ValueError that lists the known ids."""
    if not isinstance(id, str) or id not in table:
        raise ValueError(f"unknown {kind} {id!r}; known: {', '.join(table)}")
    return table[id]


def field(entry: dict, name: str, where: str):
    """The entry's value of a field; where says the file and entry for the error line."""
    if not isinstance(entry, dict):
        raise ValueError(f"{where}: must hold fields such as {name!r}, got {entry!r}")
    if name not in entry:
        raise ValueError(f"{where}: field {name!r} is missing")
    return entry[name]


def typed_field(entry: dict, name: str, kind, where: str):
    """A field that must hold text, a truth value, a list or a mapping (kind: str, bool, ...)."""
    value = field(entry, name, where)
    if not isinstance(value, kind):
        names = {str: "text", bool: "true or false", list: "a list", dict: "a mapping"}
        allowed = names.get(kind, "text or null")
        raise ValueError(f"{where}: {name} must be {allowed}, got {value!r}")
    return value


def list_of(entry: dict, name: str, kind, where: str) -> tuple:
    """A field that must hold a list of texts or of mappings (kind: str, dict)."""
    values = typed_field(entry, name, list, where)
    for value in values:
        if not isinstance(value, kind):
            what = "text" if kind is str else "a mapping"
            raise ValueError(f"{where}: {name} must hold {what} in each line, got {value!r}")
    return tuple(values)


def number(value, where: str) -> float:
    """A finite number above zero as a float.

    where: file, entry and field for the error line. Text is refused rather than converted:
    YAML 1.1 reads 1.0e12 as text, and only 1.0e+12 as a number.
    """
    if isinstance(value, str):
        raise ValueError(f"{where}: {value!r} is text, not a number (write 1.0e+12, not 1.0e12)")
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: must be a number, got {value!r}")
    if not 0 < value <= sys.float_info.max:
        raise ValueError(f"{where}: must be finite and positive, got {value}")
    return float(value)


def count(value, where: str) -> int:
    """A whole number above zero; where as in number. Nothing is rounded."""
    found = number(value, where)
    if found % 1:
        raise ValueError(f"{where}: must be whole, got {value}")
    return int(found)
