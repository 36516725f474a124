"""The packs that ship, each on a tree that passes it and on trees that each break one clause."""

import tomllib
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit import places
from tests.kit.grown_models import FOLDER
from tests.kit.rows import rows
from tests.kit.small_audits import (
    audit_model,
    audit_of,
    evidence_of,
    flat_tree,
    only_world,
    people_of,
)
from treewarden.audit.claims.realised_loss import RealisedLoss
from treewarden.audit.claims.result import ClaimFindings
from treewarden.audit.consistent_tables.result import OUT_OF_TIME
from treewarden.audit.evidence import NOT_READ, NOT_RUN
from treewarden.audit.measures import measures
from treewarden.audit.reading import Undetermined
from treewarden.jobs.inputs import opened, read
from treewarden.policies.comparing import Strictness, compared
from treewarden.policies.judging.judge import judge
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

PACKS = {name: load_pack(name) for name in shipped_packs()}
# From loose to tight: a tree that passes a later one passes those before it.
ORDER = ("baseline", "standard", "strict", "open-data")
CASES = places.DATA / "policies" / "shipped"
"""One file per pack: trees that pass it or fail one clause, and what it says of leaks of each kind."""
CLAIM = ClaimFindings(
    claim=read_claim("epsilon=1, mechanism=permute-and-flip, splits=independent", "a test"),
    voids=(),
    doubts=(),
    loss=RealisedLoss(np.zeros((1, 2)), largest=0.5, mean=0.1),
    test=Undetermined("not asked"),
    labels=Undetermined("not asked"),
)
"""A claim that nothing speaks against, for packs that ask for one: others do not read it."""
leaves = st.lists(
    st.lists(st.integers(0, 200), min_size=2, max_size=2).filter(any), min_size=2, max_size=4
)


def cases(name):
    return tomllib.loads((CASES / f"{name}.toml").read_text(encoding="utf-8"))


FAILING = [
    (path.stem, clause, counts)
    for path in sorted(CASES.glob("*.toml"))
    for clause, counts in cases(path.stem)["failing"].items()
]


def evidence(counts):
    tree = flat_tree(counts)
    found = evidence_of(tree, worlds=only_world(people_of(tree)))
    return replace(found, claim=CLAIM)


def decision(name, counts):
    return judge(audit_of(evidence(counts), PACKS[name]), PACKS[name])


def with_leaks(name, leaks):
    found = replace(evidence(cases(name)["passing"]), leaks=leaks)
    return judge(audit_of(found, PACKS[name]), PACKS[name])


def failed(made):
    return {finding.clause for finding in made.findings if finding.verdict is PolicyVerdict.FAIL}


@pytest.mark.parametrize("name", PACKS)
def test_a_tree_of_well_mixed_leaves_passes(name):
    assert decision(name, cases(name)["passing"]).verdict is PolicyVerdict.PASS


@rows(("name", "clause", "counts"), FAILING)
def test_a_clause_fails_where_its_limit_is_passed(name, clause, counts):
    made = decision(name, counts)
    assert made.verdict is PolicyVerdict.FAIL
    assert clause in failed(made)


@pytest.mark.parametrize("name", PACKS)
def test_what_stands_beside_a_sound_tree_is_judged_by_its_kind(name):
    beside = cases(name)["beside"]
    for kind in LeakKind:
        made = with_leaks(name, (Leak(kind, "line 7", "something"),))
        about = [
            finding
            for finding in made.findings
            if measures()[finding.requirement.measure].is_of_file
        ]
        told = [finding for finding in about if finding.verdict is not PolicyVerdict.PASS]
        expected = PolicyVerdict.FAIL if kind in beside["fails"] else PolicyVerdict.PASS
        assert made.verdict is expected, kind
        assert bool(told) is (kind in beside["fails"] + beside["warns"]), kind
        assert {finding.places[0].name for finding in told} <= {str(kind)}


@pytest.mark.parametrize("name", PACKS)
def test_a_file_that_nobody_looked_into_is_never_cleared(name):
    made = with_leaks(name, NOT_READ)
    assert made.verdict is PolicyVerdict.UNDETERMINED
    assert "give the file as it will be published" in made.failing[0].message


@pytest.mark.parametrize("name", PACKS)
def test_every_error_clause_of_a_pack_has_a_case_that_fails_it(name):
    shown = set(cases(name)["failing"])
    for kind in cases(name)["beside"]["fails"]:
        shown |= failed(with_leaks(name, (Leak(LeakKind(kind), "line 7", "something"),)))
    others = {c.id for c in PACKS[name].clauses if c.when and is_of_other_models(c.when)}
    # Who was in the table is judged with a register: tests/treewarden/test_membership.py.
    others |= {c.id for c in PACKS[name].clauses if c.when and c.when.given}
    # A claim of differential privacy is judged in tests/audit/claims.
    others |= {c.id for c in PACKS[name].clauses if any(map(is_of_claim, c.atoms))}
    assert {c.id for c in PACKS[name].clauses if c.severity == "error"} - others <= shown


def is_of_claim(atom):
    return measures()[atom.call.measure].is_of_claim


def is_of_other_models(when):
    return when.model == ("boosted",) or when.task == ("regression",)


def number_verdicts(name, file):
    model = opened(FOLDER / file).model
    audit = audit_model(
        model, read(FOLDER / "numbers_whole.csv"), "y", calls(PACKS[name]), leaks=()
    )
    found = judge(audit, PACKS[name])
    return found.verdict, {finding.clause: finding.verdict for finding in found.findings}


@pytest.mark.parametrize("name", ORDER)
def test_a_model_that_pins_numbers_fails_and_one_that_does_not_meets_the_clause(name):
    verdict, clauses = number_verdicts(name, "numbers_many.json")
    assert (verdict, clauses["values"]) == (PolicyVerdict.FAIL, PolicyVerdict.FAIL)
    verdict, clauses = number_verdicts(name, "numbers_tree.skops")
    assert clauses["values"] is PolicyVerdict.PASS
    assert {"certain", "disclosure", "mixed-leaves"}.isdisjoint(clauses)


def test_a_regression_tree_with_leaves_of_six_passes_the_baseline():
    verdict, _ = number_verdicts("baseline", "numbers_tree.skops")
    assert verdict is PolicyVerdict.PASS


@pytest.mark.parametrize("name", ORDER)
@pytest.mark.parametrize("file", ["numbers_median.skops", "numbers_bagged.txt"])
def test_numbers_that_are_not_turned_back_never_meet_the_clause(name, file):
    _, clauses = number_verdicts(name, file)
    assert clauses["values"] is PolicyVerdict.UNDETERMINED


@pytest.mark.parametrize("name", PACKS)
def test_what_is_not_decided_or_not_run_is_never_a_pass(name):
    found = evidence(cases(name)["passing"])
    nothing = np.zeros_like(found.worlds.high)
    everything = nothing + found.worlds.counts[:, None]
    open_ = replace(
        found.worlds, low=nothing, high=everything, reached_low=everything, reached_high=nothing
    )
    late = replace(open_, left=(OUT_OF_TIME,))
    for worlds, said in ((open_, ""), (late, "--worlds-budget"), (NOT_RUN, "--no-worlds")):
        made = judge(audit_of(replace(found, worlds=worlds), PACKS[name]), PACKS[name])
        assert made.verdict is PolicyVerdict.UNDETERMINED
        assert all(measures()[finding.requirement.measure].is_of_worlds for finding in made.failing)
        assert all(said in finding.message for finding in made.failing)
        late_said = ["--worlds-budget" in finding.message for finding in made.failing]
        assert late_said == [worlds is late] * len(made.failing)


@given(leaves)
def test_a_tighter_pack_never_passes_what_a_looser_one_does_not(counts):
    verdicts = [decision(name, counts).verdict for name in ORDER]
    assert verdicts == sorted(verdicts)


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("standard", "baseline"),
        ("strict", "standard"),
        ("health", "standard"),
        ("open-data", "strict"),
    ],
)
def test_no_clause_of_a_pack_asks_for_less_than_the_pack_it_goes_beyond(name, least):
    for difference in compared(PACKS[least], PACKS[name]):
        assert difference.strictness in (Strictness.EQUAL, Strictness.STRICTER), difference.clause


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
    assert "Removing numbers never fixes the checks on leaves" in text


@pytest.mark.parametrize("name", [name for name in ORDER if name in PACKS])
def test_a_boosted_model_whose_leaves_tell_more_than_its_predictions_fails(name):
    model = opened(FOLDER / "three.json").model
    found = judge(
        audit_model(model, read(FOLDER / "three.csv"), "y", calls(PACKS[name])), PACKS[name]
    )
    verdicts = {finding.clause: finding.verdict for finding in found.findings}
    assert found.verdict is PolicyVerdict.FAIL
    assert verdicts["gain"] is PolicyVerdict.FAIL
    assert verdicts["label"] is PolicyVerdict.PASS
    assert {"mixed-leaves", "no-crowding"} <= {clause for clause, _ in found.not_judged}
