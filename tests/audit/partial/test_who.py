"""Who is asked about: what was declared, held against the columns that there are."""

import pytest

from tests.kit.rows import rows
from treewarden.audit.knowledge.adversaries import adversary_of, check_names
from treewarden.audit.knowledge.levels import DeclaredAdversary
from treewarden.ppdm_models.errors import KnowledgeError

COLUMNS = ("age", "Sex", "zip_code", "income", "flu")


def who(secret="flu", **said):
    declared = DeclaredAdversary(**{"name": "somebody", **said})
    return adversary_of(declared, COLUMNS, secret, "flu", "known.toml")


def test_columns_are_found_however_they_are_spelled():
    assert who(knows=["AGE", "sex"]).knows == ("age", "Sex")


def test_a_preset_is_matched_by_the_usual_names_and_says_what_it_took_and_lacks():
    found = who(knows="register")
    assert found.knows == ("age", "Sex", "zip_code")
    assert "Sweeney 2000" in found.said[0]
    assert "age: age; sex: Sex; zip: zip_code" in found.said[0]
    found = who(knows="safe-harbour")
    assert found.knows == ("age", "Sex")
    assert "no column was found for state, race and marital status" in found.said[1]


def test_the_owner_says_which_columns_a_preset_means():
    found = who(knows="register", columns={"zip": "income", "sex": ""})
    assert found.knows == ("age", "income")
    assert len(found.said) == 1


def test_the_target_among_what_is_known_is_the_target_known():
    found = who(secret="income", knows=["age", "flu"])
    assert (found.knows, found.target) == (("age",), True)
    assert found.words == "age, and the value that it predicts"
    assert who(secret="income", knows="all").knows is None


@rows(
    ("said", "problem"),
    [
        ({"knows": ["agee"]}, r"no column 'agee' \(did you mean 'age'"),
        ({"knows": ["flu"]}, "names 'flu', the sensitive column; leave it out"),
        (
            {"knows": ["age"], "target": True},
            "target gives the adversary the column 'flu'.* or remove target$",
        ),
        ({"knows": "everybody"}, "'everybody' is not a preset; use 'all', 'register'"),
        ({"knows": ["Register"]}, "'flu'; did you mean the preset 'register'?"),
        ({"knows": ["age", "regster"]}, "no column 'regster'; the table has .*'flu'$"),
        (
            {"knows": ["age,Sex"]},
            r"no column 'age,Sex'; name each column by itself: \['age', 'Sex'\]",
        ),
        ({"knows": ["age,x"]}, "no column 'age,x' .*; the table has"),
        ({"knows": "Register"}, r"is not a preset \(did you mean 'register'\?\); use 'all'"),
        ({"knows": "age, sex"}, r"the list \['age', 'sex'\] if columns are meant"),
        ({"knows": "AGE"}, r"the list \['age'\] if columns are meant"),
        ({"knows": []}, "knows no column of the table"),
        ({"knows": ["age"], "columns": {"zip": "zip_code"}}, "columns explains a preset"),
        ({"knows": "register", "columns": {"income": "income"}}, "does not include 'income'"),
        ({"knows": "register", "columns": {"zip": "zipp"}}, "no column 'zipp'"),
    ],
)
def test_what_cannot_be_known_is_refused_with_what_to_do(said, problem):
    with pytest.raises(KnowledgeError, match=problem):
        who(**said)


def test_the_secret_is_nobodys_to_know_but_a_preset_leaves_it_out():
    with pytest.raises(KnowledgeError, match="names 'income', the sensitive column"):
        who(secret="income", knows=["age", "income"])
    assert "income" not in who(secret="income", knows="ex-spouse").knows


def test_two_adversaries_have_two_names():
    twice = [DeclaredAdversary(name="a", knows=["age"]), DeclaredAdversary(name="a", knows=["Sex"])]
    with pytest.raises(KnowledgeError, match="two adversaries are called 'a'"):
        check_names(twice, "known.toml")
