"""The packs that ship, each on a tree that passes it and on trees that each break one clause."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from audit.evidence import NOT_READ, NOT_RUN
from policies.judging.judge import judge
from policies.pack import load_pack, shipped_packs
from policies.verdict import Verdict
from ppdm_models.tree.leaks import Leak, LeakKind
from tests.small_audits import audit_of, evidence_of, flat_tree, only_world, people_of

PACKS = {name: load_pack(name) for name in shipped_packs()}
# From loose to tight: a tree that passes a later one passes those before it.
ORDER = ("baseline", "standard", "strict")
PASSING = {
    "baseline": [[94, 6], [3, 2]],
    "standard": [[88, 12], [5, 5]],
    "strict": [[80, 20], [6, 5]],
}
FAILING = [
    ("baseline", [[94, 6], [2, 2]], "smallest-leaf"),
    ("baseline", [[94, 6], [9, 0]], "mixed-leaves"),
    ("baseline", [[200, 10], [9, 9]], "no-crowding"),
    ("baseline", [[951, 49], [9, 9]], "label"),
    ("baseline", [[990, 10], [9, 9]], "disclosure"),
    ("baseline", [[94, 6], [9, 0]], "certain"),
    ("standard", [[88, 12], [5, 4]], "smallest-leaf"),
    ("standard", [[88, 12], [0, 12]], "mixed-leaves"),
    ("standard", [[100, 10], [9, 9]], "no-crowding"),
    ("standard", [[901, 99], [9, 9]], "label"),
    ("standard", [[96, 4], [9, 9]], "disclosure"),
    ("standard", [[88, 12], [0, 12]], "certain"),
    ("strict", [[80, 20], [5, 5]], "smallest-leaf"),
    ("strict", [[80, 20], [12, 0]], "mixed-leaves"),
    ("strict", [[50, 10], [9, 9]], "no-crowding"),
    ("strict", [[831, 169], [9, 9]], "label"),
    ("strict", [[91, 9], [9, 9]], "disclosure"),
    ("strict", [[91, 9], [9, 9]], "confidence"),
    ("strict", [[80, 20], [12, 0]], "certain"),
]
leaves = st.lists(
    st.lists(st.integers(0, 200), min_size=2, max_size=2).filter(any), min_size=2, max_size=4
)


# The verdict on each kind of thing in the file: in baseline and standard, then in strict.
BESIDE = {
    LeakKind.RAW_RECORDS: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.EXACT_TARGETS: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.RARE_VALUES: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.OLD_MODEL: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.PERSON: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.UNKNOWN: (Verdict.FAIL, Verdict.FAIL),
    LeakKind.EXTREMES: (Verdict.PASS, Verdict.FAIL),
    LeakKind.MEDIANS: (Verdict.PASS, Verdict.FAIL),
    LeakKind.AVERAGES: (Verdict.PASS, Verdict.FAIL),
    LeakKind.HISTOGRAM: (Verdict.PASS, Verdict.FAIL),
    LeakKind.CATEGORIES: (Verdict.PASS, Verdict.FAIL),
    LeakKind.TARGET_STATISTICS: (Verdict.PASS, Verdict.FAIL),
    LeakKind.SMALL_COUNTS: (Verdict.PASS, Verdict.FAIL),
    LeakKind.PER_RECORD: (Verdict.PASS, Verdict.FAIL),
    LeakKind.REPLAY: (Verdict.PASS, Verdict.FAIL),
    LeakKind.DIFFERENCING: (Verdict.PASS, Verdict.FAIL),
    LeakKind.AUTHOR: (Verdict.PASS, Verdict.PASS),
    LeakKind.PATH: (Verdict.PASS, Verdict.PASS),
    LeakKind.TIMESTAMP: (Verdict.PASS, Verdict.PASS),
    LeakKind.IDENTIFIER: (Verdict.PASS, Verdict.PASS),
}


def evidence(counts):
    tree = flat_tree(counts)
    return evidence_of(tree, worlds=only_world(people_of(tree)))


def decision(name, counts):
    return judge(audit_of(evidence(counts), PACKS[name]), PACKS[name])


def with_leaks(name, leaks):
    found = replace(evidence(PASSING[name]), leaks=leaks)
    return judge(audit_of(found, PACKS[name]), PACKS[name])


@pytest.mark.parametrize("name", PACKS)
def test_a_tree_of_well_mixed_leaves_passes(name):
    assert decision(name, PASSING[name]).verdict is Verdict.PASS


@pytest.mark.parametrize(("name", "counts", "clause"), FAILING)
def test_a_clause_fails_where_its_limit_is_passed(name, counts, clause):
    made = decision(name, counts)
    failed = {finding.clause for finding in made.findings if finding.verdict is Verdict.FAIL}
    assert made.verdict is Verdict.FAIL
    assert clause in failed


@pytest.mark.parametrize("name", PACKS)
@pytest.mark.parametrize("kind", LeakKind)
def test_what_stands_beside_a_sound_tree_is_judged_by_its_kind(name, kind):
    made = with_leaks(name, (Leak(kind, "line 7", "something"),))
    beside = [f for f in made.findings if f.measure == "side_leaks"]
    shown = [f for f in beside if f.verdict is not Verdict.PASS]
    assert made.verdict is BESIDE[kind][name == "strict"]
    assert [(f.clause, f.places[0].name) for f in shown] == [(f"beside-{kind.group}", str(kind))]


@pytest.mark.parametrize("name", PACKS)
def test_a_file_that_nobody_looked_into_is_never_cleared(name):
    made = with_leaks(name, NOT_READ)
    assert made.verdict is Verdict.UNDETERMINED
    assert "give the file as it is to be published" in made.failing[0].message


@pytest.mark.parametrize("name", PACKS)
def test_every_error_clause_of_a_pack_has_a_case_that_fails_it(name):
    shown = {clause for pack, _, clause in FAILING if pack == name}
    shown |= {
        f"beside-{kind.group}"
        for kind, said in BESIDE.items()
        if said[name == "strict"] is Verdict.FAIL
    }
    assert {c.id for c in PACKS[name].clauses if c.severity == "error"} <= shown


@pytest.mark.parametrize("name", PACKS)
def test_what_is_not_decided_or_not_run_is_never_a_pass(name):
    found = evidence(PASSING[name])
    nothing = np.zeros_like(found.worlds.high)
    everything = nothing + found.worlds.counts[:, None]
    open_ = replace(
        found.worlds, low=nothing, high=everything, reached_low=everything, reached_high=nothing
    )
    for worlds, said in ((open_, "--worlds-budget"), (NOT_RUN, "--no-worlds")):
        made = judge(audit_of(replace(found, worlds=worlds), PACKS[name]), PACKS[name])
        assert made.verdict is Verdict.UNDETERMINED
        assert [finding.clause for finding in made.failing] == ["certain"]
        assert said in made.failing[0].message


@given(leaves)
def test_a_tighter_pack_never_passes_what_a_looser_one_does_not(counts):
    verdicts = [decision(name, counts).verdict for name in ORDER]
    assert verdicts == sorted(verdicts)


@given(leaves, st.integers(1, 50))
def test_more_of_the_rarer_value_in_every_leaf_never_worsens_a_verdict(counts, more):
    def mixed(leaf):
        low, high = sorted(leaf)
        grown = min(low + more, high)
        return [high, grown] if leaf[0] >= leaf[1] else [grown, high]

    for name in ORDER:
        assert decision(name, list(map(mixed, counts))).verdict <= decision(name, counts).verdict


@pytest.mark.parametrize("name", PACKS)
def test_a_shipped_pack_says_that_withholding_never_mends_its_leaf_clauses(name):
    text = Path(str(shipped_packs()[name])).read_text(encoding="utf-8")
    assert "Withholding numbers never mends the clauses about leaves" in text
