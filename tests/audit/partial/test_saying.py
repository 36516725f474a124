"""What follows where other columns say in the table what a secret column is, by hand."""

import numpy as np
import pytest

from tests.audit.partial.test_feature import asked
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Node,
    Quality,
    Tree,
)


def split(name, values, left, columns):
    """Return a tree that asks whether a column has the first of its values, half of each leaf yes, and its people."""
    right = len(columns[name]) - left
    first, *others = values
    nodes = (
        Node(0, "root", None, (1, 2), Always(), "yes", left + right, None),
        Node(1, "1", 0, (), CategoryTest(name, (first,)), "yes", left, (left / 2, left / 2)),
        Node(
            2, "2", 0, (), CategoryTest(name, tuple(others)), "yes", right, (right / 2, right / 2)
        ),
    )
    features = (Feature(name, numeric=False, values=values),)
    tree = Tree(nodes, features, "y", ("yes", "no"), quality=Quality.EXACT)
    columns = {**columns, "y": ["yes", "no"] * (len(columns[name]) // 2)}
    qi = [each for each in columns if each != "y"]
    return tree, build_population(tree, table_of(columns), sensitive="y", qi=qi)


def test_a_hidden_column_that_the_tree_asks_about_says_the_secret_of_a_leaf():
    # Who is in the first leaf is a husband and so a man; of the others as many are men as in the table.
    kin = ["husband"] * 40 + ["single"] * 40
    sex = ["man"] * 40 + ["man", "woman"] * 20
    tree, people = split("kin", ("husband", "single"), 40, {"kin": kin, "sex": sex})
    seen = asked(tree, people, "sex", [], knows_target=False)
    assert seen.posterior.low[0] == pytest.approx([0.0, 0.0])
    assert seen.posterior.values[0] == pytest.approx([0.75, 0.25])
    assert seen.posterior.high[0] == pytest.approx([0.5 + 0.75 / 2, 0.25])
    assert not seen.worlds.certain.any()
    assert any("some values of kin determine sex, for 40 people" in each for each in seen.said)


def test_who_knows_such_a_column_is_certain_by_it_and_not_by_the_tree_and_that_stays_undecided():
    kin = ["husband"] * 40 + ["single"] * 40
    sex = ["man"] * 40 + ["man", "woman"] * 20
    tree, people = split("sex", ("man", "woman"), 60, {"sex": sex, "kin": kin})
    seen = asked(tree, people, "sex", ["kin"], knows_target=False)
    husband = seen.population.columns["kin"].categories.index("husband")
    at = np.flatnonzero(seen.population.columns["kin"].codes == husband)[0]
    # Without it 60 of 80 are men; with it all husbands are, and 20 of 40 singles.
    assert seen.posterior.low[:, 0] == pytest.approx([0.75 if row == at else 0.5 for row in (0, 1)])
    assert seen.posterior.high[:, 0] == pytest.approx([1 if row == at else 0.75 for row in (0, 1)])
    assert seen.worlds.low[at].tolist() == [20, 0]
    assert seen.worlds.reached_high[at].tolist() == [40, 0]
    assert seen.worlds.reached_high[1 - at].tolist() == [20, 20]


def test_a_class_that_all_of_one_value_have_says_it_to_who_knows_everybodys_class():
    marks = ["a", "b"] * 20
    tree, people = split("x", ("p", "q"), 20, {"x": ["p"] * 20 + ["q"] * 20, "mark": marks})
    seen = asked(tree, people, "mark", ["x"], knows_target=True)
    assert seen.posterior.high.max(axis=1) == pytest.approx(1.0)
    assert any("some values of y determine mark" in each for each in seen.said)
    assert not seen.worlds.certain.any()
    assert seen.worlds.reached_high.min(axis=1).tolist() == [0, 0, 0, 0]
    seen = asked(tree, people, "mark", ["x"], knows_target=False)
    assert seen.posterior.high == pytest.approx(0.5)


def test_indicators_of_the_secrets_attribute_leave_it_undecided():
    columns = {"x": ["p"] * 20 + ["q"] * 20, "c_red": ["1", "0"] * 20, "c_blue": ["0", "1"] * 20}
    tree, people = split("x", ("p", "q"), 20, columns)
    seen = asked(tree, people, "c_red", ["c_blue"], knows_target=False)
    assert "one attribute" in seen.posterior.reason
