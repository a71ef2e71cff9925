"""A calibration on file: written whole or not at all, and checked field by field when read."""

import json
import os
from contextlib import suppress
from dataclasses import asdict, fields
from pathlib import Path

import numpy as np

from tpbook.catalogue import field, lookup, typed_field
from tpbook.hardware import all_accelerators
from tpbook.published import SOURCES
from tpbook.serving_amounts import NAMES, UTILISATIONS
from tpbook.serving_calibration import BASES, Calibration
from tpbook.serving_fit import LEAST_UTILISATION
from tpbook.serving_model import Parameters

FORMAT = 2
# Beyond any number of a calibration, and small enough for the squares of numbers.
LARGEST = 1e15
ROUNDING = 0.01
TEXTS = ("name", "source", "accelerator", "model", "basis")
# The ranges of the domain, and whether they count.
RANGES = dict(degrees=True, batches=True, prompts=True, outputs=True, messages=False)


def save(calibration: Calibration, path: str | Path) -> None:
    """Write a calibration as JSON, aside first and then renamed, so that no half file is left.

    A link is followed. Raises ValueError where the file cannot be written, and for what exists and
    is no file, such as a folder or a device.
    """
    text = json.dumps({"format": FORMAT, **asdict(calibration)}, indent=1)
    aside = None
    try:
        # A rename would put the file in place of a link, and even of a device.
        target = Path(os.path.realpath(path))
        if os.path.lexists(target) and not target.is_file():
            raise ValueError("it is not a file")
        aside = target.with_name(f".calibration.{os.getpid()}")
        aside.write_text(text + "\n", encoding="utf-8")
        aside.replace(target)
    except (OSError, ValueError) as error:
        if aside is not None:
            with suppress(OSError):
                aside.unlink()
        reason = getattr(error, "strerror", None) or error
        raise ValueError(f"{path}: cannot be written ({reason})") from None


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
    texts = {name: _text(entry, name, where) for name in TEXTS}
    if texts["basis"] not in BASES:
        known = " or ".join(BASES)
        raise ValueError(f"{where}: basis must be {known}, got {texts['basis']!r}")
    if texts["source"] not in SOURCES and not texts["source"].startswith("system:"):
        known = ", ".join(SOURCES)
        raise ValueError(
            f"{where}: source must be system:ID or one of {known}, got {texts['source']!r}"
        )
    lookup(all_accelerators(), texts["accelerator"], f"accelerator in {where}:")
    return Calibration(
        **texts,
        parameters=_parameters(entry, where),
        intervals={
            name: _range(ends, f"{where}: interval of {name}")
            for name, ends in _mapping(entry, "intervals", where).items()
        },
        covariance=_covariance(entry, where),
        noise=_number(entry["noise"], f"{where}: noise"),
        fitted_error=_number(entry["fitted_error"], f"{where}: fitted_error"),
        rows=_count(entry["rows"], f"{where}: rows"),
        **{name: _range(entry[name], f"{where}: {name}", whole) for name, whole in RANGES.items()},
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
        ends = (LEAST_UTILISATION, 1.0) if name in UTILISATIONS else (0.0, LARGEST)
        found[name] = float(_number(value, f"{where}: parameter {name}", *ends))
    return Parameters(**found)


def _text(entry: dict, name: str, where: str) -> str:
    found = typed_field(entry, name, str, where)
    if not found.strip() or not found.isprintable():
        raise ValueError(f"{where}: {name} must be one line of text, got {found!r}")
    return found


def _count(value, where: str, least: int = 1) -> int:
    if _number(value, where, least) % 1:
        raise ValueError(f"{where}: must be whole, got {value}")
    return int(value)


def _range(value, where: str, whole: bool = False) -> tuple:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{where}: must be two numbers, got {value!r}")
    low, high = (_count(each, where, 0) if whole else _number(each, where) for each in value)
    if low > high:
        raise ValueError(f"{where}: runs from {low} down to {high}; swap them")
    return low, high


def _covariance(entry: dict, where: str, name: str = "covariance") -> tuple:
    value = field(entry, name, where)
    size = len(NAMES)
    rows = value if isinstance(value, list) and len(value) == size else [None]
    if not all(isinstance(row, list) and len(row) == size for row in rows):
        raise ValueError(f"{where}: {name} must be {size} lists of {size} numbers")
    found = np.array(
        [[_number(each, f"{where}: {name}", -LARGEST) for each in row] for row in rows]
    )
    variances = np.diag(found)
    scale = np.sqrt(np.where(variances > 0, variances, 1))
    correlations = found / np.outer(scale, scale)
    # Four digits make it one only nearly.
    near = np.allclose(correlations, correlations.T, atol=ROUNDING)
    if not near or np.linalg.eigvalsh(correlations).min() < -ROUNDING:
        raise ValueError(f"{where}: {name} is not one: symmetric, and no variance below zero")
    return tuple(map(tuple, found.astype(float).tolist()))


def _rates(entry: dict, where: str) -> tuple:
    found = []
    for pair in typed_field(entry, "rates", list, where):
        p, rate = _pair(pair, f"{where}: rates")
        if p in dict(found):
            raise ValueError(f"{where}: rates: p = {p} is there twice; keep one")
        found.append((p, float(rate)))
    return tuple(found)


def _pair(value, where: str) -> tuple:
    if not isinstance(value, list) or len(value) != 2:
        raise ValueError(f"{where}: must hold pairs of degree and B/s, got {value!r}")
    # A rate below one byte a second is none.
    return _count(value[0], where, 2), _number(value[1], where, 1.0)
