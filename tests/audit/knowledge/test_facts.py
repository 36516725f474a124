"""Facts from elsewhere in a knowledge file: slips name the key that is wrong, and what is right."""

import pytest

from tests.kit.places import DATA
from tests.kit.rows import rows
from treewarden.audit.facts.kinds import check_facts, contradicted_facts
from treewarden.audit.knowledge.knowledge import Knowledge, read_knowledge
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table

RECORD = 'record = { age = 30, sex = "F" }'


def fact(*lines):
    return "\n".join(["[[fact]]", *lines]).encode()


@pytest.fixture(scope="module")
def people():
    model = open_model((DATA / "facts" / "flu.pmml").read_bytes(), "flu.pmml").model
    return build_population(model, read_table(DATA / "facts" / "people.csv"), sensitive="flu")


@rows(
    ("lines", "says"),
    [
        (["record = 3", 'class = "yes"'], "record: give columns and values of one person"),
        (["record = {}", 'class = "yes"'], "record: no column"),
        ([RECORD], "class: is missing; a fact is a statement"),
        (['class = "yes"'], "record: is missing; a fact is a statement"),
        ([], "record: is missing"),
        ([RECORD, "class = 1.5"], "class: give the name of a class"),
        ([RECORD, "class = true"], "class: give the name of a class"),
        (['says = "P(yes) = 0.5"', 'class = "yes"'], "class: cannot be combined with 'says'"),
        (['says = "P(yes) = 0.5"', RECORD], "record: cannot be combined with 'says'"),
        (['say = "P(yes) = 0.5"'], "unknown key 'say' (did you mean 'says'?)"),
        (
            ["records = { age = 30 }", 'class = "yes"'],
            "unknown key 'records' (did you mean 'record'?)",
        ),
        ([RECORD, 'value = "yes"'], "unknown key 'value'; a fact is a statement"),
        (["says = 3"], "says: give a statement in quotes"),
        (["says = { a = 3 }"], "says: give a statement in quotes"),
        (["record = { age = [30] }", 'class = "yes"'], "record: age: text or a number is needed"),
        (["record = { age = true }", 'class = "yes"'], "record: age: text or a number is needed"),
        (["record = { age = nan }", 'class = "yes"'], "record: age: a finite number is needed"),
    ],
)
def test_a_slip_names_the_key_that_is_wrong(lines, says):
    data = fact('says = "P(yes) = 0.5"') + b"\n" + fact(*lines)
    with pytest.raises(KnowledgeError) as caught:
        read_knowledge(data, "known.toml")
    assert str(caught.value).startswith(f"known.toml: [[fact]] number 2: {says}")


@pytest.mark.parametrize("key", ["facts", "adversaries"])
def test_a_table_that_is_called_otherwise_is_an_error(key):
    with pytest.raises(KnowledgeError, match=f"known.toml: unknown key '{key}'"):
        read_knowledge(f"[[{key}]]\nsays = 'P(yes) = 0.5'".encode(), "known.toml")


def test_a_class_may_be_named_by_a_whole_number():
    (found,) = read_knowledge(fact(RECORD, "class = 1"), "known.toml").facts
    assert found.value == "1"


@pytest.mark.parametrize(
    ("lines", "says"),
    [
        ([RECORD, 'class = "maybe"'], "'maybe' is not a class of the model; use no, yes"),
        (['says = "P(maybe) = 0.5"'], "'maybe' is not a class of the model; use no, yes"),
        (['says = "P(yes | sex = Q) = 0.5"'], "'sex' is never 'Q'; use 'F', 'M'"),
        (['says = "P(yes | sex in {F, Q}) = 0.5"'], "'sex' is never 'Q'"),
        (['says = "P(yes | sex != Q) = 0.5"'], "'sex' is never 'Q'"),
        (
            ['says = "P(yes | age = 31) = 0.5"'],
            "'age' is never 31 in the table; use a value that occurs",
        ),
        (['says = "P(yes | age < 30) = 0.5"'], "no record of the table meets its conditions"),
        (
            ['says = "P(yes | height < 3) = 0.5"'],
            "'height' is not a quasi-identifier; use age, sex",
        ),
        (
            ['says = "P(yes | agee < 3) = 0.5"'],
            "'agee' is not a quasi-identifier (did you mean 'age'?)",
        ),
        (['says = "P(yes | flu = yes) = 0.5"'], "'flu' is the sensitive column"),
        (["record = { age = 31 }", 'class = "yes"'], "'age' is never 31"),
        (['record = { age = "old" }', 'class = "yes"'], "'old' is not a number"),
        (['says = "P(yes | age = nan) = 0.5"'], "'nan' is not a number"),
        (['says = "P(yes | age <= inf) = 0.5"'], "'inf' is not a number"),
        (['says = "flu is rare"'], "not a valid statement; write it like P(flu"),
    ],
)
def test_a_fact_about_what_is_not_there_is_an_error(people, lines, says):
    knowledge = read_knowledge(fact(*lines), "known.toml")
    with pytest.raises(KnowledgeError) as caught:
        check_facts(knowledge, ("no", "yes"), people, "known.toml")
    assert str(caught.value).startswith("known.toml: [[fact]] number 1: fact ")
    assert says in str(caught.value)


@pytest.mark.parametrize(
    ("lines", "is_true"),
    [
        (['says = "P(yes | sex = F) = 0.9"'], False),
        (['says = "P(yes | sex = F) >= 0.5"'], True),
        (['says = "P(yes | sex = F) <= 0.5"'], False),
        (['says = "P(yes | sex = F) = 0.55"'], False),
        ([RECORD, 'class = "yes"'], True),
    ],
)
def test_a_fact_is_held_against_the_table(people, lines, is_true):
    knowledge = read_knowledge(fact(*lines), "known.toml")
    assert (contradicted_facts(knowledge, ("no", "yes"), people) == ()) is is_true


def test_who_states_nothing_is_contradicted_by_nothing(people):
    assert contradicted_facts(Knowledge(), ("no", "yes"), people) == ()
