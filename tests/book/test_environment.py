"""One environment, three files: pyproject says what, the lock says which, conda says the same."""

import re
import tomllib

import yaml
from notebooks import REPOSITORY
from packaging.markers import Marker
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
LOCK = (REPOSITORY / "requirements.lock").read_text()
CONDA = yaml.safe_load((REPOSITORY / "environment.yml").read_text())
WORKFLOW = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "check.yml").read_text())
PYTHONS = WORKFLOW["jobs"]["check"]["strategy"]["matrix"]["python"]


def pins(python: str) -> dict[str, str]:
    """The versions that the lock installs on one Python, on Linux."""
    environment = {"python_version": python, "python_full_version": f"{python}.9",
                   "sys_platform": "linux", "implementation_name": "cpython"}  # fmt: skip
    found = {}
    for name, version, marker in re.findall(r"^([\w.-]+)==(\S+)(?: ; (.+?))?(?: \\)?$", LOCK, re.M):
        if not marker or Marker(marker).evaluate(environment):
            assert canonicalize_name(name) not in found
            found[canonicalize_name(name)] = version
    return found


def test_every_requirement_is_pinned_within_its_range():
    wanted = PROJECT["dependencies"] + PROJECT["optional-dependencies"]["test"]
    build = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["build-system"]["requires"]
    for python in PYTHONS:
        versions = pins(python)
        for requirement in map(Requirement, wanted + build):
            version = versions.get(canonicalize_name(requirement.name))
            assert version is not None, f"{requirement} is not in the lock for Python {python}"
            assert requirement.specifier.contains(version), f"{requirement} is locked at {version}"


def test_every_pin_has_hashes_and_no_file_names_a_host():
    entries = re.split(r"\n(?=\S)", LOCK.strip())
    assert len(entries) > 50
    for entry in entries:
        assert re.match(r"[\w.-]+==", entry) and "--hash=sha256:" in entry, entry[:60]
    for name in ("requirements.lock", "environment.yml", "pyproject.toml", "Makefile", ".ci/run"):
        text = (REPOSITORY / name).read_text()
        assert not re.search(r"https?://|--(extra-)?index-url|--find-links", text), name


def test_conda_installs_the_lock_on_a_python_that_the_project_allows():
    *plain, pip = CONDA["dependencies"]
    python = next(entry for entry in plain if entry.startswith("python="))
    version = python.removeprefix("python=")
    assert SpecifierSet(PROJECT["requires-python"]).contains(version)
    assert version in PYTHONS
    assert plain == [python, "pip"] and pip == {"pip": ["-r requirements.lock"]}
    assert CONDA["name"] == PROJECT["name"]


def test_binder_installs_the_package_itself_and_nothing_else():
    script = REPOSITORY / "postBuild"
    assert script.stat().st_mode & 0o111
    assert "pip install --no-deps --no-build-isolation -e ." in script.read_text()


def test_the_workflow_runs_the_one_check_on_every_python():
    assert PYTHONS[0] == PROJECT["requires-python"].removeprefix(">=")
    steps = WORKFLOW["jobs"]["check"]["steps"]
    assert [step["run"] for step in steps if "run" in step] == ["bash .ci/run"]
    assert "schedule" in WORKFLOW[True]  # YAML reads the key "on" as a truth value


def test_versions_agree():
    import tpbook

    citation = yaml.safe_load((REPOSITORY / "CITATION.cff").read_text())
    assert citation["version"] == tpbook.__version__
    assert f"## {tpbook.__version__}" in (REPOSITORY / "CHANGELOG.md").read_text()
