"""Only what changed since a revision is audited; what did not gets no verdict and does not count."""

from __future__ import annotations

import importlib
from dataclasses import replace
from datetime import date

import pytest

from tests.treewarden.conftest import GROUPS
from tests.treewarden.gate.conftest import PASSING
from treewarden.jobs.gate.auditing import answered, request_of
from treewarden.jobs.gate.changed import Digests, changes_since, key_of
from treewarden.jobs.gate.config import ConfigurationError, read_configuration
from treewarden.jobs.gate.gate_job import GateJob
from treewarden.jobs.gate.models import models_of

ALL = ("models/cold.pmml", "models/cough.pmml", "models/flu.pmml")
EACH = (
    '[[model]]\npath = "models/{}.pmml"\ntable = "people.csv"\nsensitive = "flu"\npolicy = "{}"\n'
)


@pytest.fixture
def committed(repository):
    repository.write(".gitignore", ".treewarden-cache\n")
    repository.commit()
    repository.git("switch", "-q", "-c", "work")
    return repository


def audited(repository, *arguments):
    outcome = repository.run("--changed-since", "main", *arguments)
    assert outcome.exit_code in (0, 1, 3), outcome.output
    lines = [line.strip() for line in outcome.stdout.splitlines()]
    not_changed = [name for name in ALL if f"not changed  {name}" in lines]
    return [name for name in ALL if name not in not_changed]


def test_where_nothing_changed_it_says_so_and_passes(committed):
    outcome = committed.run("--changed-since", "main")
    assert outcome.exit_code == 0
    assert "Nothing was audited" in outcome.stdout
    assert audited(committed) == []


def test_a_model_that_fails_and_did_not_change_does_not_count(committed):
    committed.configure(EACH.format("flu", "lenient.toml") + EACH.format("cold", "harsh.toml"))
    committed.commit()
    committed.git("branch", "-f", "main")
    committed.change("flu")
    outcome = committed.run("--changed-since", "main")
    assert outcome.exit_code == 0
    assert "not changed  models/cold.pmml" in outcome.stdout


def committed_change(repository):
    repository.change("flu")
    repository.commit()


def staged_change(repository):
    repository.change("flu")
    repository.git("add", "-A")


def undone_in_the_folder(repository):
    """Stage a change, and take it back in the folder alone: what is committed next has it."""
    before = repository.model().read_text()
    staged_change(repository)
    repository.model().write_text(before)


MODEL = {
    "committed": committed_change,
    "staged": staged_change,
    "staged and undone": undone_in_the_folder,
    "neither": lambda repository: repository.change("flu"),
}


@pytest.mark.parametrize("kind", MODEL)
def test_a_model_that_changed_is_audited_alone(committed, kind):
    MODEL[kind](committed)
    assert audited(committed) == ["models/flu.pmml"]


def test_a_model_that_is_not_committed_yet_is_audited(committed):
    committed.write("models/new.pmml", committed.model().read_text())
    outcome = committed.run("--changed-since", "main")
    assert outcome.exit_code == 0
    assert "models/new.pmml" in outcome.stdout
    assert audited(committed) == []


SHARED = {
    "the table": ("people.csv", "30,F,no", "30,M,no"),
    "the policy": ("lenient.toml", "= 5", "= 4"),
    "the configuration": ("treewarden.toml", 'table = "people', 'worlds = false\ntable = "people'),
}


@pytest.mark.parametrize("kind", SHARED)
def test_what_several_models_rest_on_has_all_of_them_audited(committed, kind):
    name, old, new = SHARED[kind]
    text = (committed.folder / name).read_text()
    committed.write(name, text.replace(old, new))
    assert audited(committed) == list(ALL)


def test_a_pack_that_the_policy_extends_counts_as_the_policy(committed):
    committed.write("ours.toml", 'name = "ours"\nextends = "lenient.toml"\n')
    committed.write(
        "treewarden.toml",
        (committed.folder / "treewarden.toml").read_text().replace("lenient", "ours"),
    )
    committed.commit()
    committed.git("branch", "-f", "main")
    configuration = read_configuration(committed.folder / "treewarden.toml")
    model = models_of(configuration)[0]
    assert not changes_since(configuration, "main").touches(model)
    committed.write("lenient.toml", (committed.folder / "lenient.toml").read_text() + "\n")
    assert changes_since(configuration, "main").touches(model)


@pytest.mark.parametrize("policy", ["baseline", "ours.toml"])
def test_a_pack_that_ships_does_not_count_as_changed(committed, policy):
    committed.write(
        "ours.toml", 'name = "ours"\nversion = "1"\ntitle = "Ours"\nextends = "baseline"\n'
    )
    committed.configure(EACH.format("flu", policy))
    committed.commit()
    committed.git("branch", "-f", "main")
    assert "Nothing was audited" in committed.run("--changed-since", "main").stdout


def test_an_entry_of_the_configuration_that_changed_counts_for_its_models_alone(committed):
    both = EACH.format("flu", "lenient.toml") + EACH.format("cold", "lenient.toml")
    committed.configure(both)
    committed.commit()
    committed.git("branch", "-f", "main")
    committed.configure("# a remark\n" + both + "worlds = false\n")
    outcome = committed.run("--changed-since", "main")
    assert "not changed  models/flu.pmml" in outcome.stdout
    assert "models/cold.pmml" in outcome.stdout
    assert "not changed  models/cold.pmml" not in outcome.stdout


def test_a_deleted_model_is_mentioned(committed):
    committed.model("cold").unlink()
    outcome = committed.run("--changed-since", "main")
    assert "deleted      models/cold.pmml" in outcome.stdout
    assert outcome.exit_code == 0


def test_a_table_that_git_does_not_follow_may_have_changed(committed):
    committed.write(".gitignore", ".treewarden-cache\npeople.csv\n")
    committed.git("rm", "-q", "--cached", "people.csv")
    committed.commit()
    committed.git("branch", "-f", "main")
    assert audited(committed) == list(ALL)


def test_only_what_a_branch_changed_counts_not_what_the_other_has_since(committed):
    committed.git("switch", "-q", "main")
    committed.change("cold")
    committed.commit()
    committed.git("switch", "-q", "work")
    committed.change("flu")
    committed.commit()
    assert audited(committed) == ["models/flu.pmml"]


@pytest.mark.parametrize("revision", ["nowhere", "-x", ""])
def test_a_revision_that_git_does_not_know_is_named(committed, revision):
    outcome = committed.run(f"--changed-since={revision}")
    assert outcome.exit_code == 4
    assert "name a commit or a branch" in outcome.stderr


def test_without_git_it_says_that_git_cannot_tell(repository):
    outcome = repository.run("--changed-since", "main")
    assert outcome.exit_code == 4
    assert "git cannot tell what changed" in outcome.stderr


def test_before_the_first_commit_everything_is_new(repository):
    repository.git("init", "-q", "-b", "main")
    repository.git("add", "-A")
    outcome = repository.run("--changed-since", "HEAD", "-q")
    assert outcome.exit_code == 0, outcome.output
    assert "3 models: 3 pass" in outcome.stdout


def test_a_dictionary_labels_the_reports_and_counts_as_changed(committed):
    committed.write("words.csv", "column,label,value,value_label\nage,years lived,,\n")
    for place, text in (
        ("section", PASSING + 'dictionary = "words.csv"\n'),
        ("top", 'dictionary = "words.csv"\n' + PASSING),
    ):
        committed.configure(text)
        committed.commit()
        committed.git("branch", "-f", "main")
        assert audited(committed) == [], place
    configuration = read_configuration(committed.folder / "treewarden.toml")
    model = models_of(configuration)[0]
    assert model.files.dictionary == committed.folder / "words.csv"
    assert request_of(GateJob(model, "", today=date(2026, 1, 1))).files == model.files
    before = key_of(model, Digests(), "1", date(2026, 1, 1))
    committed.write("words.csv", "column,label,value,value_label\nage,age in years,,\n")
    assert key_of(model, Digests(), "1", date(2026, 1, 1)) != before
    assert audited(committed) == list(ALL)


WITH_MEAN = PASSING + 'with = "table1.csv"\n'


def write_mean(repository, mean):
    repository.write("table1.csv", f',yes\n"age, mean",{mean}\n')


def test_outputs_beside_a_model_are_audited_with_it_and_count_as_changed(committed):
    ages = [age for age, _, flu, times in GROUPS for _ in range(times) if flu == "yes"]
    write_mean(committed, f"{sum(ages) / len(ages):.1f}")
    committed.configure(WITH_MEAN)
    committed.commit()
    committed.git("branch", "-f", "main")
    assert audited(committed) == []
    (model, *_) = models_of(read_configuration(committed.folder / "treewarden.toml"))
    assert request_of(GateJob(model, "", today=date(2026, 1, 1))).files.beside == (
        committed.folder / "table1.csv",
    )
    before = key_of(model, Digests(), "1", date(2026, 1, 1))
    assert committed.run().exit_code == 0
    write_mean(committed, "99.9")
    assert key_of(model, Digests(), "1", date(2026, 1, 1)) != before
    outcome = committed.run("--changed-since", "main")
    assert outcome.exit_code == 4
    assert "table1.csv" in outcome.stdout


def test_a_public_domain_is_read_and_counts_as_changed(committed):
    committed.write("domain.toml", "[columns.age]\nlow = 0\nhigh = 120\nwhole = true\n")
    committed.configure(PASSING + 'domain = "domain.toml"\n')
    (model, *_) = models_of(read_configuration(committed.folder / "treewarden.toml"))
    assert request_of(GateJob(model, "", today=date(2026, 1, 1))).files.domain == model.files.domain
    before = key_of(model, Digests(), "1", date(2026, 1, 1))
    committed.write("domain.toml", "[columns.age]\nlow = 0\nhigh = 130\nwhole = true\n")
    assert key_of(model, Digests(), "1", date(2026, 1, 1)) != before
    assert model.files.domain in model.inputs


@pytest.mark.parametrize("key", ["population", "with", "domain"])
def test_what_is_held_against_a_table_needs_one(repository, key):
    repository.write("beside.csv", "a\n1\n")
    absent = PASSING.replace('"people.csv"', '"absent"')
    path = repository.configure(f'{absent}{key} = "beside.csv"\n')
    with pytest.raises(ConfigurationError, match=f"'{key}' needs the training table"):
        models_of(read_configuration(path))


def test_a_register_is_passed_on_and_counts_as_changed(committed):
    committed.write("register.csv", (committed.folder / "people.csv").read_text())
    committed.configure(PASSING + 'population = "register.csv"\n')
    committed.commit()
    committed.git("branch", "-f", "main")
    assert audited(committed) == []
    configuration = read_configuration(committed.folder / "treewarden.toml")
    model = models_of(configuration)[0]
    assert model.files.population == committed.folder / "register.csv"
    assert request_of(GateJob(model, "", today=date(2026, 1, 1))).files == model.files
    before = key_of(model, Digests(), "1", date(2026, 1, 1))
    with (committed.folder / "register.csv").open("a") as file:
        file.write(committed.folder.joinpath("people.csv").read_text().splitlines()[1] + "\n")
    assert key_of(model, Digests(), "1", date(2026, 1, 1)) != before
    assert audited(committed) == list(ALL)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('population = "nobody.csv"\n', "'population' is 'nobody.csv': there is no such file"),
        ('population = "postgresql://me:secret@host/db#clinic.all"\n', "with a password"),
    ],
)
def test_a_register_that_cannot_be_read_is_an_error_of_the_configuration(committed, text, problem):
    committed.configure(PASSING + text)
    outcome = committed.run()
    assert outcome.exit_code == 4
    assert problem in outcome.output.replace("\n", " ")


def test_a_register_needs_a_table(committed):
    text = PASSING.replace('"people.csv"', '"absent"')
    committed.configure(text + 'population = "people.csv"\n')
    outcome = committed.run()
    assert outcome.exit_code == 4
    assert "'population' needs the training table, but" in outcome.output.replace("\n", " ")


def test_paths_written_under_windows_are_followed_since_a_revision(committed):
    committed.configure(PASSING.replace("models/*.pmml", "models\\\\*.pmml"))
    committed.commit()
    committed.git("branch", "-f", "main")
    assert audited(committed) == []
    committed.model("cold").unlink()
    outcome = committed.run("--changed-since", "main")
    assert "models/cold.pmml" in outcome.output


def test_a_file_that_git_spells_in_another_case_is_audited(committed):
    configuration = read_configuration(committed.folder / "treewarden.toml")
    found = changes_since(configuration, "main")
    model = models_of(configuration)[0]
    assert not found.touches(model)
    renamed = frozenset(
        path.with_name(path.name.upper()) if path == model.path else path for path in found.followed
    )
    assert replace(found, followed=renamed).touches(model)


@pytest.mark.parametrize("forms", [(), ("html",)])
def test_the_learner_is_run_again_only_for_a_report_that_shows_what_it_grows(
    repository, forms, monkeypatch
):
    (model, *_) = models_of(read_configuration(repository.folder / "treewarden.toml"))
    graded = []
    run_tree = importlib.import_module("treewarden.audit.run_tree")
    monkeypatch.setattr(run_tree, "_graded", lambda evidence, _: graded.append(1) or evidence)
    answer = answered(GateJob(model, forms=forms, today=date(2026, 1, 1)))
    assert answer.entry.outcome == "PASS"
    assert len(graded) == len(forms)
