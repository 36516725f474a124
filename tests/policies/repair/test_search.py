"""The search in sight and in time: what it leaves out could not pass, and what it says of the rest is never a pass."""

from __future__ import annotations

import itertools
from contextlib import contextmanager
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.small_audits import auditor, deep_tree, flat_tree, pack_of, people_of
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.leaf_only_audit import glance
from treewarden.audit.options import AuditOptions
from treewarden.audit.run import run
from treewarden.policies.pack import calls
from treewarden.policies.remedies import Proposal
from treewarden.policies.remedies.redact import Redact
from treewarden.policies.repair.attempts import SearchEnd, cost_of
from treewarden.policies.repair.repair import repair
from treewarden.policies.repair.search import CostedProposal
from treewarden.policies.repair.utility import Deadline
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tables.routing import route

CLASSES = ("a", "b", "c")
BOTH = pack_of(
    ("k_anonymity", "at_least", 5),
    ("confidence", "at_most", 0.65),
    ("label_disclosure", "at_most", 0.8),
)
# Pruning its leaf of two is not enough: the numbers of a leaf have to go as well.
TWO_ROUNDS = deep_tree([[[12, 2, 1], [0, 2, 0]], [4, 4, 6]], CLASSES)
# Several ways of withholding pass, and cost differently.
SEVERAL_PASS = flat_tree([[10, 9, 1], [3, 8, 7]])
MILD = pack_of(("kl_individual", "at_least", 0.001))

leaf = st.lists(st.integers(0, 9), min_size=3, max_size=3)
shape = st.recursive(leaf, lambda part: st.lists(part, min_size=2, max_size=3), max_leaves=8)
trees = st.lists(shape, min_size=2, max_size=3).map(lambda spec: deep_tree(spec, CLASSES))
peopled = trees.filter(lambda tree: tree.root.records)


def glancing(people, pack):
    """Return what reads the leaves of a proposal alone, over the same people."""

    def look(proposal):
        now = replace(people, leaf=route(proposal.model, people.columns))
        return glance(proposal.model, now, Knowledge(), calls(pack), leaks=())

    return look


def searched(tree, pack, **asked):
    people, audited, told = people_of(tree), [], []
    audit = auditor(people, pack)

    def counted(model):
        audited.append(model)
        return audit(model)

    result = repair(tree, people, counted, pack, tell=told.append, **asked)
    return result, audited, told


def ticking(ticks):
    """Return a deadline after so many looks at the clock."""
    clock = itertools.count()
    return Deadline(float(ticks), lambda: float(next(clock)))


def test_without_every_change_what_costs_more_than_a_pass_is_not_audited():
    whole, all_audited, _ = searched(SEVERAL_PASS, MILD)
    brief, audited, _ = searched(SEVERAL_PASS, MILD, every=False)
    assert len(audited) < len(all_audited)
    assert brief.recommended.name == whole.recommended.name
    left = [each for each in brief.attempts if each.not_audited]
    cheapest = brief.recommended.cost.rank
    assert left
    assert all(each.cost.rank > cheapest for each in left)
    assert {each.verdict for each in left} == {PolicyVerdict.UNDETERMINED}
    assert left[0].not_audited == f"it costs more than {brief.recommended.name}, which passes"


def test_what_is_wanted_by_its_name_is_audited_whatever_it_costs():
    brief, *_ = searched(SEVERAL_PASS, MILD, every=False)
    dear = next(each.name for each in brief.attempts if each.not_audited)
    found, *_ = searched(SEVERAL_PASS, MILD, every=False, chosen=dear)
    assert next(each for each in found.attempts if each.name == dear).audit is not None


def test_each_change_is_told_of_and_the_first_that_passes_at_once():
    result, _, told = searched(SEVERAL_PASS, MILD)
    name = result.recommended.name
    begun = next(n for n, words in enumerate(told) if words.startswith(f"trying {name}: "))
    done = told.index(f"{name}: PASS; {told[begun + 1].split('; ')[1]}")
    assert begun < done
    assert told[done + 1].startswith(f"passes: {name} (")
    assert told[done + 1].endswith("; looking for a cheaper one")
    assert sum(words.startswith("passes: ") for words in told) == 1


@pytest.mark.parametrize("ticks", range(1, 12))
def test_at_the_limit_the_rest_is_not_tried_and_never_passes(ticks):
    result, audited, _ = searched(TWO_ROUNDS, BOTH, deadline=ticking(ticks))
    rest = [each for each in result.attempts if not each.is_tried]
    assert len(audited) - 1 + len(rest) == len(result.attempts)
    assert all(each.not_audited == "the time was up" for each in rest)
    assert all(each.verdict is PolicyVerdict.UNDETERMINED for each in rest)
    assert (result.ended is SearchEnd.OUT_OF_TIME) == bool(rest)
    assert ("ran out of time" in result.message) == bool(rest)
    assert result.nearest not in rest
    if result.recommended:
        assert result.recommended.verdict is PolicyVerdict.PASS


def test_what_passed_before_the_limit_is_recommended():
    whole, *_ = searched(SEVERAL_PASS, MILD)
    for ticks in range(1, len(whole.attempts)):
        result, *_ = searched(SEVERAL_PASS, MILD, deadline=ticking(ticks))
        if any(each.verdict is PolicyVerdict.PASS for each in result.attempts):
            assert result.recommended is not None
            assert result.ended is SearchEnd.OUT_OF_TIME
            return
    pytest.fail("nothing passed in time")


def test_an_interrupt_in_the_second_round_keeps_what_the_first_found():
    @contextmanager
    def interrupting(doing):
        if not doing.startswith("auditing 1 change "):
            raise KeyboardInterrupt
        yield

    result, *_ = searched(TWO_ROUNDS, BOTH, step=interrupting)
    assert result.ended is SearchEnd.INTERRUPTED
    assert [each.name for each in result.attempts if each.is_tried] == ["prune_apt"]
    rest = [each for each in result.attempts if not each.is_tried]
    assert {each.not_audited for each in rest} == {"the search was interrupted"}
    assert f"interrupted: {len(rest)} changes were not tried" in result.message


def test_an_interrupt_during_an_audit_keeps_the_audits_before_it():
    people, seen = people_of(SEVERAL_PASS), []
    audit = auditor(people, MILD)

    def interrupted(model):
        seen.append(model)
        if len(seen) == 3:
            raise KeyboardInterrupt
        return audit(model)

    result = repair(SEVERAL_PASS, people, interrupted, MILD)
    assert result.ended is SearchEnd.INTERRUPTED
    assert sum(each.audit is not None for each in result.attempts) == 1


def test_an_interrupt_of_the_audit_of_the_original_ends_the_run():
    def interrupted(model):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        repair(TWO_ROUNDS, people_of(TWO_ROUNDS), interrupted, BOTH)


@given(peopled, st.sampled_from([0.5, 0.65, 0.9]))
def test_no_model_is_audited_twice(tree, sure):
    pack = pack_of(("confidence", "at_most", sure), ("label_disclosure", "at_most", 1))
    _, audited, _ = searched(tree, pack)
    rest = audited[1:]
    assert not any(one == other for one, other in itertools.combinations(rest, 2))


def test_the_same_tree_in_another_file_is_not_the_same_change():
    people = people_of(SEVERAL_PASS)
    one = Proposal(("redact",), "a", SEVERAL_PASS, (), (0, 1, 2))
    cost = cost_of(SEVERAL_PASS, people, one)
    plain = CostedProposal("a", one, cost)
    assert plain.is_as(CostedProposal("b", replace(one, title="b"), cost))
    assert not plain.is_as(CostedProposal("b", replace(one, is_bare=True), cost))


@given(
    peopled,
    st.integers(1, 12),
    st.sampled_from([0.5, 0.7, 0.9]),
    st.sampled_from([0.6, 0.8, 1.0]),
    st.booleans(),
)
def test_what_is_recommended_is_the_same_with_pruning_and_without(tree, k, sure, label, every):
    pack = pack_of(
        ("k_anonymity", "at_least", k),
        ("label_disclosure", "at_most", label),
        ("confidence", "at_most", sure),
    )
    plain, all_audited, _ = searched(tree, pack)
    look = glancing(people_of(tree), pack)
    pruned, audited, _ = searched(tree, pack, glance=look, every=every)
    assert len(audited) <= len(all_audited)
    names = [each.recommended.name if each.recommended else None for each in (plain, pruned)]
    assert names[0] == names[1]
    verdicts = {each.name: each.verdict for each in plain.attempts}
    for each in pruned.attempts:
        if each.not_audited and each.decision is not None:
            assert verdicts[each.name] is PolicyVerdict.FAIL


PURE = flat_tree([[12, 0], [3, 0], [2, 3]])
HALF_PURE = flat_tree([[12, 0], [7, 0], [2, 3], [5, 4]])
PROVED = pack_of(("certain_disclosure", "at_most", 0))
LABELS_KNOWN = ("label_disclosure", "at_most", 1)
PROVED_OR_SURE = pack_of(
    ("certain_disclosure", "at_most", 0), ("confidence", "at_most", 0.75), LABELS_KNOWN
)
COUNTS_ALONE = Knowledge(split=SplitLevel.NONE)
BRIEFLY = AuditOptions(worlds_budget=4.0, time_limit=20.0, levels=False, jobs=1)


def proved(tree, pack, **asked):
    """Return a repair whose audits look at whole tables, and what was audited; splits tell nothing."""
    people, audited = people_of(tree), []

    def audit(model):
        audited.append(model)
        now = replace(people, leaf=route(model, people.columns))
        return run(model, now, COUNTS_ALONE, calls(pack), BRIEFLY, ())

    return repair(tree, people, audit, pack, **asked), audited


def test_where_the_least_withholding_passes_no_dearer_way_of_withholding_is_tried_or_listed():
    found, audited = proved(HALF_PURE, PROVED)
    assert [each.name for each in found.attempts] == ["withhold_least"]
    assert found.recommended.name == "withhold_least"
    assert len(audited) == 2


def test_a_way_of_withholding_that_passes_and_costs_less_than_the_least_stays():
    found, _ = proved(PURE, PROVED)
    verdicts = {each.name: each.verdict for each in found.attempts}
    assert set(verdicts) == {"redact-1", "redact-2", "withhold_least"}
    assert verdicts["withhold_least"] is PolicyVerdict.PASS
    assert found.recommended.name == "redact-1"


def test_a_way_of_withholding_that_is_wanted_by_its_name_is_tried():
    found, _ = proved(HALF_PURE, PROVED, chosen="redact-3")
    assert {each.name for each in found.attempts} == {"withhold_least", "redact-3"}


def test_where_the_least_does_not_pass_all_ways_of_withholding_are_tried():
    found, _ = proved(flat_tree([[12, 0], [9, 1], [2, 3]]), PROVED_OR_SURE)
    verdicts = {each.name: each.verdict for each in found.attempts}
    assert verdicts["withhold_least"] is PolicyVerdict.FAIL
    assert found.recommended is not None
    assert found.recommended.name.startswith("redact")


@given(peopled, st.sampled_from([1.0, 0.9, 0.7]))
def test_no_repair_passes_less_often_or_costs_more_for_the_least_withholding(tree, sure):
    pack = pack_of(
        ("certain_disclosure", "at_most", 0), ("confidence", "at_most", sure), LABELS_KNOWN
    )
    found, _ = proved(tree, pack)
    with patch.object(Redact, "second_to", ""):
        before, _ = proved(tree, pack)
    assert (found.recommended is None) == (before.recommended is None)
    if found.recommended is not None:
        assert found.recommended.cost.rank == before.recommended.cost.rank
