"""The builders: rebuilding gives the committed bytes, and other content is refused."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from tpbook.paths import DATA
from tpbook.sources import aiconfigurator, blob_id, number, read_blob, vidur, write_allreduce
from tpbook.sources.vidur import allreduce_rows, thin

UPSTREAM = Path(__file__).resolve().parents[2] / "shared" / "public-data"


def needs_upstream():
    if not UPSTREAM.is_dir():
        pytest.skip("no upstream files beside the repository")
    pytest.importorskip("pyarrow")


@pytest.mark.parametrize(
    "order", [(vidur, aiconfigurator, vidur), (aiconfigurator, vidur)], ids=["again on top", ""]
)
def test_rebuilding_from_upstream_gives_the_committed_bytes(tmp_path, order):
    needs_upstream()
    for builder in order:
        builder.build(UPSTREAM / builder.__name__.split(".")[-1], tmp_path)
    committed = sorted(path.relative_to(DATA) for path in DATA.glob("*/**/*.csv"))
    built = sorted(path.relative_to(tmp_path) for path in tmp_path.glob("**/*.csv"))
    # Step tables are composed from these: tests/test_compose.py.
    ours = [path for path in committed if path.parts[0] in ("systems", "kernels")]
    assert built == [path for path in ours if path.name != "steps.csv"]
    for path in built:
        assert (tmp_path / path).read_bytes() == (DATA / path).read_bytes(), path


def git(folder, *arguments):
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", "-C", folder, *arguments],
        check=True,
        capture_output=True,
    )


def test_a_file_that_upstream_deleted_is_read_from_the_history(tmp_path):
    content = b"a,b\n1,2\n"
    git(tmp_path, "init", "-q")
    (tmp_path / "table.csv").write_bytes(content)
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    (tmp_path / "table.csv").write_bytes(b"something else")
    git(tmp_path, "commit", "-q", "-am", "two")
    assert read_blob(tmp_path, blob_id(content), ["table.csv"]).read() == content


def test_other_content_under_the_right_name_is_refused(tmp_path):
    (tmp_path / "table.csv").write_bytes(b"other")
    blob = blob_id(b"expected")
    with pytest.raises(ValueError, match=f"no file with blob id {blob}"):
        read_blob(tmp_path, blob, ["table.csv"])


def test_a_builder_says_in_one_line_that_its_checkout_is_wrong(tmp_path):
    found = subprocess.run(
        [sys.executable, "-m", "tpbook.sources.vidur", tmp_path, "--output", tmp_path],
        capture_output=True,
        text=True,
    )
    assert found.returncode == 2
    assert found.stderr.count("\n") == 1 and "clone the upstream repository" in found.stderr


def test_the_blob_id_is_gits():
    # The id of the empty file, the same in every git repository.
    assert blob_id(b"") == "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def test_thinning_keeps_all_small_values_and_a_bounded_gap_above():
    values = np.arange(1, 5000)
    kept = thin(values, 64, 4)
    assert set(values[:64]) <= set(kept) <= set(values)
    assert (kept[65:] / kept[64:-1]).max() <= 2 ** (1 / 4) * (1 + 1 / 64)
    assert (thin(kept, 64, 4) == kept).all()


def test_upstream_rows_become_si_rows_of_one_node_without_empty_messages():
    stem = "time_stats.all_reduce."
    table = pd.DataFrame(
        [(0.5, 0.7, 2, 2, 4096), (0.1, 0.3, 2, 1, 4096), (0.3, 0.5, 2, 2, 4096), (1, 1, 2, 2, 0)],
        columns=[stem + "min", stem + "median", "num_workers", "devices_per_node", "size"],
    )
    # Two runs on one node are pooled; the run across nodes and the empty message are left out.
    assert allreduce_rows(table, "way", 3) == [
        (2, 4096, pytest.approx(0.3e-3), "min", 6, "way"),
        (2, 4096, pytest.approx(0.6e-3), "median", 6, "way"),
    ]


def test_writing_replaces_the_own_methods_and_keeps_the_others(tmp_path):
    write_allreduce(tmp_path, [(2, 8, 1e-6, "min", 1, "old"), (2, 8, 1e-6, "min", 1, "b")], set())
    write_allreduce(tmp_path, [(2, 16, 2e-6, "min", 1, "b")], {"b"})
    assert (tmp_path / "allreduce.csv").read_text().splitlines()[1:] == [
        "2,16,2e-06,min,1,b",
        "2,8,1e-06,min,1,old",
    ]
    with pytest.raises(ValueError, match="two rows for one p, message, statistic and method"):
        write_allreduce(tmp_path, [(2, 8, 1.0, "min", 1, "b")] * 2, {"b"})


def test_numbers_keep_six_digits():
    assert float(number(1.23456789e-5)) == pytest.approx(1.23456789e-5, rel=5e-6)
    assert number(1.8100000000000001e-4) == "0.000181"
