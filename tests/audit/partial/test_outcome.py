"""What follows where known columns say in the table what the tree predicts, by hand and against every table."""

from dataclasses import replace

import numpy as np
import pytest

from tests.audit.partial.test_feature import asked
from tests.judges.partial_cases import every_table, tree_and_people
from tests.kit.tiers import seeds
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.options import DEFAULT
from treewarden.audit.partial.fitting.flows import AdversaryBudget
from treewarden.audit.partial.functional_dependencies import AdversaryKnowledge, AttributeClosure
from treewarden.audit.partial.partial_view import branches, partial_view
from treewarden.audit.partial.reachability import reach
from treewarden.audit.partial.target_inference import infer_target, infer_with_outcome
from treewarden.audit.partial.target_proofs import TargetProblem
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.partial.value_rules import OPEN
from treewarden.audit.population.population import build_population
from treewarden.audit.population.record_linkage import merged
from treewarden.audit.population.target import members
from treewarden.audit.progress import clock
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest, NumericTest
from treewarden.ppdm_models.tree.tree import Feature, Node, Quality, Tree

NO_SPLITS = Knowledge(split=SplitLevel.NONE)


def town_tree(yes=(20.0, 5.0)):
    """Return a tree that asks for the town: of x there are so many yes and no, of y as many the other way round."""
    no = yes[::-1]
    nodes = (
        Node(0, "root", None, (1, 2), Always(), "yes", 2 * sum(yes), (sum(yes), sum(yes))),
        Node(1, "1", 0, (), CategoryTest("town", ("x",)), "yes", sum(yes), yes),
        Node(2, "2", 0, (), CategoryTest("town", ("y",)), "no", sum(yes), no),
    )
    features = (Feature("town", numeric=False, values=("x", "y")),)
    return Tree(nodes, features, "y", ("yes", "no"), quality=Quality.EXACT)


def townspeople(code):
    """Return the people of that tree, with a code of what it predicts."""
    columns = {
        "town": ["x"] * 25 + ["y"] * 25,
        "y": ["yes"] * 20 + ["no"] * 5 + ["yes"] * 5 + ["no"] * 20,
    }
    columns["code"] = [code(each, number) for number, each in enumerate(columns["y"])]
    table = table_of(columns)
    return build_population(town_tree(), table, sensitive="y", qi=["town", "code"])


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(lambda y, _: {"yes": "1", "no": "2"}[y], id="categories"),
        pytest.param(lambda y, n: {"yes": 1.0, "no": 7.0}[y] + n / 100, id="numbers"),
    ],
)
def test_who_knows_a_code_of_the_target_may_know_everybodys(code):
    people = townspeople(code)
    seen = infer_target(TreeContext(town_tree(), people, NO_SPLITS), ["code"], clock(5.0))
    assert seen.posterior.low == pytest.approx(np.minimum(seen.posterior.low, 0.5))
    assert seen.posterior.high.max(axis=1) == pytest.approx(1.0)
    assert seen.worlds.open_profiles.all()
    assert not seen.worlds.certain.any()
    assert any("code determines y, for 50 people" in each for each in seen.said)


def test_a_code_of_some_people_changes_what_is_believed_of_the_others():
    people = townspeople(lambda y, n: "sick" if y == "no" and n % 2 else "")
    sick = (people.columns["code"].codes == people.columns["code"].categories.index("sick")).sum()
    seen = infer_target(TreeContext(town_tree(), people, NO_SPLITS), ["code"], clock(5.0))
    assert sick
    codes = seen.population.columns["code"]
    at = int(np.flatnonzero(codes.codes == codes.categories.index("sick"))[0])
    # Of 25 without the mark, and 25 who could have it, 12 are marked and "no": so 13 of the other 38 are.
    assert seen.population.counts[at] == 12
    assert seen.posterior.high[at, 1] == pytest.approx(1.0)
    assert seen.posterior.low[1 - at, 1] == pytest.approx(13 / 38)
    assert seen.posterior.high[1 - at, 1] == pytest.approx(0.5)
    assert seen.worlds.open_profiles.tolist() == [row == at for row in (0, 1)]


def test_where_classes_are_not_counted_a_code_leaves_the_estimate_open():
    people = townspeople(lambda y, _: y)
    labels = NO_SPLITS.model_copy(update={"leaf": LeafLevel.LABELS})
    seen = infer_target(TreeContext(town_tree(), people, labels), ["code"], clock(5.0))
    assert "This is not used" in seen.posterior.reason
    assert seen.worlds.open_profiles.all()


def test_what_a_tested_column_says_of_some_people_is_what_the_tree_was_grown_from():
    people = townspeople(lambda y, _: "same")
    seen = infer_target(TreeContext(town_tree(), people, NO_SPLITS), ["town"], clock(5.0))
    assert not seen.said
    pure = town_tree((25.0, 0.0))
    columns = {"town": ["x"] * 25 + ["y"] * 25, "y": ["yes"] * 25 + ["no"] * 25}
    people = build_population(pure, table_of(columns), sensitive="y")
    seen = infer_target(TreeContext(pure, people, NO_SPLITS), ["town"], clock(5.0))
    assert any("town determines y" in each for each in seen.said)


@pytest.mark.parametrize("seed", seeds(40, quick=8))
def test_what_is_proved_with_known_classes_is_that_of_every_table(seed):
    rng = np.random.default_rng(seed)
    tree, population = tree_and_people(rng, 5)
    known = ["x0"] if seed % 2 else ["x1"]
    people, of = merged(population, known)
    context = TreeContext(tree, population, NO_SPLITS)
    leaves, truth = context.leaves, people.truth
    said = np.where((truth > 0).sum(axis=1) == 1, truth.argmax(axis=1), OPEN)
    hidden = context.hidden_from(known)
    view = partial_view(branches(tree), people.columns, hidden, {}, len(people.counts))
    closure = AttributeClosure(tuple(known), {}, (), {})
    knowledge = AdversaryKnowledge(closure, people, of, hidden, {}, (view,))
    budget = AdversaryBudget(enforcing=1e9, flows=10**6)
    problem = TargetProblem(context, knowledge, (), None, clock(60.0), DEFAULT, budget)
    found = reach(view)
    inference = infer_with_outcome(problem, found, said, budget.flows)
    believed, worlds, gap = inference.posterior, inference.worlds, inference.gap
    tables = every_table(tree, population, known)
    for profile, klass in enumerate(said.tolist()):
        if klass != OPEN:
            counts = people.counts[profile]
            tables = tables[tables[:, profile, klass] == counts]
    assert (worlds.low == tables.min(axis=0)).all()
    assert (worlds.high == tables.max(axis=0)).all()
    assert not worlds.open_profiles.any()
    assert gap <= 1e-9
    assert believed.values == pytest.approx(scaled(found, said, people, leaves), abs=1e-4)


def scaled(found, said, people, leaves):
    """Return the maximum-entropy shares, (P, m), by scaling the whole table of profiles, leaves and classes in turn."""
    able = found.over(leaves.nodes).toarray()[found.lump_of]
    wanted = leaves.system.case.population.truth
    table = able[:, :, None] * np.ones(wanted.shape)
    for profile, klass in enumerate(said.tolist()):
        if klass != OPEN:
            table[profile, :, np.arange(wanted.shape[1]) != klass] = 0.0
    for _ in range(20_000):
        before, total = table.copy(), table.sum(axis=0)
        table *= np.divide(wanted, total, out=np.zeros_like(total), where=total > 0)
        table *= (people.counts / table.sum(axis=(1, 2)))[:, None, None]
        if np.abs(table - before).max() < 1e-12:
            break
    return table.sum(axis=1) / people.counts[:, None]


def measured_tree():
    """Return M9 ten times over: who is low has class 0 three times of four, who is high has class 1."""
    nodes = (
        Node(0, "root", None, (1, 2), Always(), "0", 60.0, (30.0, 30.0)),
        Node(
            1, "low", 0, (), NumericTest("s", high=10.0, high_closed=True), "0", 40.0, (30.0, 10.0)
        ),
        Node(2, "high", 0, (), NumericTest("s", low=10.0), "1", 20.0, (0.0, 20.0)),
    )
    return Tree(nodes, (Feature("s", numeric=True),), "y", ("0", "1"), quality=Quality.EXACT)


def measured(code):
    columns = {"s": [5.0] * 40 + [12.0] * 20, "y": ["0"] * 30 + ["1"] * 30}
    columns["code"] = [code(each, number) for number, each in enumerate(columns["y"])]
    return build_population(measured_tree(), table_of(columns), sensitive="y", qi=["s", "code"])


def test_who_knows_a_code_of_the_target_learns_of_features_what_he_does_who_knows_the_target():
    people = measured(lambda y, _: {"0": "well", "1": "ill"}[y])
    seen = asked(measured_tree(), people, "s", ["code"], knows_target=False, bins=[10.5])
    codes = seen.population.columns["code"]
    well = int(np.flatnonzero(codes.codes == codes.categories.index("well"))[0])
    values = {True: (2 / 3, 1.0), False: (1 / 3, 2 / 3)}
    for row in (0, 1):
        low, high = values[row == well]
        assert seen.posterior.low[row, 0] == pytest.approx(low)
        assert seen.posterior.high[row, 0] == pytest.approx(high)
    assert seen.worlds.open_profiles.tolist() == [row == well for row in (0, 1)]
    assert any("code determines y, for 60 people" in each for each in seen.said)


def test_a_code_that_tells_the_class_of_some_people_counts_for_features_too():
    people = measured(lambda y, n: "well" if y == "0" and n < 20 else "")
    seen = asked(measured_tree(), people, "s", ["code"], knows_target=False, bins=[10.5])
    codes = seen.population.columns["code"]
    well = int(np.flatnonzero(codes.codes == codes.categories.index("well"))[0])
    # Those 20 are low, as nobody of class 0 is high: so 20 of the other 40 are.
    assert seen.posterior.high[well, 0] == pytest.approx(1.0)
    assert seen.posterior.low[1 - well, 0] == pytest.approx(0.5)
    labels = NO_SPLITS.model_copy(update={"leaf": LeafLevel.LABELS})
    seen = asked(
        measured_tree(), people, "s", ["code"], knows_target=False, knowledge=labels, bins=[10.5]
    )
    assert "This is not used" in seen.posterior.reason


def answers(columns, nodes, known, secret=""):
    """Return what somebody makes of people of a tree, whose secret column is named; "" for what it predicts."""
    names = [name for name in columns if name != "y"]
    features = tuple(
        Feature(name, numeric=True)
        if not isinstance(columns[name][0], str)
        else Feature(name, numeric=False, values=tuple(sorted(set(columns[name]))))
        for name in names
    )
    tree = Tree(tuple(nodes), features, "y", ("no", "yes"), quality=Quality.EXACT)
    table = table_of(columns)
    bare = build_population(replace(tree, quality=Quality.ABSENT), table, sensitive="y")
    passing = members(tree, bare.leaf)
    counts = [bare.truth[passing.profiles_at(node.index)].sum(axis=0) for node in tree.nodes]
    told = zip(tree.nodes, counts, strict=True)
    tree = replace(
        tree,
        nodes=tuple(
            replace(node, records=float(own.sum()), class_counts=tuple(own.tolist()))
            for node, own in told
        ),
    )
    people = build_population(tree, table, sensitive="y")
    if secret:
        return asked(tree, people, secret, known, knows_target=False)
    return infer_target(TreeContext(tree, people, NO_SPLITS), known, clock(5.0))


def repeated(*rows):
    """Return columns of so many people of each row, the number last."""
    return [
        list(each) for each in zip(*(row[:-1] for row in rows for _ in range(row[-1])), strict=True)
    ]


def test_which_side_of_a_cut_is_given_away_is_not_taken_for_the_value():
    rows = [("z", 2.0, "q", 40), ("z", 5.0, "p", 20), ("z", 5.0, "q", 20), ("b", 0.0, "p", 30)]
    k, d, a = repeated(*rows, ("b", 0.0, "q", 30))
    nodes = (
        Node(0, "root", None, (1, 2), Always()),
        Node(1, "l", 0, (), NumericTest("D", high=1.5, high_closed=True)),
        Node(2, "g", 0, (3, 4), NumericTest("D", low=1.5)),
        Node(3, "p", 2, (), CategoryTest("A", ("p",))),
        Node(4, "q", 2, (), CategoryTest("A", ("q",))),
    )
    seen = answers({"K": k, "D": d, "A": a, "y": ["no", "yes"] * 70}, nodes, ["K"], "A")
    # Who is known for z is behind the cut, and of these 60 of 80 have q.
    assert seen.posterior.values.max() == pytest.approx(0.75)
    codes = [(f"{'a' if n <= 10 else 'b'}", float(n), 5) for n in range(1, 41)]
    k, d = repeated(*codes)
    y = ["no" if each <= 20 else "yes" for each in d]
    nodes = (
        *nodes[:1],
        *(
            replace(each, test=cut)
            for each, cut in zip(
                nodes[1:3],
                (NumericTest("D", high=10.5, high_closed=True), NumericTest("D", low=10.5)),
                strict=True,
            )
        ),
        *(
            replace(each, test=CategoryTest("C", (value,)))
            for each, value in zip(nodes[3:], "xy", strict=True)
        ),
    )
    seen = answers({"K": k, "D": d, "C": ["x", "y"] * 100, "y": y}, nodes, ["K"])
    # Who is behind this cut has either outcome: 10 of 30 values say "no".
    assert seen.posterior.values == pytest.approx(np.array([[1, 0], [1 / 3, 2 / 3]]))


def test_who_knows_a_code_of_the_outcome_and_nothing_else_said_is_spanned_too():
    rows = [
        *(
            ("x0", "h2", "q", "no", 2500),
            ("x0", "h3", "q", "no", 2400),
            ("x0", "h3", "p", "no", 100),
        ),
        *(
            ("x1", "h1", "p", "yes", 450),
            ("x1", "h2", "q", "yes", 440),
            ("x1", "h2", "p", "yes", 10),
        ),
        *(("x1", "h3", "p", "no", 600), ("x1", "h3", "q", "no", 10)),
    ]
    x, h, a, y = repeated(*rows)
    nodes = (
        Node(0, "root", None, (1, 2), Always()),
        Node(1, "L0", 0, (), CategoryTest("X", ("x0",))),
        Node(2, "n", 0, (3, 4, 5), CategoryTest("X", ("x1",))),
        Node(3, "L1", 2, (), CategoryTest("H", ("h1",))),
        Node(4, "L2", 2, (), CategoryTest("H", ("h2",))),
        Node(5, "m", 2, (6, 7), CategoryTest("H", ("h3",))),
        Node(6, "L3", 5, (), CategoryTest("A", ("p",))),
        Node(7, "L4", 5, (), CategoryTest("A", ("q",))),
    )
    code = ["1" if each == "yes" else "2" for each in y]
    seen = answers({"X": x, "H": h, "A": a, "K": code, "y": y}, nodes, ["X", "K"], "A")
    people = seen.population
    codes = people.columns["K"]
    ill = (codes.codes == codes.categories.index("1")) & (people.counts == 900)
    # Without what h1 says of A: as common as q is in the table, in both leaves that hold somebody ill.
    assert seen.posterior.high[ill].max(axis=0)[1] == pytest.approx(5350 / 6510)


def test_columns_that_exclude_values_of_the_secret_leave_it_open():
    job, age = repeated(
        *((job, age, 100) for job in ("clerk", "driver", "nurse") for age in (30.0, 50.0))
    )
    y = ["yes" if (j == "nurse") == (a == 30) else "no" for j, a in zip(job, age, strict=True)]
    clerk = ["y" if each == "clerk" else "n" for each in job]
    driver = ["y" if each == "driver" else "n" for each in job]
    nodes = (
        Node(0, "root", None, (1, 2), Always()),
        Node(1, "clerk", 0, (), CategoryTest("clerk", ("y",))),
        Node(2, "none", 0, (3, 4), CategoryTest("clerk", ("n",))),
        Node(3, "driver", 2, (), CategoryTest("driver", ("y",))),
        Node(4, "nurse", 2, (), CategoryTest("driver", ("n",))),
    )
    columns = {"job": job, "age": age, "clerk": clerk, "driver": driver, "y": y}
    seen = answers(columns, nodes, ["age"], "job")
    assert "exclude some of job" in seen.posterior.reason


def test_indicators_of_a_secret_say_of_hidden_values_only_what_each_says_itself():
    job, age = repeated(
        *((job, age, 40) for job in ("clerk", "driver", "nurse") for age in ("y", "z"))
    )
    marks = {f"job_{one}": [str(int(each == one)) for each in job] for one in sorted(set(job))}
    nodes = (
        Node(0, "root", None, (1, 2), Always()),
        Node(1, "clerk", 0, (), CategoryTest("job_clerk", ("1",))),
        Node(2, "none", 0, (3, 4), CategoryTest("job_clerk", ("0",))),
        Node(3, "driver", 2, (), CategoryTest("job_driver", ("1",))),
        Node(4, "nurse", 2, (), CategoryTest("job_driver", ("0",))),
    )
    columns = {"job": job, "age": age, **marks, "y": ["no", "yes"] * 120}
    seen = answers(columns, nodes, ["age"], "job")
    assert "no inference" in seen.posterior.reason
    assert not seen.worlds.certain.any()
