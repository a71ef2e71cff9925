"""One row of the claims ledger, and the form that a row must have."""

import math
import re
from dataclasses import dataclass

from tpbook.catalogue import field

# Each verdict and the style of its badge (book/_static/book.css).
VERDICTS = {
    "reproduced": "reproduced",
    "reproduced under an assumption": "assumption",
    "corrected": "corrected",
    "implied": "implied",
    "needs hardware": "hardware",
}
CHAPTERS = ("2.1", "2.2", "2.3", "2.4", "2.5", "3", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6")
TEXTS = ("id", "source", "section", "claim", "verdict", "reason", "chapter")
Value = bool | int | float | str


@dataclass(frozen=True)
class Claim:
    """One statement of a source and how the book tests it.

    value, found, found_without: in the row's unit; a truth value for a statement without a number.
    check: expression that recomputes the value. without: the same with the assumption dropped.
    tolerance: largest accepted distance, in the row's unit; a fraction of value if relative.
    follows_from: ids of the rows that imply this one.
    figures: further numbers that the reason prints, each with the expression that recomputes it.
    """

    id: str
    source: str
    section: str
    claim: str
    value: Value
    verdict: str
    reason: str
    chapter: str
    unit: str = ""
    check: str | None = None
    tolerance: float | None = None
    relative: bool = False
    found: Value | None = None
    without: str | None = None
    found_without: Value | None = None
    follows_from: tuple[str, ...] = ()
    figures: tuple[tuple[str, str], ...] = ()


def read_row(row, sources: dict, file: str, position: int) -> Claim:
    """One row as a Claim.

    sources: the file's sources by id. file, position: for the error line.
    Raises ValueError that names the file, the row and the field.
    """
    where = f"{file}: row {position}"
    if not isinstance(row, dict):
        raise ValueError(f"{where}: must hold fields, got {row!r}")
    where = f"{file}: {row.get('id', f'row {position}')}"
    unknown = set(row) - (set(Claim.__dataclass_fields__) - {"relative"})
    if unknown:
        raise ValueError(f"{where}: unknown field {sorted(unknown)[0]!r}: remove or rename it")
    fields = {name: _text(field(row, name, where), name, where) for name in TEXTS}
    _one_of(fields, "source", sources, where)
    _one_of(fields, "verdict", VERDICTS, where)
    _one_of(fields, "chapter", CHAPTERS, where)
    if not re.fullmatch(r"R-\d{2,3}|O-\d(\.\d)?-\d\d", fields["id"]):
        raise ValueError(f"{where}: id must look like R-01 or O-2.1-01, got {fields['id']!r}")
    for name in ("unit", "check", "without"):
        if name in row:
            fields[name] = _text(row[name], name, where)
    fields["value"] = _value(field(row, "value", where), "value", where)
    fields |= _tolerance(row, fields["value"], where)
    for name in ("found", "found_without"):
        if name in row:
            fields[name] = _same_kind(row[name], fields["value"], name, where)
    claim = Claim(**fields, follows_from=_ids(row, where), figures=_figures(row, where))
    _check_verdict(claim, where)
    return claim


def _check_verdict(claim: Claim, where: str) -> None:
    """Each verdict needs its evidence in the row, and no other."""
    measured = claim.verdict == "needs hardware"
    for first, second in [("check", "found"), ("without", "found_without")]:
        if (getattr(claim, first) is None) != (getattr(claim, second) is None):
            raise ValueError(f"{where}: {first} and {second} go together: give both or neither")
    if measured != (claim.check is None):
        raise ValueError(f"{where}: check must be {'left out' if measured else 'given'}")
    if claim.without and claim.verdict != "reproduced under an assumption":
        raise ValueError(f"{where}: without is only for 'reproduced under an assumption'")
    if claim.verdict == "reproduced under an assumption" and not claim.without:
        raise ValueError(f"{where}: without is missing: say what is found in general")
    if bool(claim.follows_from) != (claim.verdict == "implied"):
        raise ValueError(f"{where}: follows_from goes with the verdict 'implied' and no other")


def _tolerance(row: dict, value: Value, where: str) -> dict:
    numeric = not isinstance(value, bool | str)
    needed = numeric and "check" in row
    if needed != ("tolerance" in row):
        remedy = "is missing: a number needs one" if needed else "is for checked numbers: remove it"
        raise ValueError(f"{where}: tolerance {remedy}")
    if numeric != ("unit" in row):
        remedy = "is missing: write 1 for a ratio" if numeric else "is for numbers: remove it"
        raise ValueError(f"{where}: unit {remedy}")
    if not needed:
        return {}
    tolerance = row["tolerance"]
    if not isinstance(tolerance, dict) or list(tolerance) not in (["absolute"], ["relative"]):
        raise ValueError(
            f"{where}: tolerance must be {{absolute: x}} or {{relative: x}}, got {tolerance!r}"
        )
    kind, reach = next(iter(tolerance.items()))
    reach = _same_kind(reach, 0.0, "tolerance", where)
    if reach < 0:
        raise ValueError(f"{where}: tolerance must be zero or positive, got {reach}")
    return {"tolerance": reach, "relative": kind == "relative"}


def _ids(row: dict, where: str) -> tuple[str, ...]:
    ids = row.get("follows_from", [])
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids):
        raise ValueError(f"{where}: follows_from must be a list of ids, got {ids!r}")
    return tuple(ids)


def _figures(row: dict, where: str) -> tuple[tuple[str, str], ...]:
    figures = row.get("figures", {})
    if not isinstance(figures, dict):
        raise ValueError(f"{where}: figures must map numbers to expressions, got {figures!r}")
    for number, expression in figures.items():
        if _text(number, "figures", where) not in row["reason"]:
            raise ValueError(f"{where}: figures: reason does not print {number}: remove it")
        _text(expression, f"figures: {number}", where)
    return tuple(figures.items())


def _one_of(fields: dict, name: str, allowed, where: str) -> None:
    if fields[name] not in allowed:
        known = ", ".join(allowed)
        raise ValueError(f"{where}: {name} must be one of {known}, got {fields[name]!r}")


def _text(value, name: str, where: str) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError(f"{where}: {name} must be text, in quotes if need be, got {value!r}")
    return value


def _value(value, name: str, where: str) -> Value:
    if isinstance(value, str) and re.fullmatch(r"[-+]?[\d.]+(e[-+]?\d+)?", value, re.IGNORECASE):
        raise ValueError(f"{where}: {name} {value!r} is text: write 1.0e+12, not 1.0e12")
    if not isinstance(value, bool | int | float | str) or value == "":
        raise ValueError(f"{where}: {name} must be a number, true, false or text, got {value!r}")
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError(f"{where}: {name} must be finite, got {value}")
    return value


def _same_kind(value, model: Value, name: str, where: str) -> Value:
    """A value of the same kind as another: a truth value, a text or a number."""
    value = _value(value, name, where)
    kinds = [k for k in (bool, str) if isinstance(model, k) or isinstance(value, k)]
    if any(not (isinstance(model, k) and isinstance(value, k)) for k in kinds):
        raise ValueError(f"{where}: {name} must be of the kind of {model!r}, got {value!r}")
    return value
