"""Every published run has a short name, and no two kinds of accelerator share one."""

from dataclasses import replace

import pytest

from tpbook.published import published
from tpbook.run_names import CARDS, SYSTEMS, run_name, system_name
from tpbook.systems import load_system, systems


def test_every_published_run_has_a_name():
    table = published()[["engine", "accelerator"]].drop_duplicates()
    names = [run_name(engine, card) for engine, card in table.itertuples(index=False)]
    assert max(map(len, names)) <= 30
    assert "TRT-LLM, H100" in names
    assert len(set(CARDS.values())) == len(CARDS)


def test_every_system_of_the_book_has_a_name():
    assert set(SYSTEMS) == set(systems())
    assert system_name(load_system("quad-l40s-pcie")) == "L40S PCIe"


def test_another_system_is_called_by_its_title():
    other = replace(load_system("quad-l40s-pcie"), id="mine", title="My box")
    assert system_name(other) == "My box"


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="unknown name of engine 'abacus'"):
        run_name("abacus", "h100-sxm")
