"""What is ready made for pipelines does what it says: the hook through pre-commit, the steps of action and image."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.kit import places
from tests.treewarden.conftest import GROUPS, PMML

CONFIGURATION = """policy = "ours.toml"

[[model]]
path = "models/*.pmml"
table = "people.csv"
sensitive = "flu"
"""
POLICY = """name = "ours"
version = "1"
title = "Ours"

[[clause]]
id = "groups"
measure = "k_anonymity"
rule = "at_least"
limit = {limit}
"""
OFFLINE = {
    "PYTHONPATH": sysconfig.get_path("purelib"),
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",
}
"""What installs treewarden alone, beside the libraries of this interpreter: the same steps, without the registries."""
ACTION = yaml.safe_load((places.ROOT / "action.yml").read_text("utf-8"))
DEFAULTS = {name: each["default"] for name, each in ACTION["inputs"].items()}
STEPS = [step for step in ACTION["runs"]["steps"] if "run" in step]

needs_git = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


def git(folder, *words):
    named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *named, *words], cwd=folder, check=True, capture_output=True)


def environment(folder, **more):
    """Return this process's environment without what coverage or pytest put there, and what installs offline."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    return {**kept, **OFFLINE, "HOME": str(folder), **more}


@pytest.fixture
def source(tmp_path):
    return copy_source(tmp_path)


def copy_source(folder):
    """Return a repository of treewarden as it stands here, committed or not."""
    copy = folder / "treewarden"
    copy.mkdir()
    for name in ("treewarden", "ppdm_models", "audit", "policies", "reports", "service"):
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(places.ROOT / name, copy / name, symlinks=True, ignore=ignored)
    for name in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "constraints.txt",
        ".pre-commit-hooks.yaml",
    ):
        shutil.copy(places.ROOT / name, copy / name)
    return copy


@pytest.fixture
def scratch(tmp_path):
    """A repository with one model, its table, a configuration, and a policy that the model passes or fails."""
    folder = tmp_path / "scratch"
    (folder / "models").mkdir(parents=True)
    (folder / "models" / "flu.pmml").write_text(PMML, "utf-8")
    rows = [f"{age},{sex},{flu}" for age, sex, flu, times in GROUPS for _ in range(times)]
    (folder / "people.csv").write_text("\n".join(["age,sex,flu", *rows, ""]), "utf-8")
    (folder / "treewarden.toml").write_text(CONFIGURATION, "utf-8")

    def made(limit):
        (folder / "ours.toml").write_text(POLICY.format(limit=limit), "utf-8")
        return folder

    return made


@needs_git
@pytest.mark.processes
def test_the_hook_stops_a_commit_of_a_model_that_fails_and_lets_one_pass(source, scratch, tmp_path):
    pytest.importorskip("pre_commit", reason="pre-commit is not installed")
    pytest.importorskip("setuptools", "77", reason="setuptools is not installed")
    git(source, "init", "-q")
    git(source, "add", "-A")
    git(source, "commit", "-q", "-m", "x")
    folder = scratch(limit=10)
    git(folder, "init", "-q")
    (folder / ".pre-commit-config.yaml").write_text(
        f"repos: [{{repo: {source}, rev: HEAD, hooks: [{{id: treewarden-gate}}]}}]\n", "utf-8"
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "x", "--no-verify")
    model = folder / "models" / "flu.pmml"
    model.write_text(PMML.replace("<Header/>", '<Header description="new"/>'), "utf-8")
    git(folder, "add", "-A")

    def run():
        command = [sys.executable, "-m", "pre_commit", "run", "--all-files", "--verbose"]
        env = environment(tmp_path, PRE_COMMIT_HOME=str(tmp_path / "home"))
        return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)

    failed = run()
    assert failed.returncode == 1, failed.stdout + failed.stderr
    assert "exit code: 1" in failed.stdout
    assert "models/flu.pmml" in failed.stdout
    scratch(limit=5)
    passed = run()
    assert passed.returncode == 0, passed.stdout + passed.stderr


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """What the first step of the action leaves for the second: the environment in which both run."""
    pytest.importorskip("setuptools", "77", reason="setuptools is not installed")
    folder = tmp_path_factory.mktemp("installed")
    runner = folder / "runner"
    runner.mkdir()
    source = copy_source(folder)
    env = environment(folder, RUNNER_TEMP=str(runner), GITHUB_ACTION_PATH=str(source))
    assert subprocess_of(STEPS[0], DEFAULTS, env, folder)().returncode == 0
    return env


@needs_bash
@pytest.mark.processes
@pytest.mark.parametrize(("limit", "code"), [(10, 1), (5, 0)])
def test_the_steps_of_the_action_annotate_sum_up_and_end_with_the_gate_s_code(
    installed, scratch, tmp_path, limit, code
):
    folder = scratch(limit=limit)
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    for file in files.values():
        file.touch()
    env = installed | {name: str(file) for name, file in files.items()}
    done = subprocess_of(STEPS[1], DEFAULTS, env, folder)()
    assert done.returncode == code, done.stdout + done.stderr
    assert f"exit-code={code}" in files["GITHUB_OUTPUT"].read_text("utf-8")
    assert "models/flu.pmml" in files["GITHUB_STEP_SUMMARY"].read_text("utf-8")
    assert (folder / "treewarden.sarif").read_bytes().startswith(b"{")
    assert ("::error file=models/flu.pmml,line=" in done.stdout) == (code == 1)


def test_the_action_keeps_the_results_of_the_gate_between_runs():
    names = [step["name"] for step in ACTION["runs"]["steps"]]
    assert names == ["Install treewarden", "Restore results", "Gate", "Save results"]
    _, restore, gate, save = ACTION["runs"]["steps"]
    assert restore["uses"].startswith("actions/cache/restore@")
    assert save["uses"].startswith("actions/cache/save@")
    assert restore["with"]["key"] == save["with"]["key"]
    assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
    folder = restore["with"]["path"].removeprefix("${{ runner.temp }}/")
    assert save["with"]["path"] == restore["with"]["path"]
    assert f'TREEWARDEN_CACHE="$RUNNER_TEMP/{folder}"' in gate["run"]
    assert ("always()" in save["if"], "always()" in restore["if"]) == (True, False)


@needs_bash
@pytest.mark.parametrize("folder", ["bin", "Scripts"])
def test_the_action_asks_a_service_about_one_file_where_one_is_named(folder, tmp_path):
    program = tmp_path / "treewarden" / folder / "treewarden"  # on Windows in Scripts
    program.parent.mkdir(parents=True)
    program.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\nexit 3\n', "utf-8")
    program.chmod(0o700)
    given = DEFAULTS | {"server": "https://treewarden.example.org", "paths": "loan.pmml"}
    files = {name: tmp_path / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
    env = environment(tmp_path, RUNNER_TEMP=str(tmp_path))
    done = subprocess_of(STEPS[1], given, env | {n: str(f) for n, f in files.items()}, tmp_path)()
    assert done.returncode == 3
    words = ["gate", "--server", given["server"], "--wait", "600", "--", "loan.pmml"]
    assert done.stdout.splitlines() == words
    assert files["GITHUB_OUTPUT"].read_text("utf-8") == "exit-code=3\n"


def subprocess_of(step, given, env, folder):
    """Return what runs a step of the action as the runner does: its script in a file, its inputs in the environment."""
    own = {}
    for name, text in step.get("env", {}).items():
        asked = text.removeprefix("${{ inputs.").removesuffix(" }}")
        own[name] = given[asked]

    def run():
        script = Path(env["RUNNER_TEMP"]) / "step.sh"
        script.write_text(step["run"], "utf-8")
        command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
        return subprocess.run(
            command, cwd=folder, env={**env, **own}, capture_output=True, text=True
        )

    return run


def test_the_action_hands_its_inputs_over_in_the_environment_and_never_in_its_script():
    for step in STEPS:
        assert "${{" not in step["run"]
    asked = {text for step in STEPS for text in step.get("env", {}).values()}
    assert asked == {f"${{{{ inputs.{name} }}}}" for name in ACTION["inputs"] if name != "cache"}


def test_the_image_is_linted():
    if shutil.which("hadolint", path=os.path.dirname(sys.executable)) is None:
        pytest.skip("hadolint is not installed")
    linter = Path(sys.executable).parent / "hadolint"
    done = subprocess.run([linter, places.ROOT / "Dockerfile"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "")


def instructions():
    """Return the instructions of the image, by stage."""
    text = (places.ROOT / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    stages = []
    for line in text.splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            stages.append([])
        if line and not line.startswith("#"):
            stages[-1].append((word, " ".join(rest.split())))
    return stages


def test_the_image_runs_without_rights_and_installs_nothing_in_its_last_stage():
    *_, last = instructions()
    said = dict(last)
    assert said["USER"].isdigit()
    assert int(said["USER"]) > 0
    assert not any(tool in line for word, line in last if word == "RUN" for tool in ("pip", "apt"))
    assert said["ENTRYPOINT"] == '["treewarden"]'


@needs_bash
@pytest.mark.processes
def test_the_steps_of_the_image_install_a_command_that_runs(source, tmp_path):
    pytest.importorskip("setuptools", "77", reason="setuptools is not installed")
    first, *_ = instructions()
    (step,) = [line for word, line in first if word == "RUN"]
    step = step.replace("/opt/treewarden", str(tmp_path / "opt")).replace("/source", str(source))
    step = step.replace("python -m venv", f"{sys.executable} -m venv")
    done = subprocess.run(
        ["bash", "-e", "-c", step], env=environment(tmp_path), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    command = [tmp_path / "opt" / "bin" / "treewarden", "--version"]
    said = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True)
    assert said.stdout.startswith("treewarden, version")


def test_what_goes_into_the_image_is_what_is_packaged():
    kept = (places.ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert kept[0] == "*"
    for package in ("treewarden", "ppdm_models", "audit", "policies", "reports", "service"):
        assert f"!{package}" in kept
