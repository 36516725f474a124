"""Where a tree is more accurate than the policy lets anybody be, that is said, and what would pass is really judged."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.small_audits import audit_of, evidence_of, flat_tree, only_world, pack_of, people_of
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.judge import _accuracy, advised, ceiling, judge, out_of_reach
from treewarden.policies.pack import load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict

IRIS = [[50, 0, 0], [0, 49, 5], [0, 1, 45]]
"""What a scikit-learn tree of depth 2 makes of Fisher's irises."""
leaves = st.lists(
    st.lists(st.integers(0, 200), min_size=2, max_size=2).filter(any), min_size=2, max_size=4
)


def audit_for(counts, pack):
    tree = flat_tree(counts)
    return audit_of(evidence_of(tree, worlds=only_world(people_of(tree))), pack)


def said(counts, pack):
    audit = audit_for(counts, pack)
    return out_of_reach(audit, judge(audit, pack))


@pytest.mark.parametrize(("name", "cap"), [("strict", 0.83), ("standard", 0.9), ("baseline", 0.95)])
def test_the_irises_are_out_of_reach_of_every_pack_that_caps_certainty(name, cap):
    found = ceiling(audit_for(IRIS, load_pack(name)), load_pack(name))
    assert (found.clause, found.cap, found.accuracy) == ("label", cap, 144 / 150)
    text = said(IRIS, load_pack(name))
    assert "it is right for 96 % of the table's people" in text
    assert f"Only a tree that is right for at most {100 * cap:g} % can pass" in text
    assert "'accurate' passes it as it is" in text


def test_where_no_other_pack_passes_that_is_said_and_what_may_be_repaired():
    text = said([[50, 0, 0], [0, 47, 1], [0, 0, 43], [0, 0, 3]], load_pack("strict"))
    assert "No other built-in policy passes it as it is." in text
    assert "'accurate', 'official-statistics' and 'research-output' set no such cap" in text


def test_of_the_packs_that_pass_the_one_whose_demands_are_nearest_is_named():
    # `baseline` lacks the clause on guesses, the others have it with a limit far from this one; the smallest leaf of
    # this pack is that of `baseline`, and half that of `standard`. `accurate` lacks two of the three clauses.
    pack = pack_of(
        ("label_disclosure", "at_most", 0.5),
        ("guess_accuracy", "at_most", 1.0, {"over": "marginal"}),
        ("k_anonymity", "at_least", 5),
    )
    text = said([[60, 40], [40, 60]], pack)
    assert "'baseline' passes it as it is" in text


def test_a_limit_on_the_other_side_of_zero_is_no_farther_than_a_clause_that_lacks():
    # The limits of `baseline` and `standard` on what is gained are above zero.
    pack = pack_of(
        ("label_disclosure", "at_most", 0.5),
        ("estimate_gain", "at_most", -0.05),
        ("k_anonymity", "at_least", 5),
    )
    assert "'baseline' passes it as it is" in said([[60, 40], [40, 60]], pack)


def test_a_value_more_common_than_the_cap_lets_no_tree_at_all_pass():
    text = said([[190, 0], [5, 5]], load_pack("strict"))
    assert "Nor can any other tree: 97.5 % of the people have one value" in text
    assert "Only a tree" not in text


def test_crowding_caps_accuracy_too():
    pack = pack_of(("cl_diversity", "below", 4, "error", {"l": 2, "basis": "real"}))
    found = ceiling(audit_for([[9, 1], [1, 9]], pack), pack)
    assert found.cap == 4 / 5
    loose = pack_of(("cl_diversity", "below", 4, "error", {"l": 2, "basis": "published"}))
    assert ceiling(audit_for([[9, 1], [1, 9]], loose), loose) is None


def test_a_tree_that_is_as_accurate_as_the_cap_may_pass():
    pack = pack_of(("label_disclosure", "at_most", 0.75))
    assert ceiling(audit_for([[3, 1], [1, 3]], pack), pack) is None
    assert ceiling(audit_for([[4, 1], [1, 3]], pack), pack) is not None


def test_no_cap_is_below_the_accuracy_of_a_tree_whose_classes_or_labels_are_not_known():
    leaves, unknown = evidence_of(flat_tree(IRIS)).leaves, Undetermined("not published")
    assert _accuracy(leaves) == pytest.approx(144 / 150)
    assert _accuracy(replace(leaves, classes=unknown)) == 0
    assert _accuracy(replace(leaves, labels=unknown)) == 0


def test_a_warning_caps_nothing():
    pack = pack_of(("label_disclosure", "at_most", 0.5, "warning"))
    assert ceiling(audit_for(IRIS, pack), pack) is None


def test_only_the_finding_of_the_cap_is_told_more():
    pack = load_pack("strict")
    audit = audit_for(IRIS, pack)
    before, after = judge(audit, pack), advised(audit, judge(audit, pack))
    changed = [
        new.clause for old, new in zip(before.findings, after.findings, strict=True) if old != new
    ]
    assert changed == ["label"]
    assert after.verdict is before.verdict


def test_a_tree_below_the_cap_is_told_nothing():
    pack = load_pack("standard")
    audit = audit_for([[95, 5], [30, 36]], pack)
    assert judge(audit, pack).verdict is PolicyVerdict.FAIL
    assert out_of_reach(audit, judge(audit, pack)) == ""
    assert advised(audit, judge(audit, pack)) == judge(audit, pack)


@given(leaves, st.sampled_from(["baseline", "standard", "strict"]))
def test_what_is_said_is_true_of_any_leaves(counts, name):
    pack = load_pack(name)
    audit = audit_for(counts, pack)
    found = ceiling(audit, pack)
    decision = judge(audit, pack)
    accuracy = sum(map(max, counts)) / sum(map(sum, counts))
    caps = {"baseline": 0.95, "standard": 0.9, "strict": 0.83}
    assert (found is not None) == (accuracy > caps[name])
    if found is None:
        return
    broken = {
        finding.clause for finding in decision.failing if finding.verdict is PolicyVerdict.FAIL
    }
    assert found.clause in broken
    named = re.search(r"'([\w-]+)' passes it as it is", out_of_reach(audit, decision))
    for other in shipped_packs():
        verdict = judge(audit_for(counts, load_pack(other)), load_pack(other)).verdict
        if named is None:
            assert verdict is not PolicyVerdict.PASS
        elif named[1] == other:
            assert verdict is PolicyVerdict.PASS
