"""The command tpbook: systems, calibrate, predict, accuracy. Bad input is one line and exit 2."""

import argparse
import json
import math
import os
import sys
from dataclasses import asdict
from pathlib import Path

from tpbook.cli_tables import (
    accuracy_line,
    calibration_table,
    prediction_table,
    system_line,
)

EXAMPLES = """examples:
  tpbook calibrate llm-inference-bench:llama-2-7b:h100-sxm:vLLM --degrees 1 2 --output vllm.json
  tpbook predict --calibration vllm.json --model llama-2-7b --accelerator h100-sxm \\
      --p 4 --batch 16 --prompt 1024 --output 1024
  tpbook accuracy --json"""


def main(arguments: list[str] | None = None) -> int:
    """Run one command; returns the exit status: 0, 2 after one line about bad input, or 130
    when interrupted.
    """
    given = _parser().parse_args(arguments)
    # An empty name is a shell variable that was not set, and never the default.
    for name, value in vars(given).items():
        if value == "":
            print(
                f"tpbook {given.command}: {name} is empty; name it or leave it out", file=sys.stderr
            )
            return 2
    try:
        given.run(given)
        sys.stdout.flush()
    except ValueError as error:
        print(f"tpbook {given.command}: {error}", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _drop_output()
    except KeyboardInterrupt:
        return 130
    except OSError as error:
        _drop_output()
        print(
            f"tpbook {given.command}: output cannot be written ({error.strerror})", file=sys.stderr
        )
        return 2
    return 0


def _drop_output() -> None:
    # What is still buffered would fail again, with a traceback, when the process ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


class _OneLine(argparse.ArgumentParser):
    """A parser whose complaints are one line, without the usage."""

    def error(self, message: str):
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def _parser() -> argparse.ArgumentParser:
    parser = _OneLine(
        prog="tpbook",
        description="Calibrate, predict and check tensor-parallel LLM inference.",
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _add(commands, "systems", _systems, "list the measured systems of the book")

    calibrate = _add(commands, "calibrate", _calibrate, "fit the serving form to measured times")
    calibrate.add_argument(
        "source", help="SOURCE:MODEL:ACCELERATOR:ENGINE of data/published, system:ID, or a folder"
    )
    calibrate.add_argument(
        "--degrees", type=int, nargs="+", metavar="P", help="degrees to calibrate on (default all)"
    )
    calibrate.add_argument("--output", metavar="FILE", help="write the calibration there (JSON)")

    predict = _add(commands, "predict", _predict, "predict TTFT, TPOT, latency and throughput")
    predict.add_argument(
        "--calibration",
        metavar="NAME",
        help="file of calibrate, or a source as calibrate takes it; without it nothing is "
        "calibrated, and the prediction says so",
    )
    predict.add_argument("--model", required=True, help="catalogue id, or path of a config.json")
    predict.add_argument("--accelerator", required=True, help="catalogue id")
    predict.add_argument("--fabric", help="catalogue id of another fabric than the accelerator's")
    predict.add_argument("--p", type=int, required=True, help="tensor-parallel degree")
    predict.add_argument("--batch", type=int, required=True, help="sequences that run together")
    predict.add_argument("--prompt", type=int, required=True, help="prompt tokens per sequence")
    predict.add_argument("--output", type=int, required=True, help="output tokens per sequence")

    _add(commands, "accuracy", _accuracy, "recompute every accuracy figure of the book")
    return parser


def _add(commands, name: str, run, summary: str) -> argparse.ArgumentParser:
    parser = commands.add_parser(name, help=summary, description=summary)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)
    return parser


def _systems(given) -> None:
    from tpbook.systems import load_system, systems

    rows = []
    for id in systems():
        system = load_system(id)
        tables = ("allreduce", "steps", "serving", "gpu_metrics")
        has = [name for name in tables if getattr(system, name) is not None]
        rows.append(
            {
                "id": id,
                "title": system.title,
                "accelerator": system.accelerator,
                "model": system.model,
                "devices": system.device_count,
                "composed": system.composed,
                "tables": has,
            }
        )
    _print(given, rows, "\n".join(map(system_line, rows)))


def _calibrate(given) -> None:
    from tpbook.calibrate import named
    from tpbook.calibration_file import save

    found = named(given.source, tuple(given.degrees) if given.degrees else None)
    if given.output:
        save(found, given.output)
    _print(given, asdict(found), calibration_table(found))


def _predict(given) -> None:
    from tpbook.calibrate import home, named, uncalibrated
    from tpbook.models import from_config, model
    from tpbook.predict import predict
    from tpbook.serving_work import machine

    is_file = given.model.endswith(".json") or Path(given.model).exists()
    geometry = from_config(given.model) if is_file else model(given.model)
    card = given.accelerator
    found = named(given.calibration) if given.calibration else uncalibrated(card, geometry.id)
    at_home = given.calibration and card == found.accelerator and not given.fabric
    device = home(found) if at_home else machine(card, given.fabric)
    size = given.p, given.batch, given.prompt, given.output
    prediction = predict(found, geometry, device, card, *size)
    _print(given, asdict(prediction), prediction_table(prediction))


def _accuracy(given) -> None:
    from tpbook.accuracy import TESTS

    results = {}
    for id, test in TESTS.items():
        results[id] = test()
        if not given.json:
            print(accuracy_line(id, results[id]), flush=True)
    if given.json:
        _print(given, results, "")


def _print(given, value, text: str) -> None:
    print(json.dumps(_plain(value), indent=1, allow_nan=False) if given.json else text)


def _plain(value):
    """The value with what JSON lacks, not-a-number and infinity, written as null."""
    if isinstance(value, dict):
        return {key: _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


if __name__ == "__main__":
    sys.exit(main())
