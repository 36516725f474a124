"""Baselines: what they hold, what they hide, and what they never do."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pytest

from tests.kit.deciding import CLAUSE, SMALL, TODAY, TREE, decided, leaves, told, waivers
from tests.kit.small_audits import audit_of, bounds, evidence_of, flat_tree, pack_of
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel
from treewarden.audit.knowledge.statement import Statement
from treewarden.audit.reading import (
    ADVERSARY,
    ALONE,
    MOST_SPOTS,
    WITH_OTHERS,
    Interval,
    Undetermined,
    exactly,
)
from treewarden.policies.exceptions.apply_waivers import accepted
from treewarden.policies.exceptions.baseline import (
    SCHEMA,
    Baseline,
    circumstances,
    held_against,
    model_baseline,
    read_baseline,
    write_baseline,
)
from treewarden.policies.judging.decision import ClauseRequirement, PlaceGroup
from treewarden.policies.judging.judge import judge
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.errors import BaselineError

SURE = pack_of(("disclosure", "at_most", 0.8))
COMBINED = ClauseRequirement(measure="any of", unit="leaves")
QI = ("age", "sex")


def under(decision, target="illness", qi=QI, knowledge=None):
    return circumstances(decision, target, qi, knowledge or Knowledge())


def baseline_of(decision, name="tree", **more):
    """Return the baseline of a decision, written and read again."""
    data = write_baseline({name: model_baseline(decision, under(decision, **more))})
    return read_baseline(data, "b.json")


def held(decision, baseline, name="tree", **more):
    return held_against(decision, baseline, name, under(decision, **more))


def test_what_was_known_and_is_the_same_does_not_count():
    decision, _ = decided()
    found = held(decision, baseline_of(decision))
    assert (decision.verdict, found.verdict) == (PolicyVerdict.FAIL, PolicyVerdict.PASS)
    assert found.findings[0].accepted.by == "baseline"
    assert all(place.accepted.by == "baseline" for place in found.findings[0].places)


@pytest.mark.parametrize(
    ("now", "verdict"),
    [
        ([[14, 6], [4, 0], [2, 1], [9, 9]], PolicyVerdict.PASS),
        ([[14, 6], [4, 1], [2, 1], [9, 9]], PolicyVerdict.PASS),
        ([[14, 6], [4, 0], [2, 2], [9, 9]], PolicyVerdict.PASS),
        ([[14, 6], [9, 9], [9, 1], [9, 9]], PolicyVerdict.PASS),
        ([[14, 6], [3, 0], [2, 1], [9, 9]], PolicyVerdict.FAIL),
        ([[14, 6], [4, 0], [1, 1], [9, 9]], PolicyVerdict.FAIL),
        ([[14, 6], [4, 0], [2, 1], [2, 2]], PolicyVerdict.FAIL),
        ([[14, 6], [9, 9], [2, 1], [4, 0]], PolicyVerdict.FAIL),
    ],
)
def test_a_smaller_group_is_never_hidden_nor_a_leaf_that_was_fine(now, verdict):
    before, _ = decided()
    decision, _ = decided(tree=flat_tree(now))
    assert held(decision, baseline_of(before)).verdict is verdict


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.85, 0.9, PolicyVerdict.PASS),
        (0.82, 0.88, PolicyVerdict.PASS),
        (0.85, 0.91, PolicyVerdict.FAIL),
        (0.86, 0.9, PolicyVerdict.FAIL),
        (0.7, 0.9, PolicyVerdict.UNDETERMINED),
    ],
)
def test_an_end_that_moved_toward_danger_is_never_hidden(low, high, verdict):
    def sure(*ends):
        return bounds(*([[end, 1 - end]] for end in ends))

    before, _ = decided(SURE, flat_tree([[9, 1]]), posterior=sure(0.85, 0.9))
    now, _ = decided(SURE, flat_tree([[9, 1]]), posterior=sure(low, high))
    assert held(now, baseline_of(before)).verdict is verdict


@pytest.mark.parametrize(
    ("before", "now", "verdict"),
    [
        (Interval(0.7, 0.9), Interval(0.7, 0.9), PolicyVerdict.PASS),
        (Interval(0.7, 0.9), Interval(0.75, 0.85), PolicyVerdict.UNDETERMINED),
        (Interval(0.7, 0.9), Undetermined("stalled"), PolicyVerdict.UNDETERMINED),
        (Undetermined("stalled"), Interval(0.7, 0.9), PolicyVerdict.UNDETERMINED),
        (Undetermined("stalled"), Undetermined("stalled again"), PolicyVerdict.PASS),
        (Interval(0.9, 0.9), Undetermined("stalled"), PolicyVerdict.UNDETERMINED),
        (Interval(0.9, 0.9), Interval(0.7, 0.9), PolicyVerdict.UNDETERMINED),
    ],
)
def test_the_undetermined_is_hidden_only_where_it_was_undetermined_and_no_better(
    before, now, verdict
):
    def read(reading):
        if isinstance(reading, Undetermined):
            return reading
        return bounds([[reading.low, 0.1]], [[reading.high, 0.1]])

    was, _ = decided(SURE, flat_tree([[9, 1]]), posterior=read(before))
    is_, _ = decided(SURE, flat_tree([[9, 1]]), posterior=read(now))
    assert held(is_, baseline_of(was)).verdict is verdict


def test_of_the_same_files_nothing_is_new_but_what_was_open_or_waived_then():
    """A search that is limited by time finds more in one run than in another."""

    def held_of(before, now, inputs):
        data = write_baseline({"tree": model_baseline(before, under(before), "a")})
        return held_against(now, read_baseline(data, "b"), "tree", under(now), inputs).verdict

    before, model = decided()
    now, _ = decided(tree=flat_tree([[14, 6], [3, 0], [2, 1], [2, 2]]))
    assert held_of(before, now, "a") is PolicyVerdict.PASS
    assert held_of(before, now, "b") is PolicyVerdict.FAIL
    assert held_of(before, now, "") is PolicyVerdict.FAIL
    waived = accepted(before, waivers({"leaf": leaves(before)[0]}), model, TODAY).decision
    assert held_of(waived, before, "a") is PolicyVerdict.FAIL
    finding = before.findings[0]
    undecided = replace(finding, verdict=PolicyVerdict.UNDETERMINED)
    assert held_of(replace(before, findings=(undecided,)), now, "a") is PolicyVerdict.FAIL


def test_more_profiles_of_a_leaf_are_worse():
    decision, _ = decided()
    finding = decision.findings[0]
    twice = replace(finding, places=(*finding.places, finding.places[0]))
    found = held(replace(decision, findings=(twice,)), baseline_of(decision))
    assert found.verdict is PolicyVerdict.FAIL


def test_a_reading_of_the_whole_that_grew_worse_is_never_hidden():
    before, _ = decided(pack_of(("guess_accuracy", "at_most", 0.1)))
    finding = before.findings[0]
    worse = exactly(finding.reading.high + 0.001)
    now = replace(before, findings=(replace(finding, reading=worse),))
    assert held(before, baseline_of(before)).verdict is PolicyVerdict.PASS
    assert held(now, baseline_of(before)).verdict is PolicyVerdict.FAIL


def test_places_that_may_have_been_cut_are_never_all():
    decision, _ = decided()
    finding = decision.findings[0]
    many = replace(finding, places=(finding.places[0],) * MOST_SPOTS)
    cut = replace(decision, findings=(many,))
    assert held(cut, baseline_of(cut)).verdict is PolicyVerdict.FAIL


def cut(decision, *groups):
    """Return a decision whose finding has more places than are listed, all of them counted in groups."""
    finding = decision.findings[0]
    many = replace(finding, places=(finding.places[0],) * MOST_SPOTS, groups=groups)
    return replace(decision, findings=(many,))


def test_where_places_were_cut_all_are_counted_and_none_may_be_worse():
    decision, _ = decided()
    leaf = decision.findings[0].places[0].leaf
    known = PlaceGroup(leaf, 1200, PolicyVerdict.FAIL, 0.9, 1.0)
    other = replace(known, leaf="0" * 24, places=7)
    baseline = baseline_of(cut(decision, known, other))
    found = held(cut(decision, known, other), baseline)
    assert found.verdict is PolicyVerdict.PASS
    assert found.findings[0].accepted.by == "baseline"
    for better in ((known,), (replace(known, places=1100, low=0.95), other)):
        assert held(cut(decision, *better), baseline).verdict is PolicyVerdict.PASS
    for worse in (
        (replace(known, places=1201), other),
        (replace(known, low=0.8), other),
        (replace(known, verdict=PolicyVerdict.UNDETERMINED), other),
        (replace(known, notes=("another",)), other),
        (known, other, replace(other, leaf="1" * 24)),
        (known, replace(other, leaf="profiles 0")),
        (),
    ):
        assert held(cut(decision, *worse), baseline).verdict is PolicyVerdict.FAIL


def test_where_places_were_cut_people_in_no_leaf_are_known_of_adversaries_alone():
    decision, _ = decided()
    people = PlaceGroup("profiles 0", 1200, PolicyVerdict.FAIL, 0.9, 1.0)
    plain, of_one = cut(decision, people), cut(of_somebody(decision), people)
    assert held(plain, baseline_of(plain)).verdict is PolicyVerdict.FAIL
    assert held(of_one, baseline_of(of_one)).verdict is PolicyVerdict.PASS


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"target": "income"}, "target"),
        ({"qi": ("age",)}, "set of quasi-identifiers"),
        ({"knowledge": Knowledge(leaf=LeafLevel.LABELS)}, "knowledge of the adversary"),
        ({"knowledge": Knowledge(facts=(Statement(says="P(a) = 1"),))}, "knowledge"),
    ],
)
def test_another_target_or_knowledge_hides_nothing_and_is_said(changes, word):
    decision, _ = decided()
    found = held(decision, baseline_of(decision), **changes)
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["baseline-other-audit"])
    assert word in found.findings[0].message


def test_another_policy_hides_nothing_and_is_said():
    before, _ = decided()
    clause = SMALL.clauses[0].model_copy(update={"limit": 4.5})
    decision, _ = decided(SMALL.model_copy(update={"clauses": (clause,)}))
    found = held(decision, baseline_of(before))
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["baseline-other-audit"])


def test_another_model_hides_nothing_and_is_noted():
    decision, _ = decided()
    found = held(decision, baseline_of(decision), name="other")
    assert (found.verdict, told(found)) == (PolicyVerdict.FAIL, ["baseline-other-model"])
    assert found.findings[0].severity == "note"


def test_what_is_about_the_evidence_is_neither_written_nor_hidden():
    dropped = DroppedRow("leaf_label", "tree: node 'leaf 1'", "says 5, the table has 4", True)
    decision = judge(audit_of(evidence_of(TREE), SMALL, (dropped,)), SMALL)
    baseline = baseline_of(decision)
    assert {each.clause for each in baseline.models["tree"].findings} == {CLAUSE}
    found = held(decision, baseline)
    assert found.verdict is PolicyVerdict.UNDETERMINED
    assert found.findings[0].accepted is None


def test_what_is_waived_is_no_part_of_a_baseline_and_comes_back_when_the_waiver_ends():
    decision, model = decided()
    one, other = leaves(decision)
    given = waivers({"leaf": one}, {"leaf": other})
    waived = accepted(decision, given, model, TODAY).decision
    assert baseline_of(waived).models["tree"].findings == ()
    some = accepted(decision, waivers({"leaf": one}), model, TODAY).decision
    baseline = baseline_of(some)
    assert {each.leaf for each in baseline.models["tree"].findings} == {"", other}
    assert held(some, baseline).verdict is PolicyVerdict.PASS
    assert held(some, baseline).findings[0].accepted.by == "waiver"
    later = accepted(decision, waivers({"leaf": one}), model, TODAY + timedelta(days=99)).decision
    assert held(later, baseline).verdict is PolicyVerdict.FAIL
    assert held(decision, baseline).verdict is PolicyVerdict.FAIL


def test_a_baseline_is_the_same_for_the_same_models_and_says_that_it_is_confidential():
    decision, _ = decided()
    one = model_baseline(decision, under(decision))
    data = write_baseline({"b": one, "a": one})
    assert data == write_baseline({"a": one, "b": one})
    said = json.loads(data)
    assert said["schema"] == SCHEMA
    assert said["confidential"].startswith("Confidential")


def test_a_baseline_holds_no_profile_and_no_fact_about_anybody():
    knowledge = Knowledge(facts=(Statement(says="P(flu | sex = F) = 0.2"),))
    decision, _ = decided(SURE)
    data = write_baseline({"m": model_baseline(decision, under(decision, knowledge=knowledge))})
    profiles = [place.profile for finding in decision.findings for place in finding.places]
    assert profiles
    assert not any(profile in data.decode() for profile in profiles)
    assert b"sex = F" not in data


def test_infinite_readings_are_written_and_read():
    decision, _ = decided()
    finding = decision.findings[0]
    odd = replace(finding, reading=Interval(float("-inf"), float("inf")))
    baseline = baseline_of(replace(decision, findings=(odd,)))
    assert baseline.models["tree"].findings[0].reading == odd.reading


def test_names_that_utf_8_cannot_say_are_written_all_the_same():
    decision, _ = decided()
    baseline = baseline_of(decision, name="m\udc80", target="\ud800")
    assert held(decision, baseline, name="m\udc80", target="\ud800").verdict is PolicyVerdict.PASS


def written(**changes):
    """Return a baseline as plain values, with changes to its first finding."""
    decision, _ = decided()
    said = json.loads(write_baseline({"tree": model_baseline(decision, under(decision))}))
    said["models"]["tree"]["findings"][1] |= changes
    return said


def test_a_baseline_that_was_changed_by_hand_is_refused():
    data = json.dumps(written(low=1.0)).encode()
    with pytest.raises(BaselineError, match=r"b\.json: was changed after it was written"):
        read_baseline(data, "b.json")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"low": float("nan")}, "NaN is not a number of JSON"),
        ({"low": float("inf")}, "Infinity is not a number"),
        ({"low": None}, "'low' and 'high' must both be given"),
        ({"low": 9.0, "high": 1.0}, "'low' is above 'high'"),
        ({"low": "inf", "high": 1.0}, "'low' is above 'high'"),
        ({"low": True}, "models.tree.findings.1.low"),
        ({"low": "nan"}, "models.tree.findings.1.low"),
        ({"low": 10**400, "high": 10**400}, "models.tree.findings.1|too large"),
        ({"verdict": "pass"}, "'fail' or 'undetermined'"),
        ({"places": -1}, "places"),
        ({"more": 1}, "extra inputs are not permitted"),
        ({"leaf": ""}, "a check occurs twice for one leaf"),
    ],
)
def test_a_malformed_baseline_is_refused_with_the_place(changes, message):
    data = json.dumps(written(**changes)).encode()
    with pytest.raises(BaselineError, match=message):
        read_baseline(data, "b.json")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", r"not a baseline file \(not valid JSON\); to write one"),
        (b"\xff", "not a baseline"),
        (b"[]", "not a baseline file of the schema treewarden-baseline/1"),
        (b"{}", "not a baseline file of the schema"),
        (b'{"schema": "treewarden-baseline/2"}', "not a baseline file of the schema"),
        (b'{"schema": "treewarden-baseline/1"}', "models: field required; write it again"),
        (b'{"schema": 1, "schema": 2}', "the key 'schema' occurs twice"),
        (b"[" * 100_000, "not a baseline"),
        (b"9" * 5000, "not a baseline"),
    ],
)
def test_what_is_no_baseline_is_refused(data, message):
    with pytest.raises(BaselineError, match=message):
        read_baseline(data, "b.json")


def test_half_a_baseline_is_refused():
    decision, _ = decided()
    data = write_baseline({"tree": model_baseline(decision, under(decision))})
    with pytest.raises(BaselineError, match="not a baseline"):
        read_baseline(data[: len(data) // 2], "b.json")


def combined(decision, notes):
    finding = decision.findings[0]
    places = tuple(
        replace(place, low=1.0, high=1.0, note=note)
        for place, note in zip(finding.places, notes, strict=True)
    )
    made = replace(finding, requirement=COMBINED, reading=exactly(2), places=places)
    return replace(decision, findings=(made,))


@pytest.mark.parametrize(
    ("notes", "verdict"),
    [
        (("3 records", "4 records"), PolicyVerdict.PASS),
        (("2 records", "4 records"), PolicyVerdict.FAIL),
    ],
)
def test_a_clause_of_several_measures_must_read_the_same_in_every_leaf(notes, verdict):
    decision, _ = decided()
    before = combined(decision, ("3 records", "4 records"))
    assert held(combined(decision, notes), baseline_of(before)).verdict is verdict


def test_a_clause_of_several_measures_that_names_no_leaf_is_never_hidden():
    decision, _ = decided()
    made = combined(decision, ("", ""))
    bare = replace(made, findings=(replace(made.findings[0], places=()),))
    assert held(bare, baseline_of(bare)).verdict is PolicyVerdict.FAIL


def test_a_clause_that_was_judged_twice_is_in_no_baseline():
    decision, _ = decided()
    twice = replace(decision, findings=decision.findings * 2)
    assert baseline_of(twice).models["tree"].findings == ()


NEIGHBOUR = ADVERSARY.format("neighbour")


def of_somebody(decision, of=NEIGHBOUR, **changes):
    """Return a decision of what somebody learns who sees people in no leaf; ``changes`` are of its first place."""
    finding = decision.findings[0]
    places = [replace(place, kind="profile", leaf="", node=0) for place in finding.places]
    places = [
        replace(place, profile=f"age = {n}", note=f"{n} records truly flu")
        for n, place in enumerate(places)
    ]
    places[0] = replace(places[0], **changes)
    return replace(decision, findings=(replace(finding, of=of, places=tuple(places)),))


def test_what_an_adversary_learned_of_the_same_people_before_does_not_count():
    before = of_somebody(decided()[0])
    found = held(before, baseline_of(before))
    assert found.verdict is PolicyVerdict.PASS
    assert all(place.accepted.by == "baseline" for place in found.findings[0].places)


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        ({"low": 4.0, "high": 4.0}, PolicyVerdict.PASS),
        ({"low": 2.0, "high": 2.0}, PolicyVerdict.FAIL),
        ({"profile": "age = 9"}, PolicyVerdict.FAIL),
        ({"profile": "age = 1"}, PolicyVerdict.FAIL),
        ({"note": "0 records truly cold"}, PolicyVerdict.FAIL),
        ({"note": "1 record truly flu"}, PolicyVerdict.FAIL),
        ({"kind": "tree"}, PolicyVerdict.FAIL),
        ({"of": ADVERSARY.format("friend")}, PolicyVerdict.FAIL),
        ({"of": ALONE.format("v1.pmml")}, PolicyVerdict.FAIL),
        ({"of": ""}, PolicyVerdict.FAIL),
    ],
)
def test_of_an_adversary_only_the_same_people_are_known_and_only_no_worse(changes, verdict):
    decision, _ = decided()
    now = of_somebody(decision, **changes)
    assert held(now, baseline_of(of_somebody(decision))).verdict is verdict


def test_of_an_adversary_places_that_may_have_been_cut_are_never_all():
    decision = of_somebody(decided()[0])
    finding = decision.findings[0]
    many = replace(finding, places=(finding.places[0],) * MOST_SPOTS)
    cut = replace(decision, findings=(many,))
    assert held(cut, baseline_of(cut)).verdict is PolicyVerdict.FAIL


@pytest.mark.parametrize("of", [ALONE.format("v1.pmml"), WITH_OTHERS.format("v1.pmml"), ""])
def test_people_in_no_leaf_are_known_of_adversaries_alone(of):
    decision = of_somebody(decided()[0], of=of)
    baseline = baseline_of(decision)
    assert baseline.models["tree"].findings == ()
    assert held(decision, baseline).verdict is PolicyVerdict.FAIL


def test_an_empty_baseline_hides_nothing():
    decision, _ = decided()
    assert held(decision, Baseline(models={})).verdict is PolicyVerdict.FAIL
