"""Reading CSV tables: values as they are written, and faults at the line where they stand."""

import math

import pytest

from tpbook.tables import Column, read_csv

COLUMNS = (
    Column("p", low=1, whole=True),
    Column("kind", allowed=("a", "b")),
    Column("time_s", above=0, default=math.nan),
)


@pytest.fixture
def table(tmp_path):
    """Writes bytes or text to a file and reads it as a table."""

    def read(content):
        file = tmp_path / "table.csv"
        file.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_csv(file, COLUMNS, ("p", "kind"))

    return read


@pytest.mark.parametrize(
    "content",
    [
        "p,kind,time_s\n2,a,0.5\n",
        "\ufeffp,kind,time_s\n2,a,0.5\n",
        "p,kind,time_s\r\n2,a,0.5\r\n",
        "p,kind,time_s\n2,a,0.5",
        '"p","kind","time_s"\n"2","a","0.5"\n',
        "time_s,p,kind\n5e-1,2.0,a\n",
    ],
)
def test_one_table_in_several_spellings_is_read_alike(table, content):
    found = table(content)
    assert list(found.columns) == ["p", "kind", "time_s"]
    assert found.to_numpy().tolist() == [[2, "a", 0.5]]


def test_an_absent_column_and_an_empty_cell_get_the_default(table):
    assert table("p,kind\n2,a\n")["time_s"].isna().all()
    assert table("p,kind,time_s\n2,a,\n")["time_s"].isna().all()


@pytest.mark.parametrize(
    "content, error",
    [
        ("", "is not a CSV table: No columns"),
        ("p,kind,time_s\n2,a,1\n2,c,1\n", "line 3, column kind: must be one of a, b, got 'c'"),
        ("p,kind,time_s\n2,a,1\n\n2,b,-1\n", "line 3 is blank; drop it"),
        ("\np,kind,time_s\n2,a,1\n", "is not a CSV table: No columns"),
        ("p,kind,time_s\n2,a\n2\n", "line 3, column kind: must be one of a, b, got ''"),
        ("p,kind\n2,a\n2,b,1\n", "Expected 2 fields in line 3, saw 3"),
        ("p,kind,time_s\n2,a,1\n3,a,1\n2,a,2\n", "line 4, column p: a second row for p 2, kind a"),
        ("p,kind\n2,a,1\n", "Expected 2 fields in line 2, saw 3"),
        ("p,kind,p\n2,a,1\n", "column p is there twice; keep one"),
        ("p,kind,time\n2,a,1\n", "column 'time' is unknown; the columns are p, kind, time_s"),
        ("p;kind;time_s\n2;a;1\n", "column 'p;kind;time_s' is unknown"),
        ("p,time_s\n2,1\n", "column kind is missing"),
        ("p,kind\n1e300,a\n", r"line 2, column p: must be at most 1e\+15, got '1e300'"),
        ("p,kind\n0x2,a\n", "line 2, column p: must be a number, got '0x2'"),
        ("p,kind,time_s\n2,a,8 us\n", "line 2, column time_s: must be a number, got '8 us'"),
        ('p,kind\n2,"a\n', "is not a CSV table: EOF inside string"),
        (b"p,kind\n2,\xe9\n", "is not a CSV table: 'utf-8' codec"),
    ],
)
def test_a_fault_is_one_line_that_says_where(table, content, error):
    with pytest.raises(ValueError, match=error) as caught:
        table(content)
    assert "/table.csv" in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ("2,1.0,1.1,1.2", "line 2, column low_s: 1.1 leaves out the time itself, 1"),
        ("2,1.0,0.9,0.95", "line 2, column high_s: 0.95 leaves out the time itself, 1"),
    ],
)
def test_a_time_lies_within_its_own_repeats(tmp_path, row, says):
    columns = [Column(name, above=0) for name in ("time_s", "low_s", "high_s")]
    columns.insert(0, Column("p", low=1, whole=True))
    path = tmp_path / "times.csv"
    path.write_text(f"p,time_s,low_s,high_s\n{row}\n")
    with pytest.raises(ValueError, match=says):
        read_csv(path, columns, ("p",))
    path.write_text("p,time_s,low_s,high_s\n2,1.0,0.9,1.1\n")
    assert len(read_csv(path, columns, ("p",))) == 1
