"""Reading a CSV table against its contract: every error names file, line, column and remedy."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np
import pandas as pd

# No count of a table comes near, and a float holds every whole number up to it.
LARGEST = 10**15


@dataclass(frozen=True)
class Column:
    """What a column must hold: text (one of allowed, where given) or a number within bounds.

    default: the number that stands for an empty cell or an absent column; None: both are errors.
    """

    name: str
    allowed: tuple[str, ...] | None = None
    low: float | None = None
    above: float | None = None
    whole: bool = False
    default: float | None = None

    @property
    def is_number(self) -> bool:
        return self.low is not None or self.above is not None


def read_csv(file: Path, columns: tuple[Column, ...], key: tuple[str, ...]) -> pd.DataFrame:
    """The table in a CSV file, checked column by column; numbers are converted, text is kept.

    key: the columns whose values together may occur once.
    Raises ValueError with one line: file, line, column, what is wrong, what to do.
    """
    where = f"{file.parent.name}/{file.name}"
    if not os.path.isfile(file):
        fault = "is not a file" if os.path.exists(file) else "is missing"
        raise ValueError(f"{where} {fault}: add it with the columns {_names(columns)}")
    try:
        # The header is read as a row like the others, and so are blank lines: line numbers stay
        # those of the file, and pandas neither renames nor shifts a column.
        lines = pd.read_csv(
            file, header=None, dtype=str, keep_default_na=False, skip_blank_lines=False
        )
    except OSError as error:
        raise ValueError(f"{where} cannot be read ({error.strerror})") from None
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split()).removeprefix("Error tokenizing data. C error: ")
        raise ValueError(f"{where} is not a CSV table: {reason}") from None
    header = lines.iloc[0]
    again = header[header.duplicated()]
    if len(again):
        raise ValueError(f"{where}: column {again.iloc[0]} is there twice; keep one")
    # A column that nobody reads may be a misspelt one that has a default.
    unknown = header[~header.isin([column.name for column in columns])]
    if len(unknown):
        raise ValueError(
            f"{where}: column {unknown.iloc[0]!r} is unknown; the columns are {_names(columns)}"
        )
    table = lines[1:].set_axis(header, axis=1).reset_index(drop=True)
    row = first((table == "").all(axis=1))
    if row is not None:
        raise ValueError(f"{where} line {row + 2} is blank; drop it")
    for column in columns:
        if column.name not in table and column.default is not None:
            table[column.name] = ""
        if column.name not in table:
            raise ValueError(
                f"{where}: column {column.name} is missing; the columns are {_names(columns)}"
            )
        table[column.name] = _checked(table[column.name], column, where)
    _within_spread(table, where)
    row = first(table.duplicated(list(key)))
    if row is not None:
        what = ", ".join(f"{name} {table[name].iloc[row]}" for name in key)
        remedy = "keep one row, its statistic taken over all repeats"
        refuse(where, row, key[0], f"a second row for {what}", remedy)
    return table[[column.name for column in columns]]


def first(bad) -> int | None:
    """The position of the first true entry, None where there is none."""
    bad = np.asarray(bad)
    return int(np.argmax(bad)) if bad.any() else None


def refuse(where: str, row: int, column: str, reason: str, remedy: str) -> NoReturn:
    """Raise the one line of ValueError that every fault of a table gets.

    where: folder and file. row: counted from zero below the header, which is line 1 of the file.
    """
    raise ValueError(f"{where} line {row + 2}, column {column}: {reason}; {remedy}")


def _checked(text: pd.Series, column: Column, where: str) -> pd.Series:
    if column.is_number:
        values = pd.to_numeric(text, errors="coerce").astype(float)
        given = pd.Series(True, text.index) if column.default is None else text != ""
        bad = given & ~np.isfinite(values)
        rule = "must be a number"
        if not bad.any():
            bad, rule = _out_of_bounds(values, column)
        values = values.where(given, column.default)
    else:
        values = text
        bad = text == "" if column.allowed is None else ~text.isin(column.allowed)
        rule = f"must be one of {', '.join(column.allowed)}" if column.allowed else "is empty"
    row = first(bad)
    if row is not None:
        remedy = "correct the value or drop the row and say so in the folder's yml file"
        refuse(where, row, column.name, f"{rule}, got {text.iloc[row]!r}", remedy)
    return values.astype(int) if column.is_number and column.whole else values


def _within_spread(table: pd.DataFrame, where: str) -> None:
    """Refuse a time outside the lowest and highest of its own repeats, where a table has them."""
    if not {"low_s", "time_s", "high_s"} <= set(table):
        return
    for end, bad in (
        ("low_s", table["low_s"] > table["time_s"]),
        ("high_s", table["high_s"] < table["time_s"]),
    ):
        row = first(bad)
        if row is not None:
            edge, time = (table[name].iloc[row] for name in (end, "time_s"))
            reason = f"{edge:g} leaves out the time itself, {time:g}"
            refuse(where, row, end, reason, "give the extremes of the same repeats")


def _out_of_bounds(values: pd.Series, column: Column) -> tuple[pd.Series, str]:
    if column.whole and (values % 1 != 0).any():
        return values % 1 != 0, "must be whole"
    if column.whole and (values > LARGEST).any():
        return values > LARGEST, f"must be at most {LARGEST:g}"
    if column.above is not None:
        return values <= column.above, f"must be above {column.above:g}"
    return values < column.low, f"must be at least {column.low:g}"


def _names(columns: tuple[Column, ...]) -> str:
    return ", ".join(column.name for column in columns)
