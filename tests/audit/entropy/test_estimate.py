"""The estimate against closed forms, published reference values, SciPy on the definitions, and the unreduced model."""

import math

import numpy as np
import pytest

from tests.judges.estimate import direct
from tests.judges.independent import best_of_starts
from tests.kit.cases import case_of, multiway_case, random_table
from tests.kit.tiers import cases
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.entropy.problem import ViolatedCandidate, blocks
from treewarden.audit.entropy.search import EntropySearch
from treewarden.audit.facts.impurity_rows import excess
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.statement import KnownRecord, Statement
from treewarden.audit.options import AuditOptions
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import System, build_system, max_violation
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.predicate import CategoryTest
from treewarden.ppdm_models.tree.tree import (
    Criterion,
    Feature,
    Learner,
    Node,
    Tree,
)

SPLITS = ("gini", "entropy", "gain-ratio")
WITH_ACTIVE_ROWS = [
    (2, "rates"),
    (4, "rates"),
    (6, "rates"),
    (2, "counts"),
    (4, "counts"),
    (11, "counts"),
]


def example_1() -> tuple[Tree, Table]:
    """Example 1 of Zhu & Du 2010."""
    nodes = (
        Node(0, "root", None, (1, 2, 3)),
        Node(1, "L1", 0, (), CategoryTest("Age", ("a",)), "<=50K", 2, (2, 0)),
        Node(2, "L2", 0, (), CategoryTest("Age", ("c",)), ">50K", 2, (0, 2)),
        Node(3, "L3", 0, (), CategoryTest("Age", ("b",)), "<=50K", 2, (1, 1)),
    )
    features = (
        Feature("Age", numeric=False, values=("a", "b", "c")),
        Feature("Education", numeric=False, values=("Masters", "Doctorate")),
    )
    tree = Tree(nodes, features, "income", ("<=50K", ">50K"), learner=Learner(Criterion.ENTROPY))
    table = table_of(
        {
            "Age": ["a", "a", "b", "b", "c", "c"],
            "Education": ["Doctorate", "Doctorate", "Masters", "Doctorate", "Masters", "Masters"],
            "income": ["<=50K"] * 3 + [">50K"] * 3,
        }
    )
    return tree, table


def example_1_system(**knowledge: object) -> System:
    tree, table = example_1()
    population = build_population(tree, table, sensitive="income")
    return build_system(
        Case(tree, population, members(tree, population.leaf), Knowledge(**knowledge))
    )


@pytest.mark.parametrize("split", ["none", *SPLITS])
def test_example_1_leaves_the_two_open_profiles_at_one_half(split):
    system = example_1_system(split=split)
    posterior, report = estimate(system, AuditOptions(rows="real"))
    truth = system.case.population.truth / system.case.population.counts[:, None]
    individual = [-math.log(posterior.values[q] @ truth[q]) for q in range(4)]
    overall = float(np.dot(individual, system.case.population.counts) / 6)
    assert max(individual) == pytest.approx(0.693, abs=5e-4)
    assert overall == pytest.approx(0.231, abs=5e-4)
    assert report.status == "closed form"


@pytest.mark.parametrize("split", SPLITS)
def test_example_1_is_certain_once_whole_records_are_counted(split):
    system = example_1_system(split=split)
    posterior, report = estimate(system)
    np.testing.assert_array_equal(
        posterior.values * system.case.population.counts[:, None], system.case.population.truth
    )
    assert report.split_rows == "integer"


@pytest.mark.parametrize(("split", "edge"), [("entropy", 0.1845), ("gini", (6 - 24**0.5) / 4)])
def test_example_1_split_rows_end_where_the_definitions_say(split, edge):
    system = example_1_system(split=split)
    family = system.families[0]
    population = system.case.population
    masters = [q for q in range(4) if population.describe(q) == "Age = b, Education = Masters"][0]
    doctorate = [q for q in range(4) if population.describe(q) == "Age = b, Education = Doctorate"][
        0
    ]

    def over(share: float) -> float:
        mass = population.truth.copy()
        mass[masters], mass[doctorate] = (share, 1 - share), (1 - share, share)
        return float(excess(family, mass).max())

    # For gini the edge solves 2 s^2 - 6 s + 3/2 = 0.
    assert over(edge - 1e-4) > 0 > over(edge + 1e-4)


def test_rates_alone_spread_the_errors_of_a_leaf_evenly():
    case = multiway_case(1, Knowledge(leaf="rates", split="none"))
    posterior, report = estimate(build_system(case))
    for leaf in case.tree.leaves:
        here = case.population.leaf == leaf.index
        hits = case.population.truth[here, case.tree.classes.index(leaf.score)].sum()
        others = (leaf.records - hits) / leaf.records / 2
        expected = [
            hits / leaf.records if name == leaf.score else others for name in case.tree.classes
        ]
        np.testing.assert_allclose(
            posterior.values[here], np.tile(expected, (here.sum(), 1)), atol=1e-12
        )
    assert report.blocks.total == 0


@pytest.mark.parametrize("split", ["none", *SPLITS])
def test_labels_alone_teach_the_estimate_nothing(split):
    case = multiway_case(3, Knowledge(leaf="labels", split=split))
    posterior, report = estimate(build_system(case))
    np.testing.assert_allclose(posterior.values, 1 / 3, atol=1e-12)
    assert report.entropy == pytest.approx(math.log(3))


def test_strict_labels_lead_by_one_record():
    case = multiway_case(3, Knowledge(leaf="labels", split="none", strict_labels=True))
    system = build_system(case)
    posterior, _ = estimate(system)
    mass = posterior.values * case.population.counts[:, None]
    kept = {row.node: row.label for row in system.rows if row.origin.constraint == "leaf_label"}
    for node, label in kept.items():
        totals = mass[case.members.stops(node)].sum(axis=0)
        assert totals[label] - np.delete(totals, label).max() == pytest.approx(1.0)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize(("seed", "leaf"), cases(WITH_ACTIVE_ROWS, quick=[(2, "counts")]))
def test_no_feasible_point_that_scipy_finds_has_more_entropy(seed, leaf, split):
    case = multiway_case(seed, Knowledge(leaf=leaf, split=split), records=30)
    system = build_system(case)
    posterior, report = estimate(system)
    best = best_of_starts(case)
    assert report.status in ("optimal", "closed form")
    assert max_violation(system, posterior.values * case.population.counts[:, None]) <= 1e-6
    assert report.entropy <= report.entropy_bound + 1e-12
    assert best is None or best.entropy <= report.entropy + 1e-5


@pytest.mark.parametrize(
    ("seed", "split"),
    cases(
        [(8, "gini"), (5, "entropy"), (0, "gini"), (0, "entropy"), (4, "entropy")],
        quick=2,
    ),
)
def test_an_active_split_row_gives_the_point_that_scipy_finds(seed, split):
    case = multiway_case(seed, Knowledge(leaf="rates", split=split), records=30)
    posterior, report = estimate(build_system(case))
    best = best_of_starts(case)
    assert report.rows_active > 0
    assert best is not None
    assert report.entropy == pytest.approx(best.entropy, abs=2e-6)
    np.testing.assert_allclose(posterior.values, best.shares, atol=5e-4)


@pytest.mark.parametrize("split", SPLITS)
@pytest.mark.parametrize("seed", cases(range(0, 12, 2), quick=2))
def test_lumped_pooled_and_lazy_equals_the_unreduced_model(seed, split):
    system = build_system(multiway_case(seed, Knowledge(leaf="rates", split=split), records=30))
    reduced, report = estimate(system)
    whole, unreduced = direct.solve(system)
    assert report.status in ("optimal", "closed form")
    if unreduced.status == "optimal" and abs(unreduced.entropy - report.entropy) < 1e-5:
        np.testing.assert_allclose(reduced.values, whole.values, atol=1e-3)
    assert unreduced.status != "optimal" or report.entropy >= unreduced.entropy - 1e-5


def test_two_runs_give_the_same_bytes():
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="gini"), records=30))
    assert estimate(system)[0].values.tobytes() == estimate(system)[0].values.tobytes()


def test_class_totals_are_met_across_leaves():
    case = multiway_case(5, Knowledge(leaf="rates", split="none", marginal=True))
    posterior, report = estimate(build_system(case))
    mass = (posterior.values * case.population.counts[:, None]).sum(axis=0)
    np.testing.assert_allclose(mass, case.population.truth.sum(axis=0), atol=1e-6)
    assert report.status == "optimal"


@pytest.mark.parametrize("leaf", ["labels", "rates", "counts"])
@pytest.mark.parametrize("split", ["none", *SPLITS])
@pytest.mark.parametrize(
    "also", [{"marginal": True}, {"accuracy": True}, {"marginal": True, "accuracy": True}]
)
def test_every_combination_of_knowledge_is_solved_and_holds(leaf, split, also):
    system = build_system(multiway_case(7, Knowledge(leaf=leaf, split=split, **also), records=40))
    posterior, report = estimate(system)
    mass = posterior.values * system.case.population.counts[:, None]
    assert report.status in ("optimal", "closed form"), report.reason
    assert max_violation(system, mass) <= 1e-6


def test_background_facts_are_met_and_lower_the_entropy():
    table = random_table(5)
    free = multiway_case(5, Knowledge(leaf="rates", split="none"))
    inside = free.population.columns["x2"].codes == 0
    share = free.population.truth[inside, 1].sum() / free.population.counts[inside].sum()
    name = free.population.columns["x2"].categories[0]
    fact = Statement(says=f"P(c1 | x2 = {name}) = {float(share)!r}")
    known = case_of(
        free.tree, free.population, Knowledge(leaf="rates", split="none", facts=(fact,))
    )
    before, _ = estimate(build_system(free))
    after, report = estimate(build_system(known))
    mass = (after.values * known.population.counts[:, None])[inside, 1].sum()
    assert mass == pytest.approx(share * known.population.counts[inside].sum(), abs=1e-6)
    assert report.status == "optimal"
    assert np.abs(after.values - before.values).max() > 1e-3
    assert table.rows == 24


def test_a_known_record_is_certain_where_its_profile_is_alone():
    free = multiway_case(5, Knowledge(leaf="rates", split="none"))
    alone = next(
        q for q in np.flatnonzero(free.population.counts == 1) if free.population.truth[q, 1] == 1
    )
    values = {name: free.population.columns[name].text(int(alone)) for name in free.population.qi}
    fact = KnownRecord.model_validate({"record": values, "class": "c1"})
    known = case_of(
        free.tree, free.population, Knowledge(leaf="rates", split="none", facts=(fact,))
    )
    posterior, _ = estimate(build_system(known))
    assert posterior.values[alone, 1] == pytest.approx(1.0, abs=1e-6)


def test_a_fact_that_contradicts_the_tree_stalls_and_is_never_optimal():
    free = multiway_case(5, Knowledge(leaf="counts", split="none"))
    here = free.population.leaf == free.tree.leaves[0].index
    path = free.tree.leaves[0].test
    total = free.population.truth[here].sum(axis=0)
    absent = free.tree.classes[int(np.argmin(total))]
    fact = Statement(says=f"P({absent} | {path.feature} = {path.values[0]}) >= 0.95")
    system = build_system(
        case_of(free.tree, free.population, Knowledge(leaf="counts", split="none", facts=(fact,)))
    )
    assert [drop.constraint for drop in system.dropped] == ["background"]


def test_profiles_that_no_row_tells_apart_share_their_masses():
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="gini"), records=60))
    search = EntropySearch(system, AuditOptions(jobs=1))
    block = blocks(system, tuple(search.knowledge), [ViolatedCandidate(0, 0)])[0]
    form = search.reduced(block)
    assert len({tuple(row) for row in form.cell.tolist()}) < len(form.profiles)


def test_without_split_rows_there_are_as_many_signatures_as_leaves_that_hold_somebody():
    case = multiway_case(0, Knowledge(leaf="rates", split="none"), records=30)
    _, report = estimate(build_system(case))
    assert report.signatures == len(set(case.population.leaf.tolist()))


def test_profiles_that_a_split_row_tells_apart_are_of_different_signatures():
    case = multiway_case(4, Knowledge(leaf="rates", split="gini"), records=30)
    _, report = estimate(build_system(case))
    assert len(set(case.population.leaf.tolist())) < report.signatures
    assert report.signatures <= len(case.population.counts)
