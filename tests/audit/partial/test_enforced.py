"""What the choice of splits says, put into estimates, held against the exact problem in Pyomo, solved by IPOPT."""

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.kit.tiers import cases
from treewarden.audit.ipopt.backend import Status
from treewarden.audit.ipopt.backends import door
from treewarden.audit.ipopt.model import load_model, pyo
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial import target_inference
from treewarden.audit.partial.fitting.split_constrained import estimate_under_splits
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.population import build_population
from treewarden.audit.progress import clock
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of

NAMES = ("age", "zip", "lab", "dose")


def grown(seed, criterion, told=0):
    """Return a tree that scikit-learn grew on people who differ by hidden and by known columns alike, and them.

    A chart that the tree does not ask about says of so many people what is predicted.
    """
    rng = np.random.default_rng(seed)
    size = 60
    columns = {name: rng.integers(4, size=size) for name in NAMES}
    risk = columns["age"] + columns["lab"] + rng.integers(4, size=size)
    label = np.where(risk > np.median(risk), "ill", "well")
    x = np.stack([columns[name] for name in NAMES], axis=1)
    fitted = DecisionTreeClassifier(max_leaf_nodes=12, criterion=criterion, random_state=0)
    tree = from_sklearn(fitted.fit(x, label), NAMES, fitted.classes_, target="y")
    chart = np.where(np.arange(size) < told, label, "none")
    cells = {**columns, "chart": chart, "y": label} if told else {**columns, "y": label}
    table = table_of({name: own.tolist() for name, own in cells.items()})
    return tree, build_population(tree, table, sensitive="y", qi=[*cells][:-1])


def noted(monkeypatch, module):
    """Return problems that are put to a module from now on, with what was found of each."""
    asked = []

    def noting(problem, without, allowance):
        asked.append((problem, found := estimate_under_splits(problem, without, allowance)))
        return found

    monkeypatch.setattr(module, "estimate_under_splits", noting)
    return asked


# Trees of four draws put two problems at least, of which IPOPT solves each: the most of what these tests take.
DRAWN = pytest.mark.parametrize(
    ("criterion", "draws"),
    cases([("gini", 4), ("entropy", 4), ("gini", 24), ("entropy", 24)], quick=1, second=2),
)


@DRAWN
def test_the_estimate_under_split_rows_is_that_of_the_exact_problem(criterion, draws, monkeypatch):
    asked = noted(monkeypatch, target_inference)
    knowledge = Knowledge(split=SplitLevel(criterion), min_leaf=1)
    for seed in range(draws):
        tree, population = grown(seed, criterion)
        infer_target(TreeContext(tree, population, knowledge), ["age", "zip", "dose"], clock(5.0))
    assert len(asked) >= draws // 4
    assert are_those_of_the_exact_problem(asked, criterion) == 0


@DRAWN
def test_so_it_is_where_a_column_says_what_is_predicted_of_some_people(
    criterion, draws, monkeypatch
):
    asked = noted(monkeypatch, target_inference)
    knowledge = Knowledge(split=SplitLevel(criterion), min_leaf=1)
    for seed in range(draws):
        tree, population = grown(seed, criterion, told=40)
        seen = infer_target(
            TreeContext(tree, population, knowledge), ["age", "zip", "dose", "chart"], clock(5.0)
        )
        assert any("chart" in each for each in seen.said)
    assert len(asked) >= draws // 4
    assert are_those_of_the_exact_problem(asked, criterion) <= len(asked) // 4


def are_those_of_the_exact_problem(asked, criterion):
    """Hold estimates against IPOPT's; return how many were found one way only, as rows leave hardly any other table."""
    missed = 0
    for problem, found in asked:
        table = exact(problem, criterion)
        if table is None or found is None:
            missed += 1
            continue
        values = table.sum(axis=1) / problem.people[:, None]
        assert found.decided.all()
        assert found.values == pytest.approx(values, abs=1e-4)
        assert (found.low <= values + 1e-5).all()
        assert (found.high >= values - 1e-5).all()
    return missed


def exact(problem, criterion):
    """Return the people, (P, L, m), of the greatest entropy in which no split on a known column would be better.

    None where IPOPT finds none, as rows that hold only with equality leave it no interior.
    """
    group_of_cell = problem.held.over.argmax(axis=0)
    can = problem.net.movable.toarray()[problem.held.lump][:, group_of_cell] > 0
    can = can.reshape(len(can), *problem.classes.shape) & (problem.classes > 0)
    cells = np.argwhere(can)
    model = pyo.ConcreteModel()
    model.z, model.eps = pyo.Var(range(len(cells)), bounds=(1e-9, None)), pyo.Var()
    z = [model.z[number] for number in range(len(cells))]
    model.entropy = pyo.Objective(expr=sum(one * pyo.log(one) - model.eps * one for one in z))
    model.linear, model.split = pyo.ConstraintList(), pyo.ConstraintList()
    for profile, people in enumerate(problem.held.people.tolist()):
        model.linear.add(total(z, cells[:, 0] == profile) == people)
    sums = np.argwhere(problem.classes > 0)
    for leaf, klass in sums[:-1].tolist():  # the last follows from the others
        here = (cells[:, 1] == leaf) & (cells[:, 2] == klass)
        model.linear.add(total(z, here) == float(problem.classes[leaf, klass]))
    choice = problem.choice
    below = choice.below.toarray() > 0
    for (node, name), is_sure in choice.sure.items():
        if name not in choice.columns:
            continue
        inside = below[node][cells[:, 1]]
        value = np.unique(choice.columns[name].keys, return_inverse=True)[1].reshape(-1)[
            cells[:, 0]
        ]
        children = [
            problem.classes[below[each]].sum(axis=0) for each in choice.tree.nodes[node].children
        ]
        chosen = sum(impurity(each.tolist(), criterion) for each in children)
        for cut in np.flatnonzero(is_sure).tolist():
            sides = [inside & (value <= cut), inside & (value > cut)]
            if all(side.any() for side in sides):
                left = sum(impurity(of_classes(z, cells, side), criterion) for side in sides)
                model.split.add(chosen - left <= 1e-7)
    start = np.full(len(cells), float(problem.people.sum()) / len(cells))
    solution = door("auto")[1].opened(load_model(model)).solve(start, 0.0)
    if solution.status not in (Status.SOLVED, Status.ACCEPTABLE):
        return None
    table = np.zeros(can.shape)
    table[tuple(cells.T)] = solution.z
    return table


def total(z, some):
    return sum(z[number] for number in np.flatnonzero(some).tolist())


def of_classes(z, cells, some):
    return [total(z, some & (cells[:, 2] == klass)) + 1e-12 for klass in range(2)]


def impurity(counts, criterion):
    """Return what a branch leaves of impurity, times its people."""
    counts = [each for each in counts if not isinstance(each, float) or each > 0]
    people = sum(counts)
    if criterion == "gini":
        return people - sum(each**2 for each in counts) / people
    return -sum(each * pyo.log(each / people) for each in counts)
