"""A redacted report tells nothing of anybody: no profile, no true value, no count of few people, in any form."""

import json

import pytest

from tests.reports.forms import FULL
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.building.redacted import LEAST, redacted, smallest_group
from treewarden.reports.document.parts import Value
from treewarden.reports.renderers import renderer

POLICYS_OWN = {"limit", "parameters", "redacted_below"}
OF_THE_MODEL = {
    "nodes",
    "leaves",
    "depth",
    "trees",
    "classes",
    "leaves_lost",
    "numbers_withheld",
    "min_leaf",
}
DOCUMENTS = ("document", "proved", "undetermined", "regression", "several_trees", "repaired")


def told(document):
    """Yield what a full report says of people: profiles, paths, what was seen there, and each sentence with numbers."""
    for finding in document.findings:
        yield finding.message
        for place in finding.where:
            yield from (place.profile, place.note, place.path)
    if document.worlds:
        for each in (*document.worlds.certain, *document.worlds.otherwise):
            yield from (each.profile, each.path)
        yield document.worlds.summary
    for node in document.tree:
        yield from (node.path, node.records_text)
    yield from (f"{lesson.figure} {lesson.text}" for lesson in document.lessons)
    yield from (row.text for row in document.population.shares if row.name.startswith("“"))
    yield from document.model.classes


def numbers(value, key=""):
    """Yield every number of a JSON document that is neither the policy's nor the model's own."""
    if isinstance(value, dict):
        for name, each in value.items():
            if name not in POLICYS_OWN | OF_THE_MODEL | {"provenance"}:
                yield from numbers(each, name)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each, key)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield key, value


@pytest.fixture(params=DOCUMENTS)
def full(request):
    document = request.getfixturevalue(request.param)
    people = document.population.model_copy(
        update={"records": max(document.population.records, 50)}
    )
    return document.model_copy(update={"population": people})


@pytest.mark.parametrize("form", FULL)
def test_no_form_of_a_redacted_report_repeats_what_the_full_one_says_of_people(full, form):
    page = renderer(form).render(redacted(full)).decode().partition('id="glossary"')[0]
    assert [said for said in told(full) if len(said) > 2 and said in page] == []


def test_no_number_in_it_is_a_count_of_few_people(full):
    said = json.loads(renderer("json").render(redacted(full)))
    least = smallest_group(full)
    assert [(key, each) for key, each in numbers(said) if 0 < each < least] == []


def test_the_policys_smallest_group_decides_what_is_few(document, undetermined):
    assert smallest_group(document) == 5
    assert smallest_group(undetermined) == LEAST


def test_the_verdict_of_each_clause_stays(full):
    kept = redacted(full)
    assert kept.verdict == full.verdict
    assert [each.verdict for each in kept.findings] == [each.verdict for each in full.findings]


def test_counts_of_large_groups_are_told(passing):
    (finding,) = redacted(passing.model_copy(update={"findings": _asking(passing, 2)})).findings
    assert finding.value.low == passing.findings[0].value.low >= 2


def test_a_table_of_fewer_people_than_that_cannot_be_redacted(document):
    people = document.population.model_copy(update={"records": 4})
    with pytest.raises(OutputError, match="fewer than 5 people"):
        redacted(document.model_copy(update={"population": people}))


def test_the_banner_of_every_form_says_who_may_read_it(document):
    for form in FULL:
        assert "Confidential" in renderer(form).render(document).decode()
        assert "Redacted" in renderer(form).render(redacted(document)).decode()


def _measuring(document, measure, low, high):
    changed = {
        "measure": measure,
        "value": Value(low=low, high=high, text=f"{low} to {high} records"),
    }
    return tuple(
        each.model_copy(update={**changed, "unit": "records"}) for each in document.findings
    )


@pytest.mark.parametrize(
    ("low", "high", "is_told"), [(48, 48, False), (0, 30, False), (0, 0, True)]
)
def test_how_many_people_something_is_true_of_is_not_told_as_the_rest_may_be_few(
    document, low, high, is_told
):
    findings = _measuring(document, "certain_disclosure", low, high)
    for finding in redacted(document.model_copy(update={"findings": findings})).findings:
        assert (finding.value.low is not None) == is_told


@pytest.mark.parametrize("asked", [0, 1])
def test_a_policy_that_asks_for_groups_of_one_asks_for_none(document, asked):
    assert (
        smallest_group(document.model_copy(update={"findings": _asking(document, asked)})) == LEAST
    )


@pytest.mark.parametrize("profiles", [4, 48, 50])
def test_profiles_are_not_counted_where_few_people_have_or_share_one(document, profiles):
    people = document.population.model_copy(update={"records": 50, "profiles": profiles})
    assert redacted(document.model_copy(update={"population": people})).population.profiles == 0


@pytest.mark.parametrize("form", FULL)
def test_no_digest_confirms_a_guess_of_the_table_or_of_a_model_that_is_not_published(full, form):
    page = renderer(form).render(redacted(full)).decode()
    given = full.provenance
    assert [each.sha256 for each in (given.table, given.model) if each.sha256 in page] == []


@pytest.mark.parametrize(("leaf", "is_told"), [("as-published", True), ("labels", False)])
def test_the_digest_of_a_model_that_may_be_published_as_it_is_stays(passing, leaf, is_told):
    known = passing.knowledge.model_copy(update={"leaf": leaf})
    kept = redacted(passing.model_copy(update={"knowledge": known})).provenance
    assert bool(kept.model.sha256) == is_told
    assert kept.pack == passing.provenance.pack


def test_changes_that_were_not_audited_were_not_tried(repaired):
    first, *rest = repaired.repair.attempts
    attempts = (first.model_copy(update={"not_audited": "the time was up"}), *rest)
    part = repaired.repair.model_copy(update={"attempts": attempts})
    people = repaired.population.model_copy(update={"records": 50})
    kept = redacted(repaired.model_copy(update={"repair": part, "population": people})).repair
    assert f"{len(rest)} change" in kept.summary
    assert "1 more was not audited" in kept.summary


def _asking(document, limit):
    return tuple(each.model_copy(update={"limit": limit}) for each in document.findings)
