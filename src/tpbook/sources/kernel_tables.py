"""Writing the tables under data/kernels that more than one source fills."""

from pathlib import Path

from tpbook.sources import number, write_lines

ATTENTION_COLUMNS = (
    *("accelerator", "p", "phase", "batch", "tokens", "context"),
    *("time_s", "low_s", "high_s", "samples", "statistic", "source"),
)
SHAPE_COLUMNS = ("accelerator", "rows", "inner", "columns", "time_s", "samples", "source")


def write_attention(output: Path, model: str, rows: list[tuple], owned: set[str]) -> None:
    """Write the attention table of a model, replacing the rows of the sources that are owned.

    output: the data folder. rows: as ATTENTION_COLUMNS, times in s, None where unknown.
    owned: names in the column source; rows of other sources already in the file are kept.
    """
    file = output / "kernels" / f"{model}-attention.csv"
    lines = {
        (row[0], row[11], row[2], *row[1:2], *row[3:6]): ",".join(
            [*map(str, row[:6]), *map(_time, row[6:9]), *map(str, row[9:])]
        )
        for row in rows
    }
    if len(lines) != len(rows):
        raise ValueError(f"{file}: two rows for one accelerator, source, phase, p and sizes")
    if file.exists():
        for line in file.read_text().splitlines()[1:]:
            card, p, phase, batch, tokens, context, *_, source = line.split(",")
            if source not in owned:
                key = card, source, phase, int(p), int(batch), int(tokens), int(context)
                lines[key] = line
    write_lines(file, ATTENTION_COLUMNS, [lines[key] for key in sorted(lines)])


def _time(value: float | None) -> str:
    return "" if value is None else number(value)
