"""Decisions: the worst error decides, and what the reader is told about it."""

from dataclasses import replace

import numpy as np
import pytest

from tests.kit.cases import multiway_case
from tests.kit.small_audits import (
    audit_of,
    auditor,
    bounds,
    evidence_of,
    flat_tree,
    only_world,
    pack_of,
    people_of,
)
from treewarden.audit.entropy.posterior import certain
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit
from treewarden.audit.run import run
from treewarden.policies.judging.figures import figure
from treewarden.policies.judging.judge import judge, verdict_of
from treewarden.policies.pack import calls, load_pack, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.fingerprint import fingerprints
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind
from treewarden.ppdm_models.tree.tree import Quality

TREE = flat_tree([[14, 6], [4, 0], [2, 1], [9, 9]])
EVIDENCE = evidence_of(TREE)
SMALL = pack_of(("k_anonymity", "at_least", 5))
FINE = pack_of(("k_anonymity", "at_least", 2))


def made(pack, evidence=EVIDENCE, dropped=()):
    return judge(audit_of(evidence, pack, dropped), pack)


def test_a_finding_names_leaf_path_line_value_and_limit_worst_first():
    finding = made(SMALL).findings[0]
    assert finding.verdict is PolicyVerdict.FAIL
    assert [(p.name, p.path, p.line, p.low) for p in finding.places] == [
        ("leaf 3", "place = p2", 12, 3),
        ("leaf 2", "place = p1", 11, 4),
    ]
    assert finding.requirement.limit == 5
    assert finding.message == (
        "Fewest people in a leaf: 3 people; the policy requires at least 5 people; 2 leaves fail."
    )


def test_the_path_to_a_place_is_said_once_and_not_where_only_the_verdict_is_asked_for(monkeypatch):
    said = []

    def noted(tree, index):
        said.append(index)
        return path_text(tree, index)

    monkeypatch.setattr("treewarden.policies.judging.decision.path_text", noted)
    pack = pack_of(("k_anonymity", "at_least", 5), ("k_anonymity", "at_least", 4))
    audit = audit_of(EVIDENCE, pack)
    assert verdict_of(audit, pack) is PolicyVerdict.FAIL
    assert not said
    assert [len(each.places) for each in judge(audit, pack).findings] == [2, 1]
    assert sorted(said) == [2, 3]


@pytest.mark.parametrize("name", shipped_packs())
@pytest.mark.parametrize("counts", [[[14, 6], [4, 0], [2, 1]], [[30, 30], [40, 40]]])
def test_the_verdict_alone_is_that_of_the_decision(name, counts):
    pack, tree = load_pack(name), flat_tree(counts)
    audit = audit_of(evidence_of(tree, worlds=only_world(people_of(tree))), pack)
    assert verdict_of(audit, pack) is judge(audit, pack).verdict


def test_a_clause_that_holds_has_no_places():
    finding = made(FINE).findings[0]
    assert (finding.verdict, finding.places) == (PolicyVerdict.PASS, ())
    assert finding.message == (
        "Fewest people in a leaf: 3 people; the policy requires at least 2 people."
    )


def test_a_profile_is_named_with_the_leaf_it_falls_in():
    finding = made(pack_of(("disclosure", "at_most", 0.9))).findings[0]
    place = finding.places[0]
    assert (place.kind, place.name, place.profile) == ("profile", "leaf 2", "place = p1")


def test_what_could_not_be_told_is_said_with_its_reason():
    stalled = evidence_of(TREE, posterior=Undetermined("the solver stalled"))
    decision = made(pack_of(("confidence", "at_most", 0.9)), stalled)
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    assert decision.findings[0].message.endswith("not decided, because the solver stalled.")


def test_a_reading_on_both_sides_of_the_limit_is_undetermined_and_says_so():
    within = bounds([[0.4, 0.4]] * 4, [[0.6, 0.6]] * 4)
    decision = made(pack_of(("confidence", "at_most", 0.5)), evidence_of(TREE, posterior=within))
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    assert "40 to 60 %" in decision.findings[0].message


def test_a_failed_clause_outweighs_one_that_could_not_be_told():
    stalled = evidence_of(TREE, posterior=Undetermined("the solver stalled"))
    pack = pack_of(("confidence", "at_most", 0.9), ("k_anonymity", "at_least", 5))
    decision = made(pack, stalled)
    assert decision.verdict is PolicyVerdict.FAIL
    assert [f.verdict for f in decision.failing] == [PolicyVerdict.FAIL, PolicyVerdict.UNDETERMINED]


def test_a_broken_warning_is_found_and_changes_nothing():
    pack = pack_of(("k_anonymity", "at_least", 2), ("distinct_diversity", "at_least", 2, "warning"))
    decision = made(pack)
    assert decision.verdict is PolicyVerdict.PASS
    assert [f.verdict for f in decision.findings] == [PolicyVerdict.PASS, PolicyVerdict.FAIL]
    assert decision.failing == ()


def test_a_pack_of_warnings_judges_nothing_and_is_no_pass():
    assert (
        made(pack_of(("k_anonymity", "at_least", 1, "warning"))).verdict
        is PolicyVerdict.UNDETERMINED
    )


def test_a_measure_that_the_audit_did_not_take_is_no_pass():
    audit = Audit((replace(audit_of(EVIDENCE, FINE).full, readings={}),))
    assert judge(audit, FINE).verdict is PolicyVerdict.UNDETERMINED


def published(problem="says 5, the table has 4"):
    return DroppedRow("leaf_rate", "loan.pmml:12: node '2'", problem, is_published=True)


def test_a_file_that_the_table_contradicts_is_never_a_pass():
    decision = made(FINE, dropped=[published(), published()])
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    assert decision.findings[0].clause == "table-agrees"
    assert "loan.pmml:12: node '2': says 5, the table has 4" in decision.findings[0].message
    assert "2 such contradictions" in decision.findings[0].message


def test_it_can_still_fail():
    assert made(SMALL, dropped=[published()]).verdict is PolicyVerdict.FAIL


def test_an_assumption_that_the_table_contradicts_is_no_reason_for_doubt():
    dropped = replace(published(), is_published=False)
    assert made(FINE, dropped=[dropped]).verdict is PolicyVerdict.PASS


def test_a_file_that_contradicts_itself_is_never_a_pass():
    odd = replace(TREE, quality=Quality.INCONSISTENT, notes=("node 3 has 5, its children 4",))
    decision = made(FINE, evidence_of(odd))
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    assert "node 3 has 5, its children 4" in decision.findings[0].message


def test_labels_that_the_numbers_beside_them_contradict_are_never_a_pass():
    decision = made(FINE, evidence_of(flat_tree([[14, 6], [9, 9]], labels=["c1", "c1"])))
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    (finding,) = (found for found in decision.findings if found.clause == "file-agrees")
    assert "A label in tree contradicts the numbers in its leaf" in finding.message


def test_names_from_the_file_reach_the_finding_as_they_are():
    name = "<script>\n“,”"
    tree = flat_tree([[4, 0], [4, 4]], classes=(name, "b"))
    finding = made(pack_of(("confidence", "at_most", 0.5)), evidence_of(tree)).findings[0]
    assert finding.places[0].note == f"most likely {name}"


@pytest.mark.parametrize(
    ("value", "unit", "beside", "said"),
    [
        (12, "records", None, "12 people"),
        (1, "records", None, "1 person"),
        (0.935, "share", None, "93.5 %"),
        (0.90004, "share", 0.9, "90.004 %"),
        (0.9, "share", 0.9, "90 %"),
        (12345.6, "records", None, "12,346 people"),
        (float("inf"), "times", 5, "infinite"),
        (4.6667, "times", 5, "4.67 times"),
        (0.0000087, "nats", 0.05, "0.0000087 nats"),
        (0, "nats", 0.05, "0 nats"),
    ],
)
def test_a_figure_has_enough_digits_to_tell_it_from_its_limit(value, unit, beside, said):
    assert figure(value, unit, beside) == said


def test_guessing_beyond_the_commonest_value_is_named_as_that():
    pack = pack_of(("guess_accuracy", "at_most", 0.5, {"over": "marginal"}))
    posterior = certain(np.array([[1.0, 0]] * 4))
    finding = made(pack, evidence_of(TREE, posterior=posterior)).findings[0]
    assert "people with the most common value: 0 %" in finding.message


CONFIDENCE_ONLY = b"""
name = "sure"
version = "1"
title = "t"
description = "d"

[[clause]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 0.7
why = "w"
"""


def test_withholding_numbers_never_passes_on_the_uniform_estimate_alone():
    case = multiway_case(3, Knowledge(leaf="labels", split="none"), classes=2)
    pack = read_pack(CONFIDENCE_ONLY, "sure.toml")
    decision = judge(run(case.tree, case.population, case.knowledge, calls(pack)), pack)
    doubts = [finding for finding in decision.findings if finding.clause == "labels-believed"]
    assert [finding.verdict for finding in decision.findings if finding.requirement.measure] == [
        PolicyVerdict.PASS
    ]
    assert decision.verdict is PolicyVerdict.UNDETERMINED
    assert "one label is right for" in doubts[0].message


def test_of_several_limits_on_certainty_the_doubt_about_labels_names_the_tightest():
    case = multiway_case(3, Knowledge(leaf="labels", split="none"), classes=2)
    looser = CONFIDENCE_ONLY[CONFIDENCE_ONLY.index(b"[[") :].replace(b'"sure"', b'"surer"')
    pack = read_pack(CONFIDENCE_ONLY + looser.replace(b"0.7", b"0.9"), "sure.toml")
    decision = judge(run(case.tree, case.population, case.knowledge, calls(pack)), pack)
    (doubt,) = [finding for finding in decision.findings if finding.clause == "labels-believed"]
    assert "and the policy's limit is 70 %" in doubt.message


def test_a_place_has_the_fingerprint_of_its_leaf_and_profiles_that_of_the_leaf_where_they_stop():
    leaf = made(SMALL).findings[0].places[1]
    profile = made(pack_of(("disclosure", "at_most", 0.9))).findings[0].places[0]
    assert leaf.leaf == profile.leaf == fingerprints(TREE, EVIDENCE.target)[0][2]


def test_what_the_file_gives_away_beside_its_trees_has_no_fingerprint():
    evidence = replace(EVIDENCE, leaks=(Leak(LeakKind.PERSON, "", "a mail address"),))
    places = made(pack_of(("side_leaks", "at_most", 0)), evidence).findings[0].places
    assert [place.leaf for place in places] == [""]


def test_places_that_may_break_a_clause_are_named_where_it_could_not_be_told():
    wide = bounds([[0.3, 0.1]] * 4, [[0.9, 0.7]] * 4)
    finding = made(pack_of(("kl_individual", "at_least", 0.05)), evidence_of(TREE, None, wide))
    (one,) = finding.findings
    assert one.verdict is PolicyVerdict.UNDETERMINED
    # In leaf 2 all have one value, of which no estimate within the bounds is surer than 0.9.
    assert [place.name for place in one.places] == ["leaf 1", "leaf 3", "leaf 4"]
    assert all(place.low < 0.05 <= place.high for place in one.places)


def test_how_many_checks_are_judged_is_told_while_they_are():
    pack = pack_of(("k_anonymity", "at_least", 5), ("confidence", "at_most", 0.65))
    tree = flat_tree([[9, 1, 0], [5, 4, 1]])
    audit = auditor(people_of(tree), pack)(tree)
    told = []
    assert judge(audit, pack, lambda *share: told.append(share)) == judge(audit, pack)
    assert told == [(1, 2, "checks"), (2, 2, "checks")]
