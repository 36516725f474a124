"""Commands whose work a cluster does: the same bytes, told where it is not there, and no address in any result."""

import json

import pytest

import treewarden
from tests.kit.clusters import dask_here
from tests.kit.run import audit_files
from tests.kit.run import run_command as run
from tests.treewarden.vertical.tennis import PARTIES, ROWS, write_table
from treewarden.audit.entropy import estimate
from treewarden.audit.entropy.rounds import solve_in_rounds
from treewarden.audit.solver import checkpoint
from treewarden.audit.workers.clusters import dask
from treewarden.audit.workers.pool import WORKERS
from treewarden.ppdm_models.errors import TreewardenError

pytest.importorskip("distributed")
pytestmark = pytest.mark.cluster

NOBODY = "tcp://127.0.0.1:9"
CASES = """
[[case]]
name = "one"
model = "models/flu.pmml"
table = "people.csv"
sensitive = "flu"
verdict = "pass"

[[case]]
name = "two"
model = "models/cold.pmml"
table = "people.csv"
sensitive = "flu"
verdict = "fail"
"""


@pytest.fixture(scope="module")
def cluster():
    with dask_here(2) as found:
        yield found.address


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)


@pytest.fixture
def eager(monkeypatch):
    """Have even the smallest part of an estimate done by somebody else."""
    for worth in ("WORTH_A_TASK", "WORTH_A_WORKER"):
        monkeypatch.setattr(checkpoint, worth, 0)
    # Where the closed form breaks no row there is nothing to do, here or elsewhere.
    monkeypatch.setattr(
        estimate, "_rounds", lambda problem: solve_in_rounds(problem, estimate.unseen(problem))
    )


def audited(repository, *words):
    table, policy = repository.folder / "people.csv", repository.folder / "lenient.toml"
    return audit_files([repository.model()], [table], "flu", policy, *words)


def test_a_gate_on_a_cluster_says_what_it_says_here(repository, cluster):
    here = repository.run("--no-cache", "--format", "json")
    there = repository.run("--no-cache", "--format", "json", "--cluster", cluster)
    assert there.exit_code == here.exit_code == 0
    assert there.stdout == here.stdout
    assert "This machine is used instead" not in there.stderr
    assert not WORKERS.is_elsewhere


@pytest.mark.parametrize("is_required", [False, True])
def test_where_the_scheduler_goes_in_the_middle_of_a_gate_this_machine_takes_over_or_it_ends(
    repository, monkeypatch, is_required
):
    here = repository.run("--no-cache", "--format", "json")
    sent, send = [], dask.DaskSeat.send
    with dask_here(1) as mine:

        def killing(place, parcel):
            sent.append(parcel)
            if len(sent) == 2:  # one model has come back by then
                mine.scheduler.kill()
                mine.scheduler.wait()
            return send(place, parcel)

        monkeypatch.setattr(dask.DaskSeat, "send", killing)
        words = ("--cluster", mine.address, *(["--cluster-required"] if is_required else []))
        there = repository.run("--no-cache", "--format", "json", *words)
    assert len(sent) >= 2
    if is_required:
        assert (there.exit_code, there.stdout) == (4, "")
        assert (
            "no audit was performed: the cluster: the Dask scheduler no longer answers"
            in there.stderr
        )
    else:
        assert (there.exit_code, there.stdout) == (0, here.stdout)
        assert there.stderr.count("This machine is used instead") == 1
    assert not WORKERS.is_elsewhere


def test_a_model_that_the_clusters_workers_cannot_read_as_it_is_here_has_no_audit(
    repository, cluster, monkeypatch
):
    monkeypatch.setattr("treewarden.jobs.gate.gating.key_of", lambda *given: "another")
    there = repository.run("--no-cache", "--cluster", cluster)
    assert there.exit_code == 4
    assert "same files under the same paths" in there.stdout


def test_a_repair_on_a_cluster_finds_what_it_finds_here(repository, cluster):
    table, policy = repository.folder / "people.csv", repository.folder / "harsh.toml"
    words = ("--data", table, "--sensitive", "flu", "--policy", policy, "--list")
    here = run("repair", repository.model(), *words)
    there = run("repair", repository.model(), *words, "--cluster", cluster, "--jobs", "2")
    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout)


def test_cases_of_a_policy_come_out_on_a_cluster_as_here(repository, cluster):
    repository.write("lenient.cases.toml", CASES)
    words = ("policy", "test", repository.folder / "lenient.toml")
    here, there = run(*words), run(*words, "--cluster", cluster)
    assert here.exit_code == there.exit_code == 1
    assert there.stdout == here.stdout
    assert "differs" in there.stdout


def test_no_report_says_where_the_work_was_done(repository, cluster):
    said = audited(repository, "--format", "json", "--cluster", cluster)
    assert said.exit_code == 0
    assert "cluster" not in json.loads(said.stdout)["provenance"]["asked"]["options"]
    assert cluster not in said.stdout
    assert cluster.partition("://")[2] not in said.stdout


def test_a_cluster_can_be_named_by_a_variable_and_one_that_is_missing_is_told_of_once(
    repository, monkeypatch, impatient
):
    monkeypatch.setenv("TREEWARDEN_CLUSTER", NOBODY)
    said = repository.run("--no-cache")
    assert said.exit_code == 0
    assert said.stderr.count("This machine is used instead") == 1
    assert "127.0.0.1" not in said.stderr


@pytest.mark.parametrize("command", ["audit", "gate"])
def test_without_a_cluster_that_is_required_nothing_is_audited(repository, command, impatient):
    words = ("--cluster", NOBODY, "--cluster-required")
    said = audited(repository, *words) if command == "audit" else repository.run(*words)
    assert said.exit_code == 4
    assert said.stderr.startswith("no audit was performed: the cluster: no scheduler answers")


def verified(repository, *words):
    report = repository.write("report.json", audited(repository, "--format", "json").stdout)
    table, policy = repository.folder / "people.csv", repository.folder / "lenient.toml"
    asked = ("--model", repository.model(), "--data", table, "--policy", policy)
    return run("verify", report, *asked, *words)


def played(repository, *words):
    table = write_table(repository.folder / "tennis.csv", ROWS)
    parties = repository.write("parties.toml", PARTIES)
    asked = ("--target", "play", "--parties", parties, "-o", repository.folder / "out", "--force")
    return run("vertical", table, *asked, *words)


@pytest.mark.parametrize("command", [verified, played])
def test_other_commands_that_audit_say_on_a_cluster_what_they_say_here(
    repository, cluster, command, eager
):
    here = command(repository)
    there = command(repository, "--cluster", cluster, "--cluster-required")
    assert (there.exit_code, there.stdout) == (here.exit_code, here.stdout)
    assert here.exit_code in (0, 1)


@pytest.mark.parametrize("command", [verified, played])
def test_they_ask_it_for_work_and_end_without_one_that_is_required(
    repository, command, impatient, eager
):
    words = ("--cluster", NOBODY)
    assert command(repository, *words).stderr.count("This machine is used instead") == 1
    said = command(repository, *words, "--cluster-required")
    assert said.exit_code == 4
    assert "nothing was done: the cluster: no scheduler answers" in said.stderr


def test_an_address_that_is_none_is_refused_at_once(repository):
    said = audited(repository, "--cluster", "localhost:8786")
    assert said.exit_code == 4
    assert "give tcp://HOST:PORT" in said.stderr


def test_python_asks_a_cluster_too(repository, cluster, impatient):
    given = {"sensitive": "flu", "policy": repository.folder / "lenient.toml"}
    table = repository.folder / "people.csv"
    here = treewarden.audit(repository.model(), table, **given)
    there = treewarden.audit(repository.model(), table, cluster=cluster, **given)
    assert there.verdict == here.verdict
    with pytest.raises(TreewardenError, match="no scheduler"):
        treewarden.audit(repository.model(), table, cluster=NOBODY, cluster_required=True, **given)
