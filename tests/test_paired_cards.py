"""All-reduces of paired cards: rebuilt byte by byte, and slower beyond the pair."""

import subprocess
import sys
from pathlib import Path

import pytest

from tpbook.paired_cards import pair_allreduce_time, pair_allreduces
from tpbook.paths import DATA

UPSTREAM = Path(__file__).resolve().parents[2] / "shared" / "public-data" / "vidur"
CARDS = ("a100-pairs", "h100-pairs")


def test_rebuilding_from_upstream_gives_the_committed_bytes(tmp_path):
    if not UPSTREAM.is_dir():
        pytest.skip("no upstream checkout of vidur beside the repository")
    command = [sys.executable, "-m", "tpbook.sources.vidur_pairs", UPSTREAM, "--output", tmp_path]
    subprocess.run(command, check=True)
    name = Path("network") / "pairs-allreduce.csv"
    assert (tmp_path / name).read_bytes() == (DATA / name).read_bytes()


@pytest.mark.parametrize("card", CARDS)
def test_the_ring_of_four_is_slower_than_a_ring_of_equal_links(card):
    for message in (4 * 2**20, 8 * 2**20, 32 * 2**20):
        two, four = (pair_allreduce_time(card, p, message) for p in (2, 4))
        assert four > 3 * two  # equal links: three halves


@pytest.mark.parametrize("card", CARDS)
def test_measured_sizes_are_returned_and_others_lie_between(card):
    rows = pair_allreduces().query("card == @card and p == 4").sort_values("message_bytes")
    sizes, times = rows["message_bytes"].tolist(), rows["time_s"].tolist()
    assert pair_allreduce_time(card, 4, sizes[2]) == pytest.approx(times[2])
    between = pair_allreduce_time(card, 4, (sizes[2] + sizes[3]) / 2)
    assert times[2] < between < times[3]


def test_what_the_table_does_not_hold_is_refused():
    with pytest.raises(ValueError, match="no all-reduces of 'h100-pairs' at p = 8"):
        pair_allreduce_time("h100-pairs", 8, 2**22)
    with pytest.raises(ValueError, match="message must lie between"):
        pair_allreduce_time("h100-pairs", 4, 8192)
