"""Every published run has a short name, and no two kinds of accelerator share one."""

import pytest

from tpbook.published import published
from tpbook.published_names import CARDS, run_name


def test_every_published_run_has_a_name():
    table = published()[["engine", "accelerator"]].drop_duplicates()
    names = [run_name(engine, card) for engine, card in table.itertuples(index=False)]
    assert max(map(len, names)) <= 30
    assert "TRT-LLM, H100" in names
    assert len(set(CARDS.values())) == len(CARDS)


def test_an_unknown_engine_is_refused():
    with pytest.raises(ValueError, match="unknown name of engine 'abacus'"):
        run_name("abacus", "h100-sxm")
