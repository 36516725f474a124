"""What follows where known columns say in the table what the tree predicts, by hand and against every table."""

import numpy as np
import pytest

from audit.adversary.knowledge import Knowledge, LeafLevel, SplitLevel
from audit.partial.domains import hidden_of
from audit.partial.leaf_table import leaf_table
from audit.partial.reach import knower, reach
from audit.partial.saying import OPEN
from audit.partial.seen import seen_by
from audit.partial.with_outcome import with_outcome
from audit.people.merged import merged
from audit.people.population import build_population
from audit.worlds.clock import clock
from benchmarks.partial_cases import every_table, tree_and_people
from ppdm_models.records.read_table import table_of
from ppdm_models.tree.predicate import Always, CategoryTest, NumericTest
from ppdm_models.tree.tree import Feature, Node, Quality, Tree
from tests.audit.partial.test_feature import asked

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
    seen = seen_by(town_tree(), people, NO_SPLITS, ["code"], clock(5.0))
    assert seen.posterior.low == pytest.approx(np.minimum(seen.posterior.low, 0.5))
    assert seen.posterior.high.max(axis=1) == pytest.approx(1.0)
    assert seen.worlds.open_profiles.all()
    assert not seen.worlds.certain.any()
    assert any("code says what y is, of 50 people" in each for each in seen.said)


def test_a_code_of_some_people_changes_what_is_believed_of_the_others():
    people = townspeople(lambda y, n: "sick" if y == "no" and n % 2 else "")
    sick = (people.columns["code"].codes == people.columns["code"].categories.index("sick")).sum()
    seen = seen_by(town_tree(), people, NO_SPLITS, ["code"], clock(5.0))
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
    seen = seen_by(town_tree(), people, labels, ["code"], clock(5.0))
    assert "which is not used" in seen.posterior.reason
    assert seen.worlds.open_profiles.all()


def test_what_a_tested_column_says_of_some_people_is_what_the_tree_was_grown_from():
    people = townspeople(lambda y, _: "same")
    seen = seen_by(town_tree(), people, NO_SPLITS, ["town"], clock(5.0))
    assert not seen.said
    pure = town_tree((25.0, 0.0))
    columns = {"town": ["x"] * 25 + ["y"] * 25, "y": ["yes"] * 25 + ["no"] * 25}
    people = build_population(pure, table_of(columns), sensitive="y")
    seen = seen_by(pure, people, NO_SPLITS, ["town"], clock(5.0))
    assert any("town says what y is" in each for each in seen.said)


@pytest.mark.parametrize("seed", range(40))
def test_what_is_proved_with_known_classes_is_that_of_every_table(seed):
    rng = np.random.default_rng(seed)
    tree, population = tree_and_people(rng, 5)
    known = ["x0"] if seed % 2 else ["x1"]
    people, of = merged(population, known)
    leaves = leaf_table(tree, population, NO_SPLITS)
    truth = people.truth
    said = np.where((truth > 0).sum(axis=1) == 1, truth.argmax(axis=1), OPEN)
    who = knower(tree, people.columns, hidden_of(tree, population, known), {}, len(people.counts))
    found = reach(who)
    believed, worlds, gap = with_outcome(
        found, said, population, people, of, leaves, SplitLevel.NONE, (), 10**6
    )
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
    assert any("code says what y is, of 60 people" in each for each in seen.said)


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
    assert "which is not used" in seen.posterior.reason
