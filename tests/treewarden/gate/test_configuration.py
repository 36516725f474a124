"""What a configuration may say, and what is said of one that is wrong: file, key and what would work."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import fields
from typing import get_args

import pytest
from pydantic import ValidationError

from tests.kit import places
from tests.treewarden.gate.conftest import PASSING
from treewarden.audit.options import KNOWLEDGE, OPTION_SPECS, AuditOptions
from treewarden.jobs.gate.config import (
    ConfigurationError,
    GateSettings,
    find_configuration,
    read_configuration,
    said_in,
)
from treewarden.jobs.gate.models import matches, models_of

ENTRY = '[[model]]\npath = "models/flu.pmml"\ntable = "people.csv"\nsensitive = "flu"\n'
NOT_OF_A_GATE = {
    "attack",
    "blame",
    "jobs",
    "levels",
    "same_everywhere",
    "smallest_reasons",
    "withholding_costs",
}


def test_every_setting_of_an_audit_can_be_configured():
    of_an_audit = {each.name for each in fields(AuditOptions)} - NOT_OF_A_GATE
    assert set(GateSettings.model_fields) == of_an_audit


@pytest.mark.parametrize("name", ["leaf", "split", "learner", "solver", "rows"])
def test_a_setting_that_is_one_of_some_words_takes_the_words_of_an_audit(name):
    literal = get_args(GateSettings.model_fields[name].annotation)[0]
    assert get_args(literal) == OPTION_SPECS[name].choices


@pytest.mark.parametrize(("name", "value"), [("time_limit", 0), ("worlds_budget", -1)])
def test_numbers_have_the_limits_of_an_audit(name, value):
    with pytest.raises(ValueError, match=name):
        AuditOptions(**{name: value})
    with pytest.raises(ValidationError, match=name):
        GateSettings(**{name: value})


@pytest.mark.parametrize("key", KNOWLEDGE)
def test_a_knowledge_file_stands_for_the_same_keys_as_for_an_audit(repository, key):
    (repository.folder / "known.toml").write_text('leaf = "counts"\n')
    value = {bool: "true", int: "2"}.get(next(iter(OPTION_SPECS[key].kinds)), "")
    value = value or f'"{OPTION_SPECS[key].choices[0]}"'
    path = repository.configure(f'{ENTRY}knowledge = "known.toml"\n{key} = {value}\n')
    with pytest.raises(ConfigurationError, match=f"leave out {key}"):
        models_of(read_configuration(path))


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        (
            'weights = "n"\nsampling_weights = "w"',
            "'weights' cannot be combined with 'sampling_weights'",
        ),
        ("bins = [1.5]", "'bins' .* with 'secret'"),
        ('secret = "age"\ntarget_known = true', "'target_known' .* with 'knows'"),
        ('columns = { f0 = "flu" }', "'columns' .* the column of 'sensitive'"),
        ('columns = { f0 = "age", f1 = "age" }', "columns: the features 'f0' and 'f1' both are"),
        ("columns = {}", "'columns' is"),
        ('claims = "epsilon=0"', "claims: epsilon=0: give a number above 0"),
        ("columns = { f0 = 1 }", "'columns.f0' is 1"),
    ],
)
def test_options_that_exclude_each_other_are_refused_by_key(repository, keys, named):
    path = repository.configure(f"{ENTRY}{keys}\n")
    with pytest.raises(ConfigurationError, match=named):
        models_of(read_configuration(path))


def test_what_holds_for_all_holds_unless_a_model_says_otherwise(repository):
    strict = f'{ENTRY}policy = "harsh.toml"\nfail_on = "note"\nname = "the flu"\n'
    other = ENTRY.replace("flu.pmml", "co*.pmml")
    path = repository.configure(f'policy = "lenient.toml"\nfail_on = "warning"\n{strict}{other}')
    cold, cough, flu = models_of(read_configuration(path))
    assert [cold.name, cough.name, flu.name] == ["models/cold.pmml", "models/cough.pmml", "the flu"]
    assert [each.policy.name for each in (cold, cough, flu)] == ["lenient.toml"] * 2 + [
        "harsh.toml"
    ]
    assert [each.fail_on for each in (cold, cough, flu)] == ["warning", "warning", "note"]


def test_a_byte_order_mark_says_nothing():
    assert said_in(f"\ufeff{ENTRY}".encode(), "a") == said_in(ENTRY.encode(), "a")


def test_a_list_of_paths_is_as_good_as_several_entries(repository):
    paths = '["models/flu.pmml", "models/c*.pmml", "models/cold.pmml"]'
    path = repository.configure(ENTRY.replace('"models/flu.pmml"', paths))
    names = [model.file for model in models_of(read_configuration(path))]
    assert names == ["models/cold.pmml", "models/cough.pmml", "models/flu.pmml"]


def test_a_name_with_signs_of_a_pattern_is_taken_as_it_is(repository):
    repository.write("models/a[1].pmml", "<PMML/>")
    path = repository.configure(ENTRY.replace("flu.pmml", "a[1].pmml"))
    assert [model.file for model in models_of(read_configuration(path))] == ["models/a[1].pmml"]


@pytest.mark.parametrize(
    ("pattern", "file", "is_match"),
    [
        ("models/*.pmml", "models/flu.pmml", True),
        ("./models/../models/*.pmml", "models/flu.pmml", True),
        ("models/*.pmml", "models/old/flu.pmml", False),
        ("models/**/*.pmml", "models/flu.pmml", True),
        ("**/old/**/*.pmml", "models/old/a/b/flu.pmml", True),
        ("a/b/**/*.pmml", "flu.pmml", False),
        ("models/a[1].pmml", "models/a[1].pmml", True),
        ("models/flu.pmml", "models/cold.pmml", False),
    ],
)
def test_a_file_that_may_be_gone_is_matched_as_one_that_is_there(
    repository, pattern, file, is_match
):
    said = said_in(ENTRY.replace("models/flu.pmml", pattern).encode(), "treewarden.toml")
    assert (matches(said, file) is not None) == is_match
    path = repository.folder / "fresh"
    (path / file).parent.mkdir(parents=True)
    (path / file).write_text("")
    (path / "people.csv").write_text("")
    (path / "treewarden.toml").write_text(ENTRY.replace("models/flu.pmml", pattern))
    found = read_configuration(path / "treewarden.toml")
    if is_match:
        assert [model.file for model in models_of(found)] == [file]
    else:
        with pytest.raises(ConfigurationError):
            models_of(found)


def test_it_is_found_from_a_folder_below(repository):
    repository.commit()
    assert find_configuration(repository.folder / "models") == repository.folder / "treewarden.toml"


def test_it_is_not_looked_for_above_the_repository(repository):
    inner = repository.folder / "inner"
    (inner / ".git").mkdir(parents=True)
    with pytest.raises(ConfigurationError, match=r"treewarden\.toml: .* --init"):
        find_configuration(inner)


def test_a_table_may_be_outside_the_repository_and_nothing_else(repository):
    repository.write("inner/model.pmml", repository.model().read_text())
    (repository.folder / "inner" / ".git").mkdir()
    text = '[[model]]\npath = "model.pmml"\ntable = "../people.csv"\n'
    path = repository.write("inner/treewarden.toml", text)
    assert models_of(read_configuration(path))[0].table.resolve() == (
        repository.folder / "people.csv"
    )
    for key in ("policy", "waivers", "baseline", "knowledge"):
        path = repository.write("inner/treewarden.toml", f'{text}{key} = "../lenient.toml"\n')
        with pytest.raises(ConfigurationError, match=f"'{key}' is .*outside the repository"):
            models_of(read_configuration(path))


WRONG = {
    "": "it has no [[model]]",
    '[[models]]\npath = "a"': "its sections are called [[models]]; rename each to [[model]]",
    "[[model]\n": "not valid TOML",
    "model = 3": "'model' is 3",
    "model = [3]": "[[model]] number 1: 'model' is 3",
    ENTRY.replace("table", "tabel"): "unknown key 'tabel' (did you mean 'table'?); all keys: ",
    "polcy = 'standard'\n"
    + ENTRY: "the top of the file: unknown key 'polcy' (did you mean 'policy'?); ",
    '[[model]]\npath = "models/flu.pmml"\n': "'table' is missing; add it",
    '[[model]]\ntable = "people.csv"\n': "'path' is missing; add it",
    f"{ENTRY}qi = 'age'\n": "'qi' is 'age': must be a list",
    f"{ENTRY}knows = 3\n": "'knows' is 3: must be a list",
    f"{ENTRY}knows = []\n": "'knows' is []: empty, but at least 1 must be given; add some",
    f"{ENTRY}earlier = [3]\n": "'earlier.0' is 3: must be a table",
    f"{ENTRY}worlds = 'yes'\n": "'worlds' is 'yes': must be true or false",
    f"{ENTRY}secret = 'age'\nbins = ['1']\n": "'bins.0' is '1': must be a number",
    f"{ENTRY}worlds_budget = '5'\n": "'worlds_budget",
    f"{ENTRY}leaf = 'label'\n": "'leaf' is 'label'",
    f"{ENTRY}fail_on = 'never'\n": "'fail_on' is 'never'",
    "fail_on = 'never'\n" + ENTRY: "'fail_on' is 'never'",
    f"{ENTRY}time_limit = 0\n": "'time_limit",
    f"{ENTRY}weights = 'w'\nsampling_weights = 'v'\n": "for survey weights",
    f"{ENTRY}knowledge = 'lenient.toml'\nleaf = 'counts'\n": "'knowledge' and leaf cannot be combined; leave out leaf",
    ENTRY.replace("people.csv", "people.parquet"): "'table' is 'people.parquet': there is no",
    ENTRY.replace("flu.pmml", "none.pmml"): "'path' is 'models/none.pmml': there is no such file",
    ENTRY.replace("flu.pmml", "*.json"): "'path' is 'models/*.json': matches no file",
    ENTRY.replace("models/flu", "/etc/*"): "outside the repository",
    f"{ENTRY}policy = 'strickt'\n": "'policy' is 'strickt': no such file or built-in policy (did you mean 'strict'?)",
    f"{ENTRY}waivers = 'none.toml'\n": "'waivers' is 'none.toml': there is no such file",
    f"{ENTRY}baseline = 'none.json'\n": "'baseline' is 'none.json': there is no such file",
    f"{ENTRY}knowledge = 'none.toml'\n": "'knowledge' is 'none.toml': there is no such file",
    ENTRY.replace("flu.pmml", "*.pmml") + "name = 'a'\n": "matches 3 files; leave out the name",
    ENTRY + ENTRY: "number 2: 'path' matches models/flu.pmml, which number 1 matches, too",
    f"{ENTRY}name = 'a'\n" + ENTRY.replace("flu.p", "cold.p") + "name = 'a'\n": (
        "'name' 'a' is also the name of models/flu.pmml"
    ),
}


@pytest.mark.parametrize("text", WRONG, ids=WRONG.values())
def test_what_is_wrong_is_named_with_its_key_and_nothing_is_audited(repository, text):
    repository.configure(text)
    outcome = repository.run()
    assert outcome.exit_code == 4
    assert outcome.stdout == ""
    assert outcome.stderr.startswith("no audit was performed: treewarden.toml: ")
    assert WRONG[text] in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_a_configuration_that_is_not_there_is_named(repository):
    outcome = repository.run("--config", repository.folder / "other.toml")
    assert outcome.exit_code == 4
    assert "other.toml: there is no such file" in outcome.stderr


@pytest.mark.parametrize("key", ["policy", "path"])
def test_links_in_a_circle_are_no_file(repository, key):
    link = repository.folder / "models" / "round.pmml"
    link.symlink_to(link)
    said = {"policy": "lenient.toml", "path": "models/flu.pmml"} | {key: "models/round.pmml"}
    section = f'[[model]]\npath = "{said["path"]}"\ntable = "people.csv"\nsensitive = "flu"\n'
    repository.configure(f'policy = "{said["policy"]}"\n{section}')
    outcome = repository.run()
    assert (outcome.exit_code, "no such" in outcome.stderr) == (4, True), outcome.stderr


def test_a_table_may_be_a_folder_and_its_result_is_kept_until_a_file_changes(repository):
    (repository.folder / "people").mkdir()
    table = repository.folder / "people/all.csv"
    table.write_bytes((repository.folder / "people.csv").read_bytes())
    repository.configure(PASSING.replace("people.csv", "people"))
    assert repository.run().exit_code == 0
    table.write_text("age,sex,flu\n1,F,no\n2,M,yes\n")
    assert repository.run().exit_code == 4


@pytest.mark.parametrize("knows", ['["sex"]', '"sex"', '"all"'])
def test_who_knows_some_columns_is_said_as_a_list_or_as_one_word(repository, knows):
    asks = PASSING.replace("lenient", "truth")  # one of what somebody can infer
    # No estimate of who knows some columns obeys the choice of these splits.
    repository.configure(f'{asks}split = "none"\nknows = {knows}\n')
    assert repository.run().exit_code == 0


@pytest.mark.parametrize("path", [r"models\flu.pmml", r"models\f*.pmml", r".\models\flu.pmml"])
def test_paths_that_were_written_under_windows_are_understood_anywhere(repository, path):
    (repository.folder / "tables").mkdir()
    (repository.folder / "people.csv").rename(repository.folder / "tables" / "people.csv")
    repository.write(
        "treewarden.toml",
        f"policy = '.\\lenient.toml'\n[[model]]\npath = '{path}'\ntable = 'tables\\people.csv'\n",
    )
    (model,) = models_of(read_configuration(repository.folder / "treewarden.toml"))
    assert (model.file, model.name) == ("models/flu.pmml", "models/flu.pmml")
    assert model.policy == repository.folder / "lenient.toml"
    assert model.table == repository.folder / "tables" / "people.csv"


@pytest.mark.skipif(os.sep == "\\", reason="Windows has no such name")
def test_a_backslash_in_a_name_stays_where_there_is_such_a_file(repository):
    repository.model().rename(repository.folder / r"a\b.pmml")
    repository.write("treewarden.toml", PASSING.replace('"models/*.pmml"', r"'a\b.pmml'"))
    (model,) = models_of(read_configuration(repository.folder / "treewarden.toml"))
    assert model.file == r"a\b.pmml"


def test_the_gate_loads_without_modules_that_only_posix_has():
    code = "import sys\nfor name in ('fcntl', 'pwd', 'grp', 'termios'): sys.modules[name] = None\n"
    code += "import treewarden.commands.gate, treewarden.commands.attest, treewarden.jobs.gate.extra_entries"
    env = {**os.environ, "PYTHONPATH": str(places.ROOT)}
    subprocess.run([sys.executable, "-c", code], check=True, env=env)
