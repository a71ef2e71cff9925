"""The command: tables and JSON on success, one line and exit 2 on bad input."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tpbook.cli import main
from tpbook.systems import systems

SET = "llm-inference-bench:llama-2-7b:h100-sxm:vLLM"
ASKED = ["--model", "llama-2-7b", "--accelerator", "h100-sxm", "--p", "4"]
ASKED += ["--batch", "16", "--prompt", "1024", "--output", "1024"]


def run(capsys, *arguments):
    status = main([str(each) for each in arguments])
    out, err = capsys.readouterr()
    return status, out, err


def test_systems_lists_every_folder(capsys):
    status, out, _ = run(capsys, "systems", "--json")
    assert status == 0 and [each["id"] for each in json.loads(out)] == systems()
    lines = run(capsys, "systems")[1]
    assert all(id in lines for id in systems())


def test_calibrate_writes_what_predict_reads(capsys, tmp_path):
    path = tmp_path / "vllm.json"
    status, out, err = run(capsys, "calibrate", SET, "--degrees", 1, 2, "--output", path)
    assert status == 0 and "per_step" in out and err == ""
    status, out, _ = run(capsys, "predict", "--calibration", path, *ASKED, "--json")
    from_file = json.loads(out)
    assert status == 0 and from_file["latency"]["low"] < from_file["latency"]["value"]
    _, out, _ = run(capsys, "predict", "--calibration", path, *ASKED)
    assert "shares of the latency" in out and "warning: p = 4 lies outside" in out
    assert max(map(len, out.splitlines())) < 80


def test_a_config_file_is_a_model(capsys, tmp_path):
    config = {
        "model_type": "llama",
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "vocab_size": 32000,
    }
    path = tmp_path / "config.json"
    path.write_text(json.dumps(config))
    values = []
    for name in (path, "llama-2-7b"):
        _, out, _ = run(capsys, "predict", "--json", "--model", name, *ASKED[2:])
        values.append(json.loads(out)["latency"])
    assert values[0] == values[1] and values[0]["low"] is None


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["calibrate", SET, "--degrees", 1], "measure a second degree"),
        (["calibrate", SET, "--degrees", 1, 2, 99], "no rows at p = 99; it has [1, 2, 4]"),
        (["calibrate", SET + "x"], "h100-sxm:vLLM"),
        (["calibrate", SET, "--output", ""], "output is empty"),
        (["calibrate", "nonsense"], "no calibration 'nonsense'"),
        (["calibrate", SET, "--output", "/no/such/folder/x.json"], "cannot be written"),
        (["predict", "--model", "gpt-9", *ASKED[2:]], "unknown model 'gpt-9'"),
        (["predict", "--model", "absent.json", *ASKED[2:]], "cannot be read"),
        (["predict", *ASKED, "--fabric", "string"], "unknown fabric 'string'"),
        (["predict", *ASKED[:4], "--p", 3, *ASKED[6:]], "p = 3 does not divide"),
        (["predict", *ASKED, "--batch", 10**400], "batch is too large"),
        (["predict", *ASKED, "--calibration", ""], "calibration is empty"),
    ],
)
def test_bad_input_is_one_line_and_exit_two(capsys, arguments, says):
    status, out, err = run(capsys, *arguments)
    assert status == 2 and out == ""
    assert says in err and err.count("\n") == 1 and err.startswith("tpbook ")


@pytest.mark.parametrize("batch", ["many", "1.5", "nan"])
def test_what_the_parser_refuses_is_one_line_too(capsys, batch):
    with pytest.raises(SystemExit) as caught:
        main(["predict", *ASKED, "--batch", batch])
    err = capsys.readouterr().err
    assert caught.value.code == 2 and err.count("\n") == 1
    assert f"--batch: invalid int value: {batch!r}" in err


@pytest.mark.parametrize("command", ["systems", "calibrate", "predict", "accuracy"])
def test_every_command_explains_itself(capsys, command):
    with pytest.raises(SystemExit) as caught:
        main([command, "--help"])
    assert caught.value.code == 0 and "--json" in capsys.readouterr().out


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="a device of Linux")
def test_output_that_cannot_be_written_is_one_line():
    command = [sys.executable, "-m", "tpbook.cli", "systems"]
    with open("/dev/full", "w") as full:
        found = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert found.returncode == 2 and found.stderr.count("\n") == 1
    assert "output cannot be written" in found.stderr
    reading, writing = os.pipe()
    os.close(reading)
    found = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, text=True)
    os.close(writing)
    assert found.returncode == 0 and found.stderr == ""


def test_an_unknown_command_exits_two(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["divine"])
    assert caught.value.code == 2


def test_accuracy_prints_one_line_for_each_test(capsys, monkeypatch):
    from tpbook import accuracy

    few = {name: accuracy.TESTS[name] for name in ("llmib-peer-cells", "interval-coverage")}
    monkeypatch.setattr(accuracy, "TESTS", few)
    _, out, _ = run(capsys, "accuracy")
    assert [line.split()[0] for line in out.splitlines()] == list(few)
    _, out, _ = run(capsys, "accuracy", "--json")
    assert list(json.loads(out)) == list(few)
