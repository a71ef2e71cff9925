"""The ledger's rows are recomputed, their verdicts forced, and a broken row is refused."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from tpbook import claim_index, claim_simulations, claims, crossover, topology
from tpbook.claim_rows import VERDICTS
from tpbook.claims import (
    agrees,
    claims_markdown,
    count_by_verdict,
    expected_verdict,
    load_claims,
    recompute,
    recompute_figures,
    recompute_without,
)
from tpbook.paths import data_path

CLAIMS = load_claims()
CHECKED = [claim for claim in CLAIMS if claim.check]
NUMBERS = [claim for claim in CHECKED if claim.tolerance is not None]
ASSUMED = [claim for claim in CLAIMS if claim.without]
each = pytest.mark.parametrize


def by_id(claim):
    return claim.id


def same(stored, found):
    if isinstance(stored, bool | str):
        return type(found) is type(stored) and found == stored
    return found == pytest.approx(stored, rel=1e-9, abs=0)


@each("claim", CHECKED, ids=by_id)
def test_the_check_finds_what_the_row_says(claim):
    assert same(claim.found, recompute(claim))


@each("claim", ASSUMED, ids=by_id)
def test_without_the_assumption_too(claim):
    assert same(claim.found_without, recompute_without(claim))


@each("claim", CLAIMS, ids=by_id)
def test_the_verdict_is_the_one_that_the_numbers_force(claim):
    assert claim.verdict == expected_verdict(claim)


@each("claim", NUMBERS, ids=by_id)
def test_a_number_just_outside_the_tolerance_disagrees(claim):
    found = recompute(claim)
    if claim.relative:
        wrong = found / (1 + claim.tolerance) * (1 - 1e-6)
        right = found / (1 + claim.tolerance) * (1 + 1e-6)
    else:
        wrong = found - claim.tolerance * (1 + 1e-6) - 1e-9 * abs(found)
        right = found - claim.tolerance * (1 - 1e-6)
    assert not agrees(replace(claim, value=wrong), found)
    assert agrees(replace(claim, value=right), found)


@each("claim", CHECKED, ids=by_id)
def test_the_opposite_claim_gets_the_opposite_verdict(claim):
    """No check agrees with everything: what contradicts the finding is corrected."""
    if isinstance(claim.value, bool):
        contrary = not recompute(claim)
    elif isinstance(claim.value, str):
        contrary = claim.value + "?"
    else:
        contrary = 10 * abs(recompute(claim)) + 10
    assert expected_verdict(replace(claim, value=contrary)) == "corrected"


def test_ids_are_unique_and_count_up():
    parts = [claim.id.rpartition("-") for claim in CLAIMS]
    for prefix in {prefix for prefix, _, _ in parts}:
        numbers = [int(number) for head, _, number in parts if head == prefix]
        assert numbers == list(range(1, len(numbers) + 1))
    assert len({claim.claim for claim in CLAIMS}) == len(CLAIMS)


def test_an_id_tells_the_source():
    assert all(claim.id.startswith("R-") == (claim.source == "record") for claim in CLAIMS)


def test_every_number_of_the_record_has_its_row():
    record = Path(__file__).resolve().parents[2] / "shared/source/tp-allreduce-record.txt"
    if not record.is_file():
        pytest.skip("the record is not beside the repository")
    printed = re.findall(r"\d[\d,]*(?:\.\d+)?", record.read_text(encoding="utf-8"))
    rows = [claim for claim in CLAIMS if claim.source == "record"]
    text = " ".join(f"{row.claim} {row.value} {row.check}" for row in rows)
    known = re.findall(r"\d[\d,_]*(?:\.\d+)?", text)
    known = {float(number.strip(",_").replace(",", "").replace("_", "")) for number in known}
    missing = {x for x in printed if float(x.strip(",").replace(",", "")) not in known}
    # The record's confidence in itself and the year of its revision state nothing to check.
    assert missing == {"0.88", "2026"}


def test_every_number_of_the_outlines_evaluation_has_its_row():
    outline = Path(__file__).resolve().parents[2] / "shared/source/paper-outline.txt"
    if not outline.is_file():
        pytest.skip("the outline is not beside the repository")
    text = outline.read_text(encoding="utf-8")
    text = text[text.index("Section 4\n") :]
    # Sections, formulas' commands, and names with a digit in them.
    named = r"§[\d.–-]+|Section~?\s?\d(\.\d)?|\\[a-z_]+|quad-A100|A40|Llama-2|7B|SXM4|NV4"
    printed = re.findall(r"(?<![\w.])\d+(?:\.\d+)?", re.sub(named, "", text))
    rows = [claim for claim in CLAIMS if claim.source == "outline" and claim.chapter[0] in "34"]
    text = " ".join(f"{row.claim} {row.value} {row.check} {row.reason}" for row in rows)
    known = {float(x.replace("_", "")) for x in re.findall(r"\d[\d_]*(?:\.\d+)?", text)}
    known |= {100 * x for x in known if x < 1}
    assert {x for x in printed if float(x) not in known} == set()


def test_every_tolerance_is_zero_half_a_printed_unit_or_stated_as_relative():
    for claim in NUMBERS:
        if claim.relative or claim.tolerance == 0:
            continue
        # 0.5, 0.05, ...: half a unit of some digit, or a tenth of one for a share said to be 0.
        digits = f"{claim.tolerance:.1e}".split("e")[0]
        assert digits in ("5.0", "1.0"), claim.id
        assert claim.tolerance <= max(abs(claim.value), 1) / 2, claim.id


def test_a_corrected_row_explains_itself_and_an_assumption_is_named():
    for claim in CLAIMS:
        if claim.verdict == "corrected":
            assert len(claim.reason) > 40, claim.id
        if claim.verdict == "reproduced under an assumption":
            assert "ssumes" in claim.reason, claim.id
        if claim.verdict == "needs hardware":
            assert "would decide" in claim.reason, claim.id


NUMBER = re.compile(r"(?<![\w.(\[{/-])\d[\d,]*(?:\.\d+)?(?![\w(/]|-\d)")
FORMULA = re.compile(r"PCIe \d\.\d|NVLink \d|section \d\.\d|[23] (?:[-+(]|kv|f/d)")


@each("claim", CLAIMS, ids=by_id)
def test_every_number_of_a_reason_is_recomputed(claim):
    for text, found in recompute_figures(claim).items():
        decimals = len(text.partition(".")[2])
        assert abs(found - float(text)) <= 0.5 * 10**-decimals + 1e-9, text
    shown = [claims._number(claim, x) for x in (claim.found, claim.found_without) if x is not None]
    known = " ".join([claim.claim, claim.check or "", claim.without or "", *shown])
    known = {x.replace(",", "").replace("_", "") for x in re.findall(r"\d[\d,_]*(?:\.\d+)?", known)}
    known |= {number for number, _ in claim.figures}
    for number in NUMBER.findall(FORMULA.sub("", claim.reason)):
        assert number.rstrip(",").replace(",", "") in known, f"{number}: add it to figures"


def test_the_counts_add_up():
    counts = count_by_verdict(CLAIMS)
    assert list(counts) == list(VERDICTS)
    assert sum(counts.values()) == len(CLAIMS)
    assert all(counts.values())


def test_a_changed_law_changes_the_ledger(monkeypatch):
    law = crossover.crossover_batch
    monkeypatch.setattr(crossover, "crossover_batch", lambda *args: 1.01 * law(*args))
    broken = [c.id for c in CHECKED if not same(c.found, recompute(c))]
    batches = [c.id for c in CLAIMS if c.claim.startswith("crossover batch of the 7B layer")]
    assert len(batches) == 6 and set(batches) <= set(broken)
    assert any(expected_verdict(c) != c.verdict for c in CLAIMS if c.id in batches)


def test_dependencies_would_show_kernels_that_can_overlap(monkeypatch):
    assert claim_simulations.kernels_beside("attention_allreduce") == 0
    # A layer whose MLP does not wait for the attention has its MLP beside the all-reduce.
    side_by_side = claim_simulations.WAITS | {"mlp_norm": ["previous_layer"]}
    monkeypatch.setattr(claim_simulations, "WAITS", side_by_side)
    assert claim_simulations.kernels_beside("attention_allreduce") == 5
    assert claim_simulations.independent("mlp_up", "attention_allreduce")
    assert not claim_simulations.independent("qkv", "attention_allreduce")


def test_a_check_that_cannot_run_names_its_row():
    claim = replace(CLAIMS[0], check="crossover.no_such_law(1)")
    with pytest.raises(ValueError, match=rf"claims.yml: {claim.id}: cannot evaluate .*no_such_law"):
        recompute(claim)


def test_a_check_reaches_the_package_only():
    for escape in ("__import__('os').getcwd()", "open('x')", "paths.DATA"):
        with pytest.raises(ValueError, match="cannot evaluate"):
            recompute(replace(CLAIMS[0], check=escape))
    assert recompute(replace(CLAIMS[0], check="topology.line_rate.__name__")) == "line_rate"
    assert topology.line_rate.__name__ == "line_rate"


# The table


def test_the_table_has_one_row_for_each_claim():
    text = claims_markdown(CLAIMS, full=True)
    assert [line for line in text.splitlines() if line.count(" | ") > 3] == []
    for claim in CLAIMS:
        assert text.count(f'| <span id="{claim.id.lower()}"></span>**{claim.id}**<br>') == 1
    assert text.count('class="verdict-corrected"') == count_by_verdict(CLAIMS)["corrected"]
    assert text.count("{ref}`§2.5 <sec-2-5>`") == sum(claim.chapter == "2.5" for claim in CLAIMS)
    assert text.count("<details>") == len(CHECKED)
    assert text.count("<br>within ") == sum(bool(claim.tolerance) for claim in CHECKED)
    plain = claims_markdown(CLAIMS)
    assert plain.count("| **") == len(CLAIMS) and "{ref}" not in plain and "<details>" not in plain


def test_a_chapter_folds_in_what_holds_as_stated():
    for chapter in ("2.1", "2.2", "2.3", "2.4", "2.5"):
        rows = [claim for claim in CLAIMS if claim.chapter == chapter]
        text = claims.chapter_markdown(rows)
        shown, folded = text.split("::::{admonition} Reproduced as stated: ")
        plain = [claim for claim in rows if claim.verdict == "reproduced"]
        assert folded.startswith(f"{len(plain)} claims\n:class: dropdown\n")
        assert all(f"**{claim.id}**" in (folded if claim in plain else shown) for claim in rows)
        assert text.count("| **") == len(rows)


def test_the_index_links_every_row_once_under_its_verdict():
    text, full = claim_index.index_markdown(CLAIMS), claims_markdown(CLAIMS, full=True)
    folds = text.split("::::{admonition} ")[1:]
    assert [fold.split(":")[0].lower() for fold in folds] == list(VERDICTS)
    for claim in CLAIMS:
        link = f'<a href="#{claim.id.lower()}">{claim.id}</a>'
        assert text.count(link) == 1 and full.count(f'<span id="{claim.id.lower()}">') == 1
        (fold,) = [fold for fold in folds if link in fold]
        assert fold.lower().startswith(f"{claim.verdict}: ")
        (line,) = [line for line in fold.splitlines() if link in line]
        assert line.startswith(f"| {{ref}}`§{claim.chapter} <")
        assert int(line.split(" | ")[1]) == line.count("<a ")


@each("source", ["record", "outline"])
def test_a_folded_section_counts_its_rows_and_holds_them(source):
    rows = [claim for claim in CLAIMS if claim.source == source]
    text = claim_index.folded_markdown(rows)
    title, body = text.split("</summary>", 1)
    numbers = [int(number) for number in re.findall(r">(\d+) ", title)]
    assert numbers == [len(rows), *filter(None, count_by_verdict(rows).values())]
    assert sum(numbers[1:]) == numbers[0]
    # Whole elements around the table: a closed one hides it, and nothing else on the page.
    assert body.strip().startswith(":::{table}") and body.rstrip().endswith(":::\n\n</details>")
    assert text.count("<details") == text.count("</details>")
    assert all(f'<span id="{claim.id.lower()}">' in body for claim in rows)


def test_a_table_of_no_claims_is_refused():
    with pytest.raises(ValueError, match="claims must not be empty"):
        claim_index.folded_markdown([])
    with pytest.raises(ValueError, match="claims must not be empty"):
        claim_index.index_markdown([])
    with pytest.raises(ValueError, match="claims must not be empty"):
        claims_markdown([])
    with pytest.raises(ValueError, match="claims must not be empty"):
        claims.claims_table(CLAIMS, chapter="4.9")


# The loader's refusals: one change to a good row each, and what the line must say.

GOOD = {
    "id": "R-01",
    "source": "record",
    "section": "notes",
    "claim": "twice two",
    "value": 4,
    "unit": "1",
    "check": "2 * 2",
    "tolerance": {"absolute": 0.5},
    "found": 4,
    "verdict": "reproduced",
    "reason": "Two and two.",
    "chapter": "2.5",
}
TRUTH = {"value": True, "found": True, "unit": None, "tolerance": None}


def write(path, *rows):
    rows = [{name: value for name, value in row.items() if value is not None} for row in rows]
    table = {"sources": {"record": {"title": "The record"}}, "claims": rows}
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    return path


def test_a_good_row_loads(tmp_path):
    (claim,) = load_claims(write(tmp_path / "ledger.yml", GOOD))
    assert expected_verdict(claim) == "reproduced"
    (claim,) = load_claims(write(tmp_path / "ledger.yml", GOOD | TRUTH | {"check": "2 > 1"}))
    assert recompute(claim) is True


BAD = [
    ({"id": "X-1"}, "id must look like R-01"),
    ({"claim": None}, "field 'claim' is missing"),
    ({"claim": " "}, "claim must be text"),
    ({"chapter": 2.5}, "chapter must be text"),
    ({"chapter": "4.9"}, "chapter must be one of 2.1"),
    ({"source": "rumour"}, "source must be one of record"),
    ({"verdict": "true"}, "verdict must be one of reproduced"),
    ({"colour": "red"}, "unknown field 'colour'"),
    ({"value": None}, "field 'value' is missing"),
    ({"value": "1.0e12"}, r"write 1.0e\+12"),
    ({"value": float("nan")}, "value must be finite"),
    ({"value": [4]}, "value must be a number"),
    ({"found": True}, "found must be of the kind of 4"),
    ({"found": None}, "check and found go together"),
    ({"check": None, "tolerance": None}, "check and found go together"),
    ({"check": None, "found": None, "tolerance": None}, "check must be given"),
    ({"verdict": "needs hardware"}, "check must be left out"),
    ({"tolerance": None}, "tolerance is missing"),
    ({"tolerance": 0.5}, "tolerance must be {absolute: x} or {relative: x}"),
    ({"tolerance": {"absolute": -1}}, "tolerance must be zero or positive"),
    ({"tolerance": {"absolute": "much"}}, "tolerance must be of the kind"),
    ({"unit": None}, "unit is missing"),
    (TRUTH | {"unit": "s"}, "unit is for numbers"),
    (TRUTH | {"tolerance": {"absolute": 1}}, "tolerance is for checked numbers"),
    ({"verdict": "reproduced under an assumption"}, "without is missing"),
    ({"without": "3 * 3", "found_without": 9}, "without is only for"),
    ({"without": "3 * 3"}, "without and found_without go together"),
    ({"verdict": "implied"}, "follows_from goes with the verdict 'implied'"),
    ({"follows_from": ["R-01"]}, "follows_from goes with the verdict 'implied'"),
    ({"follows_from": "R-02", "verdict": "implied"}, "follows_from must be a list"),
    ({"follows_from": ["R-01"], "verdict": "implied"}, "follows_from names no other row"),
    ({"figures": ["12"]}, "figures must map numbers"),
    ({"figures": {"12": "6 + 6"}}, "reason does not print 12"),
]


@each(("change", "message"), BAD, ids=[message for _, message in BAD])
def test_a_row_that_breaks_the_form_is_refused(tmp_path, change, message):
    path = write(tmp_path / "ledger.yml", GOOD | change)
    with pytest.raises(ValueError, match=r"^ledger\.yml: ") as error:
        load_claims(path)
    assert re.search(message.replace("{", r"\{"), str(error.value))
    assert "\n" not in str(error.value)


def test_an_id_that_occurs_twice_is_refused(tmp_path):
    with pytest.raises(ValueError, match="ledger.yml: R-01: id occurs twice"):
        load_claims(write(tmp_path / "ledger.yml", GOOD, GOOD))


def test_a_row_that_is_no_mapping_is_refused(tmp_path):
    path = tmp_path / "ledger.yml"
    path.write_text("sources: {record: {}}\nclaims: [twice two]\n", encoding="utf-8")
    with pytest.raises(ValueError, match="ledger.yml: row 1: must hold fields"):
        load_claims(path)


def test_a_wrong_value_in_the_ledger_is_caught(tmp_path):
    """The net holds: a changed claim, a changed finding and a changed verdict all fail."""
    table = yaml.safe_load(data_path("claims.yml").read_text(encoding="utf-8"))
    row = next(row for row in table["claims"] if row["value"] == 3318)
    path = tmp_path / "ledger.yml"

    def changed(**change):
        table["claims"] = [row | change]
        path.write_text(yaml.safe_dump(table), encoding="utf-8")
        return load_claims(path)[0]

    assert expected_verdict(changed(value=3320)) != row["verdict"]
    assert not same(changed(found=3318.5).found, recompute(changed()))
    assert expected_verdict(changed()) == row["verdict"]


@pytest.mark.parametrize("table", [{"sources": 3, "claims": []}, {"sources": {}, "claims": 4}])
def test_a_ledger_of_another_shape_is_refused(tmp_path, table):
    path = tmp_path / "ledger.yml"
    path.write_text(yaml.safe_dump(table), encoding="utf-8")
    with pytest.raises(ValueError, match="^ledger.yml: (sources|claims) must be a"):
        load_claims(path)
