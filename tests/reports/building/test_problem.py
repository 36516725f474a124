"""What a pipeline says of a model without audit: what to mend, and nothing of the people in the table."""

import pytest

from treewarden.ppdm_models.errors import (
    KnowledgeError,
    PolicyError,
    SettingError,
    TableError,
    TreeFormatError,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.reports.building.redacted import problem_of

SECRET = "the record (name = Zaphod) falls in no leaf"


@pytest.mark.parametrize("kind", [TableError, KnowledgeError])
def test_a_message_that_may_quote_people_is_not_told(kind):
    said = problem_of(kind("people.csv", SECRET))
    assert said.startswith("people.csv: the ")
    assert "Zaphod" not in said
    assert "treewarden audit" in said


def test_settings_that_such_a_message_names_are_told():
    problem = f"{SECRET}; use --sensitive flu, or add --secret COLUMN"
    told = problem_of(TableError("people.csv", problem), ["--qi"])
    assert "check --qi, --sensitive and --secret. The cause is not shown here" in told
    assert "Zaphod" not in told


def test_a_setting_that_the_models_file_contradicts_is_told():
    problem = "learner = rpart, but weka trained the model; remove --learner"
    assert problem_of(SettingError("m.pmml", problem)) == f"m.pmml: {problem}"


@pytest.mark.parametrize("kind", [TreeFormatError, PolicyError])
def test_what_is_wrong_with_a_model_or_a_policy_is_told(kind):
    assert (
        problem_of(kind("loan.pmml:3", "no tree; export it")) == "loan.pmml:3: no tree; export it"
    )


def test_a_table_that_is_not_there_is_said_not_to_be_there(tmp_path):
    with pytest.raises(TableError) as refused:
        read_table(tmp_path / "gone.csv")
    assert "there is no such file" in problem_of(refused.value)


def test_a_mistake_is_told_by_its_kind_alone_as_its_words_may_be_anybodys():
    assert "Zaphod" not in problem_of(KeyError("Zaphod"))
    assert "KeyError" in problem_of(KeyError("Zaphod"))


def test_a_file_that_cannot_be_read_is_named():
    assert problem_of(OSError(13, "Permission denied", "a.csv")) == (
        "a.csv: this user has no permission for it; change its permissions, or name another path"
    )
