"""The all-reduces of a step: two a layer and pass, and the method that a table was made of."""

import dataclasses

import numpy as np
import pytest

from tpbook.models import model
from tpbook.step_collectives import closest_method, step_collectives
from tpbook.systems import load_system

LLAMA = model("llama-2-7b")
A40 = load_system("quad-a40-hoststaged")


def test_decode_sends_two_messages_a_layer_of_a_vector_for_each_sequence():
    table = step_collectives(A40, LLAMA, "decode", 512)
    assert (table["collectives"] == 2 * LLAMA.layers).all() and (table["passes"] == 1).all()
    batch = table.index.get_level_values("batch")
    np.testing.assert_array_equal(table["message"], batch * LLAMA.hidden * 2)


def test_passes_divide_the_message_and_multiply_the_count():
    table = step_collectives(A40, LLAMA, "prefill", 512)
    batch = table.index.get_level_values("batch")
    assert table["passes"].max() > 1
    np.testing.assert_array_equal(
        table["message"] * table["passes"], batch * 512 * LLAMA.hidden * 2
    )
    np.testing.assert_array_equal(table["collectives"], 2 * LLAMA.layers * table["passes"])


@pytest.mark.parametrize("id", ["quad-a40-hoststaged", "quad-a100-sxm", "octo-h100-sxm"])
def test_the_method_named_in_the_composition_is_found(id):
    system = load_system(id)
    tables = [step_collectives(system, LLAMA, "decode", 512)]
    method, distance = closest_method(system, tables)
    assert distance < 0.01
    said = next(line for line in system.composition if line.startswith("Communication"))
    assert f"method {method} " in said


def test_a_table_without_the_degrees_of_the_steps_is_refused():
    tables = [step_collectives(A40, LLAMA, "decode", 512)]
    other = dataclasses.replace(A40, allreduce=A40.allreduce.query("p == 8"))
    with pytest.raises(ValueError, match="^system quad-a40-hoststaged has no all-reduce times"):
        closest_method(other, tables)
