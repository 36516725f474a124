"""Results of the proofs reaches the reader: reasons, swaps, what is open, and the picture."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, only_world, pack_of, people_of
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.judge import judge
from treewarden.reports.building.certain import worlds_part
from treewarden.reports.building.lessons import plots
from treewarden.reports.renderers import renderer

TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
ONLY = only_world(people_of(TREE))
PACK = pack_of(("certain_disclosure", "at_most", 0))


def shown(document, form):
    return " ".join(renderer(form).render(document).decode().split())


def certainty(worlds):
    evidence = evidence_of(TREE, worlds=worlds)
    return plots(audit_of(evidence, PACK).full, judge(audit_of(evidence, PACK), PACK)).certainty


def test_the_counts_are_of_people_and_of_profiles(proved):
    part = proved.worlds
    assert (part.profiles, part.profiles_certain, part.profiles_not_decided) == (4, 1, 1)
    assert (part.records_certain, part.records_not_decided) == (4, 3)
    assert part.summary == (
        "The tree proves the value of 4 of 45 people (8.9 %): it is the same in every consistent table. "
        "For 3 more people this was not decided."
    )


def test_who_is_certain_comes_with_value_reason_and_place(proved):
    (found,) = proved.worlds.certain
    assert (found.profile, found.value, found.node, found.line) == (
        "place = p1",
        "c0",
        "leaf 2",
        11,
    )
    assert found.reason == "with another value, node 7 would have split on chol <= 245"


def test_a_finding_says_profile_path_line_and_reason(proved):
    place = proved.findings[0].where[0]
    assert (place.kind, place.profile, place.path, place.line) == (
        "profile",
        "place = p1",
        "place = p1",
        11,
    )
    assert place.note == "4 people proved to have “c0”: node 7 would have split on chol <= 245"


@pytest.mark.parametrize(
    ("form", "title"),
    [("html", "Proved values"), ("text", "Proved values")],
)
def test_the_reports_tell_certain_from_likely_and_from_open(proved, form, title):
    said = shown(proved, form)
    assert title in said
    assert "proves the value of 4 of 45 people" in said
    assert "The time was used up" in said


def test_a_larger_budget_is_advised_only_where_time_was_lacking(proved, document):
    assert proved.worlds.notes[-1] == "A larger --worlds-budget may decide more."
    assert not any("--worlds-budget" in each for each in document.worlds.notes)


def test_a_witness_is_shown_with_its_swap_and_its_grade(proved):
    said = shown(proved, "html")
    assert "One record of (place = p0) trades c0 for c1." in said
    assert "training on the table gives the same tree" in said


def test_worlds_that_were_not_run_say_so(document):
    assert document.worlds.posterior == "not run"
    assert (
        "It was not decided whose value is proved: the search for proved values was switched off."
        in shown(document, "text")
    )


def test_a_regression_tree_has_no_such_part(regression):
    assert regression.worlds is None
    assert "Proved values" not in shown(regression, "html")


def test_the_picture_has_the_guess_over_all_tables_and_who_is_certain():
    series = certainty(ONLY)
    at_two_thirds = series.worlds[66]
    assert at_two_thirds == pytest.approx((20 + 4 + 3) / 45)
    assert series.certain == pytest.approx(4 / 45)
    assert not series.worlds_are_proved_only


def test_where_the_sampler_gave_up_the_picture_has_what_is_proved():
    unknown = replace(
        ONLY,
        low=np.where(ONLY.counts[:, None] == 4, ONLY.low, 0),
        enumeration=replace(
            ONLY.enumeration, posterior=Undetermined("not estimated: too few samples match")
        ),
    )
    series = certainty(unknown)
    assert series.worlds_are_proved_only
    assert series.worlds[1] == series.worlds[100] == pytest.approx(4 / 45)
    assert worlds_part(evidence_of(TREE, worlds=unknown)).posterior == "gave up"


def test_a_number_of_tables_with_hundreds_of_digits_is_said_shortly():
    numbers = replace(ONLY.enumeration.numbers, worlds=10**400)
    many = replace(ONLY, enumeration=replace(ONLY.enumeration, numbers=numbers))
    told = worlds_part(evidence_of(TREE, worlds=many)).posterior_text
    assert told == "All consistent tables were counted: about 10^400."
