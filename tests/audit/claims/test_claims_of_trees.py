"""What trees claim one by one is what the whole is held to, and nothing that the owner says replaces it."""

from dataclasses import replace

import pytest

from tests.judges.drawn_labels import claim, labelled_forest, people_in
from treewarden.audit.claims.judge_claim import judge_claim
from treewarden.audit.claims.result import ClaimOutcome, judge_findings
from treewarden.audit.population.forest import forest_of
from treewarden.jobs.declared import claimed
from treewarden.jobs.inspecting import facts
from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.files.load import load_model, writers
from treewarden.ppdm_models.semantics.describe import describe
from treewarden.ppdm_models.tree.ensemble import claim_of, with_claim
from treewarden.ppdm_models.tree.privacy_claim import (
    BoundsOrigin,
    LabelMechanism,
    TreeRecords,
    read_claim,
)

PLACES = [[30, 25], [24, 24], [40, 20]]
LABELS = [(0, 0)] * 3
MECHANISM = "mechanism=permute-and-flip-monotonic"
INDEPENDENT = f"{MECHANISM}, splits=independent, bounds=public"
PRIVATE = f"{MECHANISM}, splits=private, label_epsilon=0.2, bounds=public"
WHOLE = f"{INDEPENDENT}, label_epsilon=0.5, trees=all"
TABLE = INDEPENDENT.replace("public", "table")


def forest_claiming(*words):
    """Return a forest with the claim of each tree; "" is a tree without one."""
    groups = [(0, 1, 1), (0, 0, 1), (1, 0, 1)][: len(words)]
    forest = labelled_forest(PLACES, groups, LABELS[: len(words)], None)
    members = [
        replace(member, model=with_claim(member.model, read_claim(said, "the file")))
        if said
        else member
        for member, said in zip(forest.members, words, strict=True)
    ]
    return replace(forest, members=tuple(members))


def judged(model):
    people = people_in(PLACES)
    return judge_claim(forest_of(model, people), people, ())


@pytest.mark.parametrize("form", ["", "pmml"])
@pytest.mark.parametrize(
    "words",
    [
        (f"epsilon=10, {TABLE}", ""),
        (f"epsilon=10, {TABLE}", f"epsilon=9, {TABLE}"),
        (f"epsilon=10, {WHOLE}", f"epsilon=9, {WHOLE}"),
        (f"epsilon=10, {PRIVATE}", f"epsilon=10, {PRIVATE}", f"epsilon=10, {PRIVATE}"),
    ],
)
def test_an_owner_replaces_nothing_that_single_trees_say(words, form):
    model = forest_claiming(*words)
    if form:
        model = load_model(writers()[form].write(model), "again")
    with pytest.raises(KnowledgeError, match="claims: epsilon is 1.0, and the file says"):
        claimed(model, f"epsilon=1, {WHOLE}")


def test_a_tree_without_a_claim_leaves_the_whole_without_one():
    found = judged(forest_claiming(f"epsilon=1, {WHOLE}", ""))
    verdict = judge_findings(found)
    assert verdict.outcome is ClaimOutcome.UNDETERMINED
    assert verdict.reason.startswith("1 of its 2 trees makes no claim of differential privacy")
    stated = claimed(forest_claiming(f"epsilon=1, {WHOLE}", ""), "epsilon=1, trees=all")
    assert judge_findings(judged(stated)) == verdict


@pytest.mark.parametrize("bad", [f"epsilon=10, {TABLE}", f"epsilon=10, {INDEPENDENT}, seed=known"])
def test_one_void_tree_voids_the_whole(bad):
    found = judged(forest_claiming(f"epsilon=1, {INDEPENDENT}", bad))
    assert judge_findings(found).outcome is ClaimOutcome.VOID
    assert found.claim.epsilon == 11


def test_epsilons_of_trees_that_claim_by_themselves_add_up():
    model = forest_claiming(*[f"epsilon=0.1, {INDEPENDENT}"] * 3)
    found = claim_of(model)
    assert (found.epsilon, found.label_epsilon) == (0.3, 0.1)
    assert "which records each tree was trained on" in judge_findings(judged(model)).reason
    whole = judged(claimed(model, "trees=all"))
    assert judge_findings(whole).outcome is ClaimOutcome.NOT_REFUTED
    assert whole.claim.epsilon == 0.3
    assert not found.producer.unevaluated


def test_a_claim_of_the_whole_is_not_added_up():
    model = forest_claiming(*[f"epsilon=1, {WHOLE}"] * 2)
    assert claim_of(model).epsilon == 1
    assert judge_findings(judged(model)).outcome is ClaimOutcome.NOT_REFUTED
    stated = claimed(forest_claiming("", ""), f"epsilon=1, {INDEPENDENT}, label_epsilon=0.5")
    assert claim_of(stated).epsilon == 1


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (INDEPENDENT.replace("permute-and-flip", "exponential"), "the mechanism of their labels"),
        (PRIVATE.replace("0.2", "1"), "how their splits were chosen"),
        (f"unit=person, {INDEPENDENT}", "whom the claim protects"),
    ],
)
def test_trees_that_were_drawn_differently_are_not_judged_as_one(other, said):
    model = forest_claiming(f"epsilon=1, {INDEPENDENT}", f"epsilon=1, {other}")
    stated = claimed(model, "trees=all")
    verdict = judge_findings(judged(stated))
    assert verdict.outcome is ClaimOutcome.UNDETERMINED
    assert said in verdict.reason


def test_what_is_not_known_of_one_tree_is_not_known_of_the_whole():
    found = claim_of(forest_claiming(f"epsilon=1, {INDEPENDENT}", "epsilon=2"))
    assert found.bounds_origin is BoundsOrigin.UNKNOWN
    assert found.mechanism is LabelMechanism.UNKNOWN
    assert found.trees is TreeRecords.UNKNOWN


def inspected(model):
    return dict(facts({**describe(model), "producer": "", "format": ""}))["claims"]


def test_inspect_says_what_each_tree_claims():
    model = forest_claiming(f"epsilon=10, {TABLE}", "", "")
    said = inspected(model)
    assert "epsilon=10.0" in said
    assert "void, because its bounds or classes were read from the table" in said
    assert "2 of its 3 trees make no claim" in said
    assert "1 tree claims epsilon=10.0" in said
    assert "2 trees claim nothing" in said
    same = forest_claiming(*[f"epsilon=1, {WHOLE}"] * 2)
    assert "trees claim" not in inspected(same)


def test_every_tree_of_a_claim_of_the_whole_says_it_in_its_file():
    said = claim(1.0, WHOLE)
    model = with_claim(forest_claiming("", ""), said)
    again = load_model(writers()["pmml"].write(model), "again")
    assert claim_of(again).words == said.words
