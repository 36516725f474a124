"""One run over several models: results in a fixed order, one exit code, and no model's trouble stops the others."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from tests.kit import places
from tests.treewarden.gate.conftest import PASSING
from tests.treewarden.gate.deadly import Deadly
from treewarden.jobs.gate.config import read_configuration
from treewarden.jobs.gate.gate_job import GateJob, Wish
from treewarden.jobs.gate.gating import answers, free, gate, needed
from treewarden.jobs.gate.models import models_of

EACH = (
    '[[model]]\npath = "models/{}.pmml"\ntable = "people.csv"\nsensitive = "flu"\npolicy = "{}"\n'
)
HEAVY = ("numpy", "pyarrow", "pyomo", "casadi", "scipy", "matplotlib")


def outcomes(repository, **wish):
    found = gate(read_configuration(repository.folder / "treewarden.toml"), Wish(**wish)).gate
    return {entry.name: entry.outcome for entry in found.entries}


def test_all_models_pass(repository):
    outcome = repository.run("--no-cache")
    assert outcome.exit_code == 0
    assert [f"models/{name}.pmml" in outcome.stdout for name in ("cold", "cough", "flu")]
    assert "3 of 3 models" in outcome.stderr
    assert not (repository.folder / ".treewarden-cache").exists()


@pytest.mark.parametrize(
    ("policies", "code"),
    [
        (("lenient.toml", "undecided.toml"), 3),
        (("undecided.toml", "harsh.toml"), 1),
        (("harsh.toml", "nowhere"), 4),
    ],
)
def test_the_exit_code_is_that_of_the_worst_model(repository, policies, code):
    first, second = policies
    second = "flu.csv" if second == "nowhere" else second
    repository.write("flu.csv", "no pack")
    repository.configure(EACH.format("flu", first) + EACH.format("cold", second))
    assert repository.run("--no-cache").exit_code == code


def test_what_counts_is_said_for_all_models_for_one_or_for_a_run(repository):
    text = (repository.folder / "harsh.toml").read_text() + 'severity = "warning"\n'
    repository.write("warns.toml", text)
    flu, cold = EACH.format("flu", "warns.toml"), EACH.format("cold", "warns.toml")
    repository.configure(f'{flu}fail_on = "warning"\n{cold}')
    assert list(outcomes(repository).values()) == ["UNDETERMINED", "FAIL"]
    assert "does not count" not in repository.run("--no-cache", "--format", "junit").stdout
    repository.configure(f'fail_on = "note"\n{flu}{cold}')
    assert list(outcomes(repository).values()) == ["FAIL", "FAIL"]
    assert list(outcomes(repository, fail_on="error").values()) == ["UNDETERMINED"] * 2


def test_what_is_wrong_with_one_model_is_its_result_and_the_others_have_theirs(repository):
    repository.model("cold").write_text("<PMML", encoding="utf-8")
    repository.write("other.csv", "a,b\n1,2\n")
    table = EACH.format("cough", "lenient.toml").replace("people", "other")
    good, bad = EACH.format("flu", "lenient.toml"), EACH.format("cold", "lenient.toml")
    repository.configure(good + bad + table)
    found = gate(read_configuration(repository.folder / "treewarden.toml")).gate
    assert {entry.name: entry.outcome for entry in found.entries} == {
        "models/cold.pmml": "NO AUDIT",
        "models/cough.pmml": "NO AUDIT",
        "models/flu.pmml": "PASS",
    }
    cold, cough, _ = found.entries
    assert "cold.pmml" in cold.problem
    assert "other.csv" in cough.problem
    assert found.outcome == "NO AUDIT"


def test_why_there_was_no_audit_is_said_without_anything_of_the_table(repository):
    text = (repository.folder / "people.csv").read_text()
    repository.write("people.csv", text.replace("30,F,no", "secret,F,no", 1))
    found = gate(read_configuration(repository.folder / "treewarden.toml")).gate
    assert found.outcome == "NO AUDIT"
    assert "people.csv" in found.entries[0].problem
    assert "secret" not in found.model_dump_json()


def test_only_what_is_wanted_is_audited(repository):
    assert list(outcomes(repository, paths=(repository.model(),))) == ["models/flu.pmml"]
    assert len(outcomes(repository, paths=(repository.folder / "models",))) == 3


def test_a_wanted_path_that_is_not_configured_says_how_to_add_it(repository):
    other = repository.write("other/new.pmml", "")
    outcome = repository.run(other)
    assert outcome.exit_code == 4
    assert 'add it there:  [[model]]  path = "other/new.pmml"' in outcome.stderr
    outcome = repository.run(repository.folder / "nowhere")
    assert outcome.exit_code == 4
    assert "there is no such file" in outcome.stderr


def test_the_order_of_results_is_that_of_names_whatever_the_processes(repository):
    assert list(outcomes(repository, jobs=2)) == list(outcomes(repository, jobs=1))


def orders(repository, kinds):
    models = models_of(read_configuration(repository.folder / "treewarden.toml"))
    return [kind(model) for kind, model in zip(kinds, models, strict=False)]


@pytest.mark.processes
@pytest.mark.parametrize("free_bytes", [None, 1])
def test_a_process_that_dies_costs_the_verdict_of_its_model_alone(repository, free_bytes):
    found = dict(answers(orders(repository, (GateJob, Deadly, GateJob)), 2, free_bytes))
    assert [found[number].entry.outcome for number in range(3)] == ["PASS", "NO AUDIT", "PASS"]
    assert "lack of memory" in found[1].entry.problem


def test_a_large_table_needs_more_memory_than_a_small_one(repository):
    models = models_of(read_configuration(repository.folder / "treewarden.toml"))
    small = needed(models[0])
    with models[0].table.open("a") as table:
        table.write("30,F,no\n" * 1000)
    assert needed(models[0]) >= small + 8000


def test_the_limit_of_a_container_counts_where_it_is_less(tmp_path):
    (tmp_path / "meminfo").write_text("MemTotal: 9 kB\nMemAvailable:   8 kB\n")
    assert free(tmp_path / "meminfo", tmp_path) == 8 * 1024
    (tmp_path / "memory.max").write_text("5000\n")
    (tmp_path / "memory.current").write_text("1000\n")
    assert free(tmp_path / "meminfo", tmp_path) == 4000
    (tmp_path / "memory.max").write_text("max\n")
    assert free(tmp_path / "meminfo", tmp_path) == 8 * 1024
    assert free(tmp_path / "none", tmp_path) is None


def test_a_run_without_changes_loads_nothing_heavy(repository):
    repository.run()
    code = "import sys; from treewarden.cli import main\ntry: main()\nexcept SystemExit: pass\n"
    code += f"print(*[name for name in {HEAVY} if name in sys.modules], file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-c", code, "gate", "--quiet"],
        cwd=repository.folder,
        env={**os.environ, "PYTHONPATH": str(places.ROOT)},
        capture_output=True,
        check=True,
        text=True,
    )
    assert done.stdout.count("PASS") == 4
    assert done.stderr.strip() == ""


def test_quiet_says_nothing_beside_the_result(repository):
    outcome = repository.run("--quiet")
    assert (outcome.exit_code, outcome.stderr) == (0, "")


def test_a_baseline_knows_the_files_that_it_was_written_of(repository):
    repository.write("treewarden.toml", PASSING.replace("lenient", "harsh"))
    assert repository.run("-q").exit_code == 1
    baseline = repository.folder / "b.json"
    repository.run("-q", "--write-baseline", baseline)
    whole = list(json.loads(baseline.read_text())["models"].values())
    digests = {each["inputs"] for model in whole for each in model["findings"] if not each["leaf"]}
    assert digests
    assert all(len(digest) == 64 for digest in digests)
    assert repository.run("-q", "--baseline", baseline).exit_code == 0
