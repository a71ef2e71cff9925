"""Every system folder keeps the contract, and a broken one is refused with one useful line."""

import shutil

import numpy as np
import pandas as pd
import pytest
import yaml

from tpbook.hardware import accelerators, published_accelerators
from tpbook.kernel_times import GEMMS, OTHERS, gemm_times
from tpbook.paths import DATA
from tpbook.systems import STATUSES, allreduce_times, degrees, load_system, systems

HEADER = "p,message_bytes,time_s,statistic,samples,method\n"


@pytest.fixture
def folder(tmp_path):
    """A small valid system that a test may break."""
    made = tmp_path / "mine"
    shutil.copytree(DATA / "systems" / "quad-a40-bridge", made)
    (made / "steps.csv").unlink()
    edit(made, composed=False)
    (made / "allreduce.csv").write_text(
        HEADER + "2,1024,5e-06,median,5,nccl-kernel-graph\n2,512,4e-06,median,5,nccl-kernel-graph\n"
    )
    return made


def edit(folder, **changes):
    file = folder / "system.yml"
    entry = yaml.safe_load(file.read_text()) | changes
    file.write_text(yaml.safe_dump({k: v for k, v in entry.items() if v != "remove"}))


@pytest.mark.parametrize("id", systems())
def test_every_system_loads_and_says_where_it_comes_from(id):
    system = load_system(id)
    assert system.id == id
    assert system.accelerator in accelerators()
    assert system.device_count <= system.machine_device_count
    assert system.allreduce["p"].max() <= system.machine_device_count
    assert {system.bandwidth.status, system.topology.status} <= set(STATUSES)
    assert system.known_limits
    for source in system.sources:
        assert {"repository", "path", "commit", "blob", "licence"} <= set(source)
        assert len(source["blob"]) == 40


@pytest.mark.parametrize("id", systems())
def test_every_method_of_a_system_has_rows_of_its_statistic_at_two_degrees(id):
    system = load_system(id)
    for method in system.methods:
        assert {2, 4} <= set(degrees(system, method))
        for p in degrees(system, method):
            message, time = allreduce_times(system, p, method)
            assert (np.diff(message) > 0).all()
            assert (time > 0).all()


@pytest.mark.parametrize("id", systems())
def test_two_ranks_move_no_more_than_the_line_rate_allows(id):
    system = load_system(id)
    message, time = allreduce_times(system, 2)
    # At p = 2 every all-reduce sends M bytes per rank, whatever the algorithm.
    assert (message / time).max() <= system.bandwidth.value


def test_the_minimum_over_repeats_is_never_above_the_median():
    system = load_system("quad-a40-hoststaged")
    for p in degrees(system):
        low = allreduce_times(system, p, statistic="min")[1]
        assert (low <= allreduce_times(system, p, statistic="median")[1]).all()


def test_a_folder_loads_by_path_and_its_times_come_sorted(folder):
    system = load_system(folder)
    assert system.id == "mine"
    assert system.steps is None
    assert allreduce_times(system, 2)[0].tolist() == [512, 1024]


def test_two_times_for_one_message_are_refused(folder):
    row = "2,1024,5e-06,median,5,nccl-kernel-graph\n"
    (folder / "allreduce.csv").write_text(HEADER + row + row.replace("5e-06", "6e-06"))
    with pytest.raises(ValueError, match="allreduce.csv line 3, column p: a second row for p 2, m"):
        load_system(folder)


@pytest.mark.parametrize(
    "row, error",
    [
        ("2,512,-1e-6,min,5,nccl-kernel-graph", "column time_s: must be above 0, got '-1e-6'"),
        ("2,512,0,min,5,nccl-kernel-graph", "column time_s: must be above 0, got '0'"),
        ("2,512,nan,min,5,nccl-kernel-graph", "column time_s: must be a number, got 'nan'"),
        ("2,512,,min,5,nccl-kernel-graph", "column time_s: must be a number, got ''"),
        ("2,512,inf,min,5,nccl-kernel-graph", "column time_s: must be a number, got 'inf'"),
        ("0,512,1e-6,min,5,nccl-kernel-graph", "column p: must be at least 2, got '0'"),
        ("2.5,512,1e-6,min,5,nccl-kernel-graph", "column p: must be whole, got '2.5'"),
        ("2,0,1e-6,min,5,nccl-kernel-graph", "column message_bytes: must be at least 1"),
        ("2,512,1e-6,best,5,nccl-kernel-graph", "column statistic: must be one of min, median"),
        ("2,512,1e-6,min,0,nccl-kernel-graph", "column samples: must be at least 1"),
        ("2,512,1e-6,min,5,", "column method: is empty"),
    ],
)
def test_a_bad_row_is_refused_with_file_line_and_column(folder, row, error):
    with (folder / "allreduce.csv").open("a") as file:
        file.write(row + "\n")
    with pytest.raises(ValueError) as caught:
        load_system(folder)
    assert str(caught.value).startswith("mine/allreduce.csv line 4, ")
    assert error in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_missing_column_table_or_method_is_refused(folder):
    (folder / "allreduce.csv").write_text("p,message_bytes,statistic,samples,method\n")
    with pytest.raises(ValueError, match="allreduce.csv: column time_s is missing"):
        load_system(folder)
    (folder / "allreduce.csv").write_text(HEADER + "2,512,1e-06,min,5,guess\n")
    with pytest.raises(ValueError, match="'guess' is not described under methods in system.yml"):
        load_system(folder)
    (folder / "allreduce.csv").write_text(HEADER + "2,512,1e-06,min,5,nccl-kernel-graph\n")
    with pytest.raises(ValueError, match="no row has statistic median by nccl-kernel-graph"):
        load_system(folder)
    (folder / "allreduce.csv").unlink()
    with pytest.raises(ValueError, match="mine/allreduce.csv is missing: add it with the columns"):
        load_system(folder)
    edit(folder, methods={})
    with pytest.raises(ValueError, match="steps.csv and serving.csv are missing: add at least one"):
        load_system(folder)
    edit(folder, composed=True)
    with pytest.raises(ValueError, match="mine/steps.csv is missing: add it with the columns"):
        load_system(folder)


@pytest.mark.parametrize("name", ["title", "accelerator", "methods", "sources", "known_limits"])
def test_a_missing_entry_of_the_description_is_refused(folder, name):
    edit(folder, **{name: "remove"})
    with pytest.raises(ValueError, match=f"mine/system.yml: field '{name}' is missing"):
        load_system(folder)


def test_wrong_entries_of_the_description_are_refused(folder):
    edit(folder, accelerator="a41")
    with pytest.raises(ValueError, match="accelerator in mine/system.yml: 'a41'"):
        load_system(folder)
    fabric = load_system("quad-a40-bridge")
    guess = {"value": 1e9, "status": "guessed", "reason": fabric.bandwidth.reason}
    known = guess | {"status": "stated", "value": "fast"}
    edit(
        folder,
        accelerator="a40",
        fabric={"kind": "x", "bandwidth_per_direction": guess, "topology": known},
    )
    with pytest.raises(ValueError, match="status must be one of stated, measured, inferred"):
        load_system(folder)


@pytest.mark.parametrize(
    "change, error",
    [
        ({"methods": ["nccl"]}, "methods must be a mapping, got"),
        ({"methods": {"nccl-kernel-graph": "min"}}, "must hold fields such as 'statistic'"),
        ({"fabric": "bridge"}, "must hold fields such as 'kind', got 'bridge'"),
        ({"known_limits": "none"}, "known_limits must be a list, got 'none'"),
        ({"composed": "no"}, "composed must be true or false, got 'no'"),
        ({"title": 3}, "title must be text, got 3"),
        ({"model": 7}, "model must be text or null, got 7"),
        ({"device_count": 4.5}, "device_count: must be whole, got 4.5"),
        ({"accelerator": ["a40"]}, r"accelerator in mine/system.yml: \['a40'\]"),
        ({"device_count": 10**400}, "device_count: must be finite and positive"),
        ({"device_count": 9}, "device_count 9 is more than machine_device_count 8"),
        ({"sources": ["a paper"]}, "sources must hold a mapping in each line, got 'a paper'"),
        ({"known_limits": [1]}, "known_limits must hold text in each line, got 1"),
        ({"methods": {"nccl-kernel-graph": {"statistic": "min", "how": 1}}}, "how must be text"),
    ],
)
def test_entries_of_another_kind_are_refused(folder, change, error):
    edit(folder, **change)
    with pytest.raises(ValueError, match=error):
        load_system(folder)


def test_rows_longer_than_the_header_are_refused_instead_of_shifted(folder):
    (folder / "allreduce.csv").write_text(HEADER + "2,1024,5e-06,median,5,nccl-kernel-graph,9\n")
    with pytest.raises(ValueError, match="not a CSV table: Expected 6 fields in line 2, saw 7"):
        load_system(folder)


def test_a_date_that_does_not_exist_is_refused_with_the_file(folder):
    with (folder / "system.yml").open("a") as file:
        file.write("measured: 2024-13-01\n")
    with pytest.raises(ValueError, match="^mine/system.yml is not YAML: month must be in 1..12"):
        load_system(folder)


@pytest.mark.parametrize("name", ["steps.csv", "serving.csv"])
def test_a_link_that_leads_nowhere_or_a_folder_is_no_absent_table(folder, name):
    (folder / name).symlink_to("nowhere")
    with pytest.raises(ValueError, match=f"^mine/{name} is missing: add it"):
        load_system(folder)
    (folder / name).unlink()
    (folder / name).mkdir()
    with pytest.raises(ValueError, match=f"^mine/{name} is not a file: add it"):
        load_system(folder)


def test_the_folder_one_stands_in_has_a_name(folder, monkeypatch):
    monkeypatch.chdir(folder)
    assert load_system(".").id == "mine"
    (folder / "allreduce.csv").unlink()
    with pytest.raises(ValueError, match="^mine/allreduce.csv is missing"):
        load_system(".")


@pytest.mark.parametrize("card", published_accelerators())
def test_a_system_of_an_accelerator_that_only_published_tables_name_loads(folder, card):
    edit(folder, accelerator=card)
    assert load_system(folder).accelerator == card


@pytest.mark.parametrize("name", ["a" * 5000, "\0", "", "data/systems/../../nowhere"])
def test_names_that_are_no_folder_are_refused(name):
    with pytest.raises(ValueError, match="no system or folder"):
        load_system(name)


@pytest.mark.parametrize("name", ["system.yml", "allreduce.csv"])
def test_bytes_that_are_no_text_are_refused(folder, name):
    (folder / name).write_bytes(b"p\xff,q\n")
    with pytest.raises(ValueError, match=f"{name} is not (YAML|a CSV table)"):
        load_system(folder)


def test_unknown_systems_methods_and_degrees_are_refused():
    with pytest.raises(ValueError, match="no system or folder 'quad-a41'; known systems: octo"):
        load_system("quad-a41")
    system = load_system("quad-a40-bridge")
    with pytest.raises(ValueError, match="method of system quad-a40-bridge 'guess'"):
        allreduce_times(system, 2, "guess")
    with pytest.raises(ValueError, match="no median all-reduce times at p = 3"):
        allreduce_times(system, 3)


@pytest.mark.parametrize("model", ["llama-2-7b", "llama-2-70b"])
def test_kernel_times_cover_the_same_grid_on_every_accelerator(model):
    table = gemm_times(model)
    assert set(table["kernel"]) == set(GEMMS + OTHERS)
    cells = table.groupby(["accelerator", "p", "kernel"])["tokens"].agg(tuple)
    assert cells.nunique() == 1
    assert len(cells) == 3 * 4 * len(GEMMS + OTHERS)
    assert (table["low_s"] <= table["time_s"]).all() and (table["time_s"] <= table["high_s"]).all()


def test_every_kernel_table_has_its_sources():
    listed = yaml.safe_load((DATA / "kernels" / "sources.yml").read_text())
    named = {(source["table"], source["accelerator"]) for source in listed["sources"]}
    found = {
        (file.name, card)
        for file in (DATA / "kernels").glob("*.csv")
        for card in pd.read_csv(file)["accelerator"].unique()
    }
    assert named == found
    assert set(listed["accelerators"]) == {card for _, card in found}


def test_an_unknown_model_has_no_kernel_times():
    with pytest.raises(ValueError, match="unknown model with kernel times 'gpt-2'; known: llama"):
        gemm_times("gpt-2")


def test_a_method_that_was_not_used_has_no_degrees():
    system = load_system("quad-a40-bridge")
    assert degrees(system) == degrees(system, system.main_method) != []
    with pytest.raises(ValueError, match="method of system quad-a40-bridge 'guess'"):
        degrees(system, "guess")
