"""Calibrations by name and on file: a round trip, and one line for everything that is wrong."""

import json
import os
import shutil
from dataclasses import replace

import pytest

from tpbook.calibrate import (
    calibrate_published,
    calibrate_system,
    home,
    named,
    system_machine,
    system_rows,
    uncalibrated,
)
from tpbook.calibration_file import load, save
from tpbook.paths import data_path
from tpbook.steps import phase_times, step_time
from tpbook.systems import load_system

SET = "llm-inference-bench:llama-2-7b:h100-sxm:vLLM"
FOUND = named(SET, (1, 2))


def test_a_file_gives_back_what_was_saved(tmp_path):
    path = tmp_path / "vllm.json"
    save(FOUND, path)
    assert load(path) == FOUND == named(str(path))
    assert [each.name for each in tmp_path.iterdir()] == ["vllm.json"]


def test_a_name_is_its_published_set():
    assert FOUND == calibrate_published(*SET.split(":"), on=(1, 2))
    assert FOUND.degrees == (1, 2) and home(FOUND).bandwidth(2) == pytest.approx(370e9 / 3)


def test_steps_give_passes_and_their_parts():
    system = load_system("quad-a40-hoststaged")
    rows, basis = system_rows(system)
    assert basis == "steps"
    decode = rows.query("phase == 'decode' and p == 2 and batch == 8")["time_s"].item()
    assert decode == pytest.approx(step_time(system, 2, 8, "decode"))
    cache = rows.query("phase == 'decode cache' and p == 2 and batch == 8")["time_s"].item()
    assert cache == phase_times(system, "decode").loc[(2, 8), "attention"]


def test_a_system_brings_its_own_network():
    system = load_system("quad-a40-hoststaged")
    assert system_machine(system).bandwidth(4) < 8e9 < system.bandwidth.value
    found = calibrate_system(system)
    assert found.basis == "steps" and found.degrees == (1, 4)
    assert home(found) == system_machine(system)


def test_a_folder_elsewhere_needs_not_stay_where_it_was(tmp_path):
    shutil.copytree(data_path("systems") / "quad-a40-bridge", tmp_path / "mine")
    save(named(str(tmp_path / "mine")), tmp_path / "mine.json")
    shutil.rmtree(tmp_path / "mine")
    found = named(str(tmp_path / "mine.json"))
    assert home(found).bandwidth(4) == dict(found.rates)[4] > 0


def test_nothing_measured_has_no_interval():
    assert uncalibrated("a40", "llama-2-7b").intervals == {}


def test_nothing_half_written_stays(tmp_path):
    with pytest.raises(ValueError, match="cannot be written"):
        save(FOUND, tmp_path / "no-such-folder" / "vllm.json")
    (tmp_path / "taken").mkdir()
    with pytest.raises(ValueError, match="cannot be written"):
        save(FOUND, tmp_path / "taken")
    assert [each.name for each in tmp_path.iterdir()] == ["taken"]


def test_a_link_is_followed_and_what_is_no_file_is_left_alone(tmp_path):
    path = tmp_path / "vllm.json"
    save(FOUND, path)
    (tmp_path / "link.json").symlink_to(path)
    save(FOUND, tmp_path / "link.json")
    assert (tmp_path / "link.json").is_symlink() and load(path) == FOUND
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match=r"pipe: cannot be written \(it is not a file\)"):
        save(FOUND, tmp_path / "pipe")
    assert (tmp_path / "pipe").is_fifo()
    for name in ("x" * 300, "\0", "vllm.json/x"):
        with pytest.raises(ValueError, match="cannot be written"):
            save(FOUND, tmp_path / name)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["link.json", "pipe", "vllm.json"]


@pytest.mark.parametrize("category", ["weight_gemm", "attention", "communication"])
def test_a_step_without_one_of_its_parts_is_refused(category):
    system = load_system("quad-a40-hoststaged")
    lost = (system.steps["category"] == category) & (system.steps["batch"] == 8)
    with pytest.raises(ValueError, match=f"batch 8, .* has no {category}, so .* measure it"):
        calibrate_system(replace(system, steps=system.steps[~lost]))


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"format": 9}, "is no calibration of format 2"),
        ({"noise": None}, "noise: must be a number, got None"),
        ({"noise": float("nan")}, "noise: must be finite"),
        ({"surprise": 1}, "field 'surprise' is missing or unknown"),
        ({"name": 7}, "name must be text, got 7"),
        ({"degrees": [1]}, r"degrees: must be two numbers, got \[1\]"),
        ({"degrees": [2, 1]}, "degrees: runs from 2 down to 1"),
        ({"parameters": {}}, "parameters: field 'alpha' is missing or unknown"),
        ({"parameters": [1]}, "parameters must be a mapping"),
        ({"parameters": {**vars(FOUND.parameters), "alpha": -1.0}}, "parameter alpha"),
        ({"parameters": {**vars(FOUND.parameters), "alpha": "fast"}}, "parameter alpha"),
        ({"parameters": {**vars(FOUND.parameters), "eta_cache": 1.5}}, "parameter eta_cache"),
        ({"parameters": {**vars(FOUND.parameters), "eta_cache": 0}}, "parameter eta_cache"),
        ({"intervals": {}}, "intervals: field 'alpha' is missing"),
        ({"name": ""}, "name must be one line of text"),
        ({"name": "a\nb"}, "name must be one line of text"),
        ({"basis": "assumed"}, "basis must be serving rows or steps, got 'assumed'"),
        ({"source": "hearsay"}, "source must be system:ID or one of"),
        ({"accelerator": "h101"}, "unknown accelerator in .*: 'h101'"),
        ({"rows": 0}, "rows: must be finite and from 1"),
        ({"degrees": [1.5, 2]}, "degrees: must be whole, got 1.5"),
        ({"noise": 1e300}, "noise: must be finite and from 0 to 1e"),
        ({"covariance": [[-1.0] * 10] * 10}, "covariance is not one"),
        ({"covariance": [[float(i < j) for i in range(10)] for j in range(10)]}, "is not one"),
        ({"rates": [[2, 0]]}, "rates: must be finite and from 1"),
        ({"rates": [[2, 1e9], [2, 2e9]]}, "p = 2 is there twice"),
        ({"rates": [[2.5, 1e9]]}, "rates: must be whole, got 2.5"),
        ({"covariance": [[0.0]]}, "covariance must be 10 lists of 10"),
        ({"covariance": [["x"] * 10] * 10}, "covariance: must be a number, got 'x'"),
        ({"rates": [2, 3]}, "rates: must hold pairs of degree and B/s, got 2"),
        ({"rates": [[1, 3e9]]}, "rates: must be finite and from 2"),
    ],
)
def test_a_file_that_was_tampered_with_is_refused(tmp_path, change, says):
    path = tmp_path / "vllm.json"
    save(FOUND, path)
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(ValueError, match=says) as caught:
        load(path)
    assert str(path) in str(caught.value) and "\n" not in str(caught.value)


def test_what_is_no_calibration_is_refused(tmp_path):
    for name in ("nonsense", "a:b:c", str(tmp_path / "absent.json")):
        with pytest.raises(ValueError, match="no calibration"):
            named(name)
    (tmp_path / "text.json").write_text("hello")
    with pytest.raises(ValueError, match="is not JSON"):
        load(tmp_path / "text.json")
    save(FOUND, tmp_path / "vllm.json")
    with pytest.raises(ValueError, match="is calibrated already"):
        named(str(tmp_path / "vllm.json"), (1,))
    with pytest.raises(ValueError, match="no usable rows"):
        named("llm-inference-bench:llama-2-7b:h100-sxm:nothing")
    with pytest.raises(ValueError, match="unknown source 'x'"):
        named("x:llama-2-7b:h100-sxm:vLLM")
