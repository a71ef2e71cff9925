"""A calibration on file: written whole or not at all, and checked field by field when read."""

import json
import os
import sys
from dataclasses import asdict, fields
from pathlib import Path

from tpbook.catalogue import field, typed_field
from tpbook.serving_amounts import NAMES, UTILISATIONS
from tpbook.serving_calibration import Calibration
from tpbook.serving_model import Parameters

FORMAT = 2
LARGEST = sys.float_info.max
TEXTS = ("name", "source", "accelerator", "model", "basis")
RANGES = ("degrees", "batches", "prompts", "outputs", "messages")


def save(calibration: Calibration, path: str | Path) -> None:
    """Write a calibration as JSON, aside first and then renamed, so that no half file is left.

    Raises ValueError where the file cannot be written.
    """
    path = Path(path)
    aside = path.with_name(f".{path.name}.{os.getpid()}")
    text = json.dumps({"format": FORMAT, **asdict(calibration)}, indent=1)
    try:
        aside.write_text(text + "\n", encoding="utf-8")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise ValueError(f"{path}: cannot be written ({error.strerror})") from None


def load(path: str | Path) -> Calibration:
    """Read a calibration that save wrote.

    Raises ValueError naming the file and the field for anything else.
    """
    try:
        entry = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ValueError(f"{path}: cannot be read ({error.strerror})") from None
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{path}: is not JSON ({error})") from None
    if not isinstance(entry, dict) or entry.pop("format", None) != FORMAT:
        raise ValueError(f"{path}: is no calibration of format {FORMAT}; write one with calibrate")
    where = str(path)
    _same_names(entry, [each.name for each in fields(Calibration)], where)
    return Calibration(
        **{name: typed_field(entry, name, str, where) for name in TEXTS},
        parameters=_parameters(entry, where),
        intervals={
            name: _range(ends, f"{where}: interval of {name}")
            for name, ends in _mapping(entry, "intervals", where).items()
        },
        covariance=_square(entry, "covariance", where),
        noise=_number(entry["noise"], f"{where}: noise"),
        fitted_error=_number(entry["fitted_error"], f"{where}: fitted_error"),
        rows=int(_number(entry["rows"], f"{where}: rows")),
        **{name: _range(entry[name], f"{where}: {name}") for name in RANGES},
        rates=_rates(entry, where),
    )


def _same_names(found: dict, expected, where: str) -> None:
    wrong = sorted(set(expected) ^ set(found))
    if wrong:
        raise ValueError(f"{where}: field {wrong[0]!r} is missing or unknown")


def _mapping(entry: dict, name: str, where: str) -> dict:
    found = typed_field(entry, name, dict, where)
    _same_names(found, NAMES, f"{where}: {name}")
    return found


def _number(value, where: str, least: float = 0.0, most: float = LARGEST) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{where}: must be a number, got {value!r}")
    if not least <= value <= most:  # not a number fails as well
        raise ValueError(f"{where}: must be finite and from {least:g} to {most:g}, got {value}")
    return value


def _parameters(entry: dict, where: str) -> Parameters:
    found = {}
    for name, value in _mapping(entry, "parameters", where).items():
        most = 1.0 if name in UTILISATIONS else LARGEST
        found[name] = float(_number(value, f"{where}: parameter {name}", most=most))
        if name in UTILISATIONS and not found[name]:
            raise ValueError(f"{where}: parameter {name}: must be above 0, got {value}")
    return Parameters(**found)


def _range(value, where: str) -> tuple:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{where}: must be two numbers, got {value!r}")
    low, high = (_number(each, where) for each in value)
    if low > high:
        raise ValueError(f"{where}: runs from {low} down to {high}; swap them")
    return low, high


def _square(entry: dict, name: str, where: str) -> tuple:
    value = field(entry, name, where)
    size = len(NAMES)
    rows = value if isinstance(value, list) and len(value) == size else [None]
    if not all(isinstance(row, list) and len(row) == size for row in rows):
        raise ValueError(f"{where}: {name} must be {size} lists of {size} numbers")
    return tuple(
        tuple(float(_number(each, f"{where}: {name}", least=-LARGEST)) for each in row)
        for row in rows
    )


def _rates(entry: dict, where: str) -> tuple:
    found = []
    for pair in typed_field(entry, "rates", list, where):
        p, rate = _pair(pair, f"{where}: rates")
        found.append((int(p), float(rate)))
    return tuple(found)


def _pair(value, where: str) -> tuple:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{where}: must hold pairs of degree and B/s, got {value!r}")
    return _number(value[0], where, least=2), _number(value[1], where)
