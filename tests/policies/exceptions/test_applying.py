"""Waivers against decisions: what they accept, what they never do, and what is said of the waivers themselves."""

from __future__ import annotations

from dataclasses import replace
from datetime import date, timedelta

import numpy as np
import pytest

from tests.kit.deciding import CLAUSE, DIGEST, SMALL, TODAY, TREE, decided, leaves, told, waivers
from tests.kit.small_audits import audit_of, bounds, evidence_of, flat_tree, pack_of
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.population.population import Population
from treewarden.audit.reading import ADVERSARY, ALONE, MOST_SPOTS, Interval, Undetermined, exactly
from treewarden.policies.clause import Waivers as Settings
from treewarden.policies.exceptions.apply_waivers import (
    WaivedModel,
    accepted,
    unused,
    verdict_of,
)
from treewarden.policies.exceptions.waivers import WaiverFile
from treewarden.policies.judging.decision import ClauseRequirement, LeafNames, WaiverUses
from treewarden.policies.judging.judge import judge
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.column import CategoricalColumn
from treewarden.ppdm_models.tree.tree import Quality

WHOLE = {"digest": f"sha256:{DIGEST}"}
SURE = pack_of(("disclosure", "at_most", 0.8))
COMBINED = ClauseRequirement(measure="any of", unit="leaves")


def waived(decision, model, *changes):
    return accepted(decision, waivers(*changes), model, TODAY).decision


def test_waivers_for_all_leaves_that_break_a_clause_let_it_pass():
    decision, model = decided()
    worst, other = leaves(decision)
    found = waived(decision, model, {"leaf": worst}, {"leaf": other})
    assert (decision.verdict, found.verdict) == (PolicyVerdict.FAIL, PolicyVerdict.PASS)
    assert found.findings[0].verdict is PolicyVerdict.FAIL
    assert found.findings[0].accepted.by == "waiver"
    assert "agreed with the board (A. Owner, T-1; until 2026-01-31; waiver 1 of w.toml)" in (
        found.findings[0].accepted.reason
    )
    assert found.failing == ()


def test_a_leaf_that_nobody_waived_still_fails_the_model():
    decision, model = decided()
    found = waived(decision, model, {"leaf": leaves(decision)[0]})
    assert found.verdict is PolicyVerdict.FAIL
    assert found.findings[0].accepted is None
    assert [place.accepted is None for place in found.findings[0].places] == [False, True]


def test_no_waivers_change_nothing():
    decision, model = decided()
    assert waived(decision, model) == decision


@pytest.mark.parametrize("limit", [2, 5, 50])
def test_the_verdict_is_computed_as_it_was_judged(limit):
    decision, _ = decided(pack_of(("k_anonymity", "at_least", limit)))
    assert verdict_of(decision) is decision.verdict


def test_a_pack_in_which_nothing_counts_stays_undetermined():
    decision, model = decided(pack_of(("k_anonymity", "at_least", 5, "warning")))
    one, other = leaves(decision)
    found = waived(decision, model, {"leaf": one}, {"leaf": other})
    assert found.verdict is PolicyVerdict.UNDETERMINED


def test_a_waiver_of_one_clause_is_none_of_another():
    pack = pack_of(("k_anonymity", "at_least", 5), ("k_anonymity", "at_least", 4))
    decision, model = decided(pack)
    one, other = leaves(decision)
    found = waived(decision, model, {"leaf": one}, {"leaf": other})
    assert found.verdict is PolicyVerdict.FAIL
    assert [f.accepted is None for f in found.findings] == [False, True]


def test_a_waiver_of_a_leaf_covers_all_profiles_that_stop_there():
    tree = flat_tree([[4, 4], [9, 0]])
    columns = {
        "place": CategoricalColumn(np.array([0, 0, 1]), ("p0", "p1")),
        "sex": CategoricalColumn(np.array([0, 1, 0]), ("F", "M")),
    }
    truth = np.array([[4.0, 0.0], [0.0, 4.0], [9.0, 0.0]])
    people = Population(("place", "sex"), columns, truth.sum(axis=1), np.array([1, 1, 2]), truth)
    posterior = bounds([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]], [[0.9, 0.1], [0.1, 0.9], [0.5, 0.5]])
    decision, model = decided(SURE, tree, population=people, posterior=posterior)
    clause = SURE.clauses[0].id
    assert len(decision.findings[0].places) == 2
    (leaf,) = leaves(decision, clause)
    found = waived(decision, model, {"clause": clause, "leaf": leaf})
    assert found.findings[0].accepted is not None
    assert all(place.accepted for place in found.findings[0].places)


@pytest.mark.parametrize("ends", [(0.7, 0.9), (0.85, 0.9)])
def test_what_is_undetermined_is_not_waived_to_a_pass(ends):
    low, high = ends
    posterior = bounds(*([[end, 1 - end]] * 4 for end in (low, high)))
    decision, model = decided(SURE, flat_tree([[9, 1]] * 4), posterior=posterior)
    clause = SURE.clauses[0].id
    each = [{"clause": clause, "leaf": leaf} for leaf in leaves(decision, clause)]
    for found in (
        waived(decision, model, *each),
        waived(decision, model, {"clause": clause, **WHOLE}),
    ):
        is_known = low > 0.8
        assert (found.verdict is PolicyVerdict.PASS) is is_known
        assert told(found) == ([] if is_known else ["waiver-undetermined"])


def test_an_undetermined_leaf_keeps_a_clause_open_whose_failing_leaves_are_all_waived():
    low, high = [[0.9, 0.1], [0.7, 0.3]], [[0.9, 0.1], [0.9, 0.3]]
    decision, model = decided(SURE, flat_tree([[9, 1]] * 2), posterior=bounds(low, high))
    clause = SURE.clauses[0].id
    assert decision.verdict is PolicyVerdict.FAIL
    assert len(leaves(decision, clause)) == 2
    for changes in ([{"leaf": leaf} for leaf in leaves(decision, clause)], [WHOLE]):
        found = waived(decision, model, *({"clause": clause, **each} for each in changes))
        assert found.verdict is PolicyVerdict.FAIL
        assert found.findings[-1].accepted is None


def test_what_could_not_be_told_at_all_is_not_waived():
    decision, model = decided(SURE, posterior=Undetermined("the solver stalled"))
    found = waived(decision, model, {"clause": SURE.clauses[0].id, **WHOLE})
    assert found.verdict is PolicyVerdict.UNDETERMINED
    assert told(found) == ["waiver-undetermined"]


def test_what_is_not_decided_is_accepted_by_a_waiver_that_says_so():
    decision, model = decided(SURE, posterior=Undetermined("the solver stalled"))
    open_ = {"clause": SURE.clauses[0].id, **WHOLE, "undecided": True}
    found = waived(decision, model, open_)
    assert found.verdict is PolicyVerdict.PASS
    (finding,) = found.findings
    assert finding.verdict is PolicyVerdict.UNDETERMINED
    assert finding.accepted.reason.startswith("not decided, and accepted as such: agreed with")
    assert "A. Owner, T-1; until 2026-01-31" in finding.accepted.reason
    late = waived(decision, model, {**open_, "expires": TODAY - timedelta(days=1)})
    assert (late.verdict, told(late)) == (PolicyVerdict.FAIL, ["waiver-expired"])


def test_a_policy_may_forbid_that():
    settings = Settings(undetermined=False)
    strict = SURE.model_copy(update={"waivers": settings})
    assert strict.digest == SURE.digest  # what was written under it stays valid
    decision, model = decided(strict, posterior=Undetermined("the solver stalled"))
    found = waived(decision, model, {"clause": SURE.clauses[0].id, **WHOLE, "undecided": True})
    assert (found.verdict, told(found)) == (PolicyVerdict.UNDETERMINED, ["waiver-undetermined"])


@pytest.mark.parametrize("by_leaf", [True, False])
def test_a_waiver_of_what_is_not_decided_accepts_nothing_that_fails(by_leaf):
    low, high = [[0.9, 0.1], [0.7, 0.3]], [[0.9, 0.1], [0.9, 0.3]]
    decision, model = decided(SURE, flat_tree([[9, 1]] * 2), posterior=bounds(low, high))
    clause = SURE.clauses[0].id
    targets = [{"leaf": leaf} for leaf in leaves(decision, clause)] if by_leaf else [WHOLE]
    changes = [{"clause": clause, "undecided": True, **target} for target in targets]
    found = waived(decision, model, *changes)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["waiver-outgrown"])
    assert found.findings[-1].accepted is None
    assert sum(place.accepted is not None for place in found.findings[-1].places) == by_leaf


def test_a_file_that_the_table_contradicts_is_never_waived():
    evidence = evidence_of(TREE)
    dropped = DroppedRow("leaf_label", "tree: node 'leaf 1'", "says 5, the table has 4", True)
    decision = judge(audit_of(evidence, SMALL, (dropped,)), SMALL)
    assert decision.findings[0].clause == "table-agrees"
    model = WaivedModel(DIGEST, "tree.pmml", LeafNames(evidence).with_people)
    found = waived(decision, model, {"clause": "table-agrees", **WHOLE})
    assert "waiver-unknown" in told(found)
    assert "cannot be waived" in found.findings[0].message
    assert all(f.accepted is None for f in found.findings)
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    assert waived(decision, model, *each).verdict is PolicyVerdict.UNDETERMINED


def test_a_clause_called_like_a_doubt_does_not_let_the_doubt_be_waived():
    clause = SMALL.clauses[0].model_copy(update={"id": "file-agrees", "limit": 1.0})
    pack = SMALL.model_copy(update={"clauses": (clause,)})
    decision, model = decided(pack, replace(TREE, quality=Quality.INCONSISTENT))
    assert decision.findings[0].requirement.measure == ""
    found = waived(decision, model, {"clause": "file-agrees", **WHOLE})
    assert found.verdict is PolicyVerdict.UNDETERMINED
    assert all(f.accepted is None for f in found.findings)


def test_places_that_may_have_been_cut_are_never_all():
    decision, model = decided()
    finding = decision.findings[0]
    many = tuple(finding.places[0] for _ in range(MOST_SPOTS))
    cut = replace(decision, findings=(replace(finding, places=many),))
    assert waived(cut, model, {"leaf": many[0].leaf}).verdict is PolicyVerdict.FAIL
    assert waived(cut, model, WHOLE).verdict is PolicyVerdict.PASS


def test_a_reading_that_the_leaves_do_not_account_for_is_not_waived_by_leaf():
    decision, model = decided()
    worse = replace(decision.findings[0], reading=exactly(2.0))
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    found = waived(replace(decision, findings=(worse,)), model, *each)
    assert (found.verdict, found.findings[0].accepted) == (PolicyVerdict.FAIL, None)


@pytest.mark.parametrize(
    ("reading", "verdict"), [(7.0, PolicyVerdict.PASS), (8.0, PolicyVerdict.FAIL)]
)
def test_a_sum_over_people_is_waived_by_leaf_only_where_the_leaves_are_all_of_it(reading, verdict):
    decision, model = decided()
    finding = decision.findings[0]
    requirement = replace(finding.requirement, rule="at_most", limit=0.0)
    summed = replace(finding, requirement=requirement, reading=exactly(reading))
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    assert waived(replace(decision, findings=(summed,)), model, *each).verdict is verdict


@pytest.mark.parametrize("low", [float("nan"), float("-inf")])
def test_a_place_that_reads_no_number_is_not_waived(low):
    decision, model = decided()
    finding = decision.findings[0]
    odd = replace(finding.places[0], low=low, high=float("nan"))
    found = replace(decision, findings=(replace(finding, places=(odd,)),))
    assert waived(found, model, {"leaf": odd.leaf}).verdict is PolicyVerdict.FAIL


def test_an_infinite_reading_can_be_waived():
    decision, model = decided()
    finding = decision.findings[0]
    one = replace(finding.places[0], low=np.inf, high=np.inf)
    requirement = replace(finding.requirement, rule="at_most")
    unbounded = Interval(np.inf, np.inf)
    summed = replace(finding, requirement=requirement, reading=unbounded, places=(one,))
    found = waived(replace(decision, findings=(summed,)), model, {"leaf": one.leaf})
    assert found.verdict is PolicyVerdict.PASS


def test_a_place_in_no_leaf_is_no_waivers():
    decision, model = decided()
    finding = decision.findings[0]
    nowhere = tuple(replace(place, leaf="") for place in finding.places)
    found = replace(decision, findings=(replace(finding, places=nowhere),))
    assert waived(found, model, {"leaf": leaves(decision)[0]}).verdict is PolicyVerdict.FAIL
    assert waived(found, model, WHOLE).verdict is PolicyVerdict.PASS


def test_a_clause_without_places_is_waived_by_the_digest_of_the_model_alone():
    pack = pack_of(("guess_accuracy", "at_most", 0.1))
    decision, model = decided(pack)
    clause = pack.clauses[0].id
    assert decision.findings[0].places == ()
    found = waived(decision, model, {"clause": clause, **WHOLE})
    assert (found.verdict, told(found)) == (PolicyVerdict.PASS, [])
    other = replace(model, digest="cd" * 32)
    again = waived(decision, other, {"clause": clause, **WHOLE})
    assert (again.verdict, told(again)) == (PolicyVerdict.FAIL, ["waiver-unused"])


def test_a_whole_model_is_not_waived_where_some_leaves_break_a_clause_and_these_are_named():
    decision, model = decided()
    found = waived(decision, model, WHOLE)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["waiver-over-broad"])
    assert all(leaf in found.findings[0].message for leaf in leaves(decision))
    assert found.findings[1].accepted is None


def test_a_whole_model_is_waived_where_every_leaf_breaks_the_clause():
    decision, model = decided(pack_of(("k_anonymity", "at_least", 100)))
    found = waived(decision, model, WHOLE)
    assert (found.verdict, told(found)) == (PolicyVerdict.PASS, [])


@pytest.mark.parametrize("days", [0, 1])
def test_a_waiver_holds_to_the_end_of_its_last_day(days):
    decision, model = decided()
    each = [{"leaf": leaf, "expires": TODAY} for leaf in leaves(decision)]
    found = accepted(decision, waivers(*each), model, TODAY + timedelta(days=days)).decision
    assert found.verdict is (PolicyVerdict.FAIL if days else PolicyVerdict.PASS)
    assert told(found) == (["waiver-expired"] if days else [])


def test_an_expired_waiver_is_an_error_even_where_nothing_breaks():
    decision, model = decided(pack_of(("k_anonymity", "at_least", 2)))
    leaf = sorted(model.leaves)[0]
    found = waived(decision, model, {"leaf": leaf, "expires": date(2025, 12, 31)})
    assert found.verdict is PolicyVerdict.FAIL
    assert "ask its owner, A. Owner (T-1)" in found.findings[0].message


@pytest.mark.parametrize(
    ("changes", "kind"),
    [
        ({"clause": "0-k-anonymity"}, "waiver-unknown"),
        ({"leaf": "f" * 24}, "waiver-unknown"),
        ({"leaf": "f" * 24, "clause": "x"}, "waiver-unknown"),
        (WHOLE, "waiver-contradicts-itself"),
        ({"granted": TODAY + timedelta(days=1)}, "waiver-contradicts-itself"),
        ({"granted": date(2026, 1, 1), "expires": date(2025, 12, 31)}, "waiver-contradicts-itself"),
        ({"expires": date(2025, 12, 31)}, "waiver-expired"),
    ],
)
def test_a_waiver_that_is_not_in_order_accepts_nothing_and_is_an_error(changes, kind):
    decision, model = decided()
    one, other = leaves(decision)
    found = waived(decision, model, {"leaf": one, **changes}, {"leaf": other})
    assert told(found) == [kind]
    assert found.findings[0].severity == "error"
    assert found.verdict is PolicyVerdict.FAIL
    assert found.findings[1].places[0].accepted is None


def test_a_renamed_clause_is_no_longer_waived():
    decision, model = decided()
    clause = SMALL.clauses[0].model_copy(update={"id": "renamed"})
    renamed, _ = decided(SMALL.model_copy(update={"clauses": (clause,)}))
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    found = waived(renamed, model, *each)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["waiver-unknown"])
    assert found.findings[1].accepted is None


def test_a_waiver_that_nothing_needs_is_a_warning():
    decision, model = decided(pack_of(("k_anonymity", "at_least", 2)))
    found = waived(decision, model, {"leaf": sorted(model.leaves)[0]})
    assert (found.verdict, told(found)) == (PolicyVerdict.PASS, ["waiver-unused"])
    assert found.findings[0].severity == "warning"


def learned(decision, of, verdict=PolicyVerdict.FAIL):
    """Return a decision with one more finding of its clause, of somebody else."""
    finding = replace(decision.findings[0], of=of, verdict=verdict, places=())
    return replace(decision, findings=(*decision.findings, finding))


@pytest.mark.parametrize("target", [WHOLE, {}])
@pytest.mark.parametrize(
    ("of", "verdict", "is_told"),
    [
        (ADVERSARY.format("friend"), PolicyVerdict.FAIL, "waiver-out-of-reach"),
        (ADVERSARY.format("friend"), PolicyVerdict.UNDETERMINED, "waiver-out-of-reach"),
        (ADVERSARY.format("friend"), PolicyVerdict.PASS, "waiver-unused"),
        (ALONE.format("v1.pmml"), PolicyVerdict.FAIL, "waiver-unused"),
    ],
)
def test_a_waiver_that_only_an_adversary_would_need_is_out_of_reach(target, of, verdict, is_told):
    decision, model = decided(pack_of(("k_anonymity", "at_least", 2)))
    found = waived(
        learned(decision, of, verdict), model, target or {"leaf": sorted(model.leaves)[0]}
    )
    assert told(found) == [is_told]
    assert found.findings[0].severity == "warning"
    assert found.findings[-1].accepted is None
    assert found.verdict is verdict


def test_a_waiver_that_is_out_of_reach_is_as_grave_as_one_that_nothing_needs():
    pack = pack_of(("k_anonymity", "at_least", 2))
    pack = pack.model_copy(update={"waivers": Settings(unused="error")})
    decision, model = decided(pack)
    found = waived(learned(decision, ADVERSARY.format("friend")), model, WHOLE)
    assert (told(found), found.findings[0].severity) == (["waiver-out-of-reach"], "error")


def test_a_waiver_out_of_the_reach_of_one_of_many_models_is_not_told_to_be_unused():
    decision, model = decided(pack_of(("k_anonymity", "at_least", 2)))
    many, given = replace(model, is_one_of_many=True), waivers(WHOLE)
    done = accepted(learned(decision, ADVERSARY.format("friend")), given, many, TODAY)
    assert told(done.decision) == ["waiver-out-of-reach"]
    assert unused(given, [done.uses], TODAY) == ()


def test_a_leaf_of_a_retrained_tree_with_another_path_is_not_waived():
    decision, model = decided()
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    other = flat_tree([[14, 6], [9, 9], [20, 1], [2, 1], [3, 1]])
    again, retrained = decided(tree=other)
    found = waived(again, retrained, *each)
    assert found.verdict is PolicyVerdict.FAIL
    assert all(place.accepted is None for place in found.findings[-1].places)


def test_a_target_of_another_name_is_not_waived():
    decision, model = decided()
    each = [{"leaf": leaf} for leaf in leaves(decision)]
    again, other = decided(tree=replace(TREE, target="income"))
    found = waived(again, other, *each)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["waiver-unknown"])


@pytest.mark.parametrize(
    ("worst", "verdict"), [(3.0, PolicyVerdict.PASS), (4.0, PolicyVerdict.FAIL)]
)
def test_a_leaf_that_grew_worse_than_what_was_waived_counts_again(worst, verdict):
    decision, model = decided()
    each = [{"leaf": leaf, "worst": worst} for leaf in leaves(decision)]
    found = waived(decision, model, *each)
    assert found.verdict is verdict
    assert told(found) == ([] if verdict is PolicyVerdict.PASS else ["waiver-outgrown"])


def test_a_waiver_for_another_model_is_left_alone():
    decision, model = decided()
    each = [{"leaf": leaf, "model": "other"} for leaf in leaves(decision)]
    found = waived(decision, model, *each)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, [])
    named = [{"leaf": leaf, "model": "tree.pmml"} for leaf in leaves(decision)]
    assert waived(decision, model, *named).verdict is PolicyVerdict.PASS


def test_over_many_models_what_no_model_needs_is_told_once_at_the_end():
    decision, model = decided()
    many = replace(model, is_one_of_many=True)
    one, other = leaves(decision)
    given = waivers(
        {"leaf": one},
        {"leaf": other},
        {"leaf": "f" * 24},
        {"leaf": "e" * 24, "expires": date(2025, 12, 31)},
        {"leaf": "d" * 24, "model": "tree.pmml"},
        {"leaf": one, "model": "third"},
    )
    first = accepted(decision, given, many, TODAY)
    second = accepted(decision, given, replace(many, name="second", leaves=frozenset()), TODAY)
    assert (first.uses, second.uses) == (
        WaiverUses(frozenset({1, 2}), frozenset({5})),
        WaiverUses(),
    )
    assert told(first.decision) == ["waiver-unknown"]
    assert told(second.decision) == []
    left = unused(given, [first.uses, second.uses], TODAY)
    assert [(each.waiver.number, each.finding) for each in left] == [
        (3, "waiver-unused"),
        (4, "waiver-expired"),
        (6, "waiver-unused"),
    ]


def test_over_many_models_an_expired_waiver_of_a_leaf_without_people_is_not_applied():
    decision, model = decided()
    one, other = leaves(decision)
    empty = replace(model, is_one_of_many=True, leaves=model.leaves - {one})
    given = waivers({"leaf": one, "expires": date(2025, 12, 31)}, {"leaf": other})
    found = accepted(decision, given, empty, TODAY)
    assert found.decision.verdict is PolicyVerdict.FAIL
    assert found.decision.findings[-1].places[0].accepted is None


def test_no_waiver_is_unused_where_there_is_none():
    assert unused(WaiverFile("w.toml"), [], TODAY) == ()


def test_a_finding_about_waivers_is_never_waived():
    decision, model = decided()
    clause = SMALL.clauses[0].model_copy(update={"id": "waiver-expired", "limit": 1.0})
    pack = SMALL.model_copy(update={"clauses": (*SMALL.clauses, clause)})
    decision, model = decided(pack)
    one, other = leaves(decision)
    given = (
        {"leaf": one, "expires": date(2025, 12, 31)},
        {"leaf": other},
        {"clause": "waiver-expired", **WHOLE},
    )
    found = waived(decision, model, *given)
    assert found.verdict is PolicyVerdict.FAIL
    about = next(
        f for f in found.findings if f.clause == "waiver-expired" and not f.requirement.measure
    )
    assert about.accepted is None


def test_the_clause_of_these_tests_is_the_one_of_the_pack():
    assert CLAUSE in {finding.clause for finding in decided()[0].findings}


def combined(decision, notes=("k_anonymity 3 records", "k_anonymity 4 records")):
    """Return a decision whose clause several measures make up: what is read is how many places break it."""
    finding = decision.findings[0]
    places = tuple(
        replace(place, low=1.0, high=1.0, note=note)
        for place, note in zip(finding.places, notes, strict=True)
    )
    made = replace(finding, requirement=COMBINED, reading=exactly(2), places=places)
    return replace(decision, findings=(made,))


def test_a_clause_of_several_measures_is_waived_leaf_by_leaf():
    decision, model = decided()
    one, other = leaves(decision)
    assert (
        waived(combined(decision), model, {"leaf": one}, {"leaf": other}).verdict
        is PolicyVerdict.PASS
    )
    assert waived(combined(decision), model, {"leaf": one}).verdict is PolicyVerdict.FAIL


def test_an_open_place_of_a_clause_of_several_measures_is_not_waived():
    decision, model = decided()
    one, other = leaves(decision)
    found = combined(decision)
    open_ = replace(found.findings[0].places[0], low=0.0)
    places = (open_, found.findings[0].places[1])
    found = replace(found, findings=(replace(found.findings[0], places=places),))
    assert waived(found, model, {"leaf": one}, {"leaf": other}).verdict is PolicyVerdict.FAIL


def test_a_clause_of_several_measures_is_not_held_against_one_number():
    decision, model = decided()
    each = [{"leaf": leaf, "worst": 1.0} for leaf in leaves(decision)]
    assert waived(combined(decision), model, *each).verdict is PolicyVerdict.FAIL
