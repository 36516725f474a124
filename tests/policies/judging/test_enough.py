"""Reasoning over whole records may stop once a verdict is decided, and stopping never changes one."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

from tests.judges.worlds.cases import small_sample
from tests.kit.grown_trees import grow_tree
from tests.kit.small_audits import evidence_of, exposed, pack_of
from tests.kit.tiers import cases, few, seeds
from treewarden.audit.consistent_tables.engine import reason
from treewarden.audit.consistent_tables.result import DECIDED, Tiers
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.measures import call, measured
from treewarden.audit.options import AuditOptions
from treewarden.audit.reading import Undetermined
from treewarden.audit.run import run
from treewarden.audit.system.system import build_system
from treewarden.policies.clause import Under, When
from treewarden.policies.judging.applicability import enough
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack, read_pack
from treewarden.policies.shipped import shipped_packs

NO_LISTING = Tiers(enumerate=None, draws=0, most_draws=0)
BY_WORLDS = [
    ("certain_disclosure", "at_most", 0),
    ("certain_disclosure", "at_most", 12),
    ("excluded_values", "at_most", 3),
    ("world_bounds", "at_most", 0.6),
]


@cache
def case_of(seed):
    """Return a tree on a few records whose values are more or less noise."""
    draw = np.random.default_rng(seed)
    columns = {f"x{i}": draw.integers(4, size=40).astype(float) for i in range(3)}
    score = columns["x0"] - columns["x1"] + seed % 5 * draw.normal(size=40)
    classes = 2 + seed % 2
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    labels = [f"c{k}" for k in np.searchsorted(cuts, score)]
    smallest = (1, 5, 12)[seed % 3]
    return grow_tree(columns, labels, criterion="gini", max_depth=3, min_samples_leaf=smallest)


NARROWING = [
    call("own_contribution"),
    *(call("certain_in_small_groups", {"size": size}) for size in (2, 4, 8)),
    call("certain_disclosure"),
    call("world_bounds"),
    *(call("excluded_values", {"values": values}) for values in (1, 2)),
]


OPTIONS = AuditOptions(levels=False)


def audited(case, measures, is_enough=None):
    return run(case.tree, case.population, case.knowledge, measures, OPTIONS, (), enough=is_enough)


@cache
def audited_for_all_packs(seed):
    """Return the whole audit of a case, with every reading that some shipped pack asks for."""
    measures = {measure: None for name in shipped_packs() for measure in calls(load_pack(name))}
    return audited(case_of(seed), tuple(measures))


def verdicts(audit, pack):
    return [finding.verdict for finding in judge(audit, pack).findings]


@pytest.mark.parametrize("name", shipped_packs())
@pytest.mark.parametrize("seed", seeds(12, quick=1, second=4))
def test_stopping_early_changes_no_verdict_of_a_shipped_pack(name, seed):
    pack = load_pack(name)
    early = audited(case_of(seed), calls(pack), enough(pack))
    assert verdicts(audited_for_all_packs(seed), pack) == verdicts(early, pack)


CERTAIN = '{ measure = "certain_disclosure", rule = "at_most", limit = 0 }'
LARGE = '{ measure = "k_anonymity", rule = "at_least", limit = 12 }'
UNSURE = '{ measure = "confidence", rule = "at_most", limit = 0.8 }'
COMBINED = [
    f"any = [ {CERTAIN}, {LARGE} ]",
    f'any = [ {CERTAIN}, {UNSURE} ]\nscope = "profile"',
    f"all = [ {LARGE}, {{ not = {CERTAIN} }} ]",
    f'not = {CERTAIN}\nscope = "leaf"',
]


@pytest.mark.parametrize("clause", COMBINED)
@pytest.mark.parametrize("seed", seeds(6, quick=1, second=3))
def test_stopping_early_changes_no_verdict_of_a_combination(clause, seed):
    head = 'name = "p"\nversion = "1"\ntitle = "P"\n[[clause]]\nid = "a"\n'
    pack, case = read_pack((head + clause).encode(), "p.toml"), case_of(seed)
    full, early = (audited(case, calls(pack), until) for until in (None, enough(pack)))
    assert verdicts(full, pack) == verdicts(early, pack)


def test_clauses_that_are_judged_under_other_knowledge_or_not_at_all_keep_nobody_waiting():
    case = case_of(0)
    evidence = evidence_of(case.tree, case.population)
    (clause,) = pack_of(("certain_disclosure", "at_most", 0)).clauses
    pack = pack_of(("certain_disclosure", "at_most", 0))
    for more in ({"under": Under(leaf="labels")}, {"when": When(model="forest")}):
        other = pack.model_copy(update={"clauses": (clause.model_copy(update=more),)})
        assert enough(other)(evidence)
    assert not enough(pack)(evidence)


@pytest.mark.parametrize("clause", BY_WORLDS)
@pytest.mark.parametrize("seed", seeds(12, quick=3))
def test_stopping_early_decides_what_a_clause_reads_as_going_on_does(clause, seed):
    case, pack = case_of(seed), pack_of(clause)
    evidence = evidence_of(case.tree, case.population)
    system, is_enough = build_system(case), enough(pack)
    full, early = (
        reason(
            system,
            budget_seconds=1000,
            tiers=NO_LISTING,
            should_stop=lambda worlds, stops=stops: (
                stops and is_enough(replace(evidence, worlds=worlds))
            ),
        )
        for stops in (False, True)
    )
    judged = [
        judge(exposed(replace(evidence, worlds=worlds), pack, None), pack).findings[-1].verdict
        for worlds in (full, early)
    ]
    assert judged[0] == judged[1]
    assert not (early.certain & ~full.certain).any()
    assert not (full.certain & ~early.certain & ~early.open_profiles).any()


@pytest.mark.parametrize("tiers", [NO_LISTING, replace(NO_LISTING, propagate=False)])
@pytest.mark.parametrize("seed", cases([54, 101, 103, 38], quick=3))
def test_the_more_is_known_the_narrower_is_every_reading(seed, tiers):
    case = small_sample(seed).case
    system = build_system(case)
    posterior, _ = estimate(system, AuditOptions())
    evidence = evidence_of(case.tree, case.population, posterior)
    taken = []

    def note(worlds):
        known = replace(evidence, knowledge=case.knowledge, worlds=worlds)
        taken.append([measured(each, known).reading for each in NARROWING])
        return False

    note(reason(system, budget_seconds=1000, tiers=tiers, should_stop=note))
    for before, after in pairwise(taken):
        for earlier, later in zip(before, after, strict=True):
            assert earlier.low <= later.low
            assert later.high <= earlier.high


@pytest.mark.in_both
def test_nothing_is_asked_where_the_first_who_is_certain_decides_and_all_is_if_wanted():
    pack = pack_of(("certain_disclosure", "at_most", 0))
    left = {}
    for seed in few(range(6), quick=2):
        for wants_all in (False, True):
            options = AuditOptions(levels=False, worlds_all=wants_all, worlds_budget=1000)
            case = case_of(seed)
            audit = run(
                case.tree, case.population, case.knowledge, calls(pack), options, (),
                enough=enough(pack),
            )  # fmt: skip
            left.setdefault(wants_all, []).extend(audit.full.evidence.worlds.left)
    assert DECIDED in left[False]
    assert not left[True]


def test_a_policy_that_reads_nothing_of_whole_records_needs_none_of_them():
    evidence = evidence_of(case_of(0).tree, case_of(0).population)
    evidence = replace(evidence, posterior=Undetermined("not estimated yet"))
    for clause in (("k_anonymity", "at_least", 2), ("disclosure", "at_most", 0.9)):
        pack = pack_of(clause)
        assert enough(pack)(evidence)
    assert isinstance(measured(call("disclosure"), evidence).reading, Undetermined)


def test_worlds_that_were_not_run_are_never_enough():
    pack = load_pack("baseline")
    assert not enough(pack)(evidence_of(case_of(0).tree, case_of(0).population))
