"""What known columns of a table give away of hidden ones."""

import numpy as np
import pytest

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import SplitLevel
from treewarden.audit.partial.functional_dependencies import Codes, attribute_closure, indicators
from treewarden.audit.partial.target_inference import infer_target
from treewarden.audit.partial.tree_context import TreeContext
from treewarden.audit.population.population import Population, build_population
from treewarden.audit.progress import clock
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn
from treewarden.ppdm_models.tree.tree import Feature

NO_TRUTH = Undetermined("not asked")


def people(columns, counts=None):
    made = {
        name: NumericColumn(np.array(values, dtype=float))
        if not isinstance(values[0], str)
        else _categories(values)
        for name, values in columns.items()
    }
    size = len(next(iter(columns.values())))
    counts = np.array(counts if counts is not None else [1] * size, dtype=float)
    return Population(tuple(made), made, counts, np.zeros(size, dtype=np.intp), NO_TRUTH)


def _categories(values):
    names = tuple(dict.fromkeys(values))
    return CategoricalColumn(np.array([names.index(each) for each in values]), names)


def test_a_column_that_says_another_is_known_with_it():
    found = attribute_closure(
        Codes(people({"school": ["a", "b", "c"], "years": [8, 10, 12]}, [100, 100, 100])),
        ["school"],
    )
    assert found.known == ("school", "years")
    assert "school determines years" in found.said[0]


def test_a_value_that_says_another_is_a_guess_of_those_who_have_it():
    table = {"kin": ["husband", "child", "child"], "sex": ["M", "F", "M"]}
    found = attribute_closure(Codes(people(table, [100, 50, 50])), ["kin"])
    assert found.known == ("kin",)
    assert found.guesses["sex"].is_known.tolist() == [True, False, False]
    assert "for 100 people" in found.said[0]


def test_few_who_agree_by_chance_give_nothing_away():
    table = {"street": ["a", "b", "c", "d"], "sex": ["M", "F", "M", "F"]}
    found = attribute_closure(Codes(people(table, [3, 3, 3, 3])), ["street"])
    assert found.known == ("street",)
    assert not found.guesses


def test_what_all_have_is_no_surprise_and_what_is_never_known_is_not_concluded():
    table = {"school": ["a", "b"], "years": [8, 10], "country": ["x", "x"]}
    everyone = people(table, [100, 100])
    assert attribute_closure(Codes(everyone), ["school"], never=["years"]).known == ("school",)
    assert "country" not in attribute_closure(Codes(everyone), ["school"]).known


def test_indicators_of_one_attribute_are_known_together():
    table = {
        "town_north": [1, 0, 0, 0],
        "town_south": [0, 1, 0, 0],
        "town_west": [0, 0, 1, 0],
        "ill_now": [1, 1, 0, 0],
        "ill_before": [1, 0, 1, 0],
        "age": [1, 0, 1, 0],
    }
    everyone = people(table)
    assert list(indicators(everyone)) == [("town_north", "town_south", "town_west")]
    found = attribute_closure(Codes(everyone), ["town_north"])
    assert found.known == ("town_north", "town_south", "town_west")
    assert "An adversary who knows one is assumed to know all" in found.said[0]
    assert attribute_closure(Codes(everyone), ["town_north"], never=["town_west"]).known == (
        "town_north",
        "town_south",
    )


def test_indicators_may_be_truth_values_and_lack_some():
    nan = float("nan")
    table = {
        "town_north": ["True", "False", "False"],
        "town_south": ["False", "True", "False"],
        "town_west": [0, nan, 1],
        "town_size": ["small", "large", "small"],
    }
    assert list(indicators(people(table))) == [("town_north", "town_south", "town_west")]


def test_numbers_next_to_each_other_give_away_what_all_of_them_have():
    table = {"age": list(range(60)), "at_school": ["yes"] * 18 + ["no"] * 42}
    assert attribute_closure(Codes(people(table)), ["age"]).known == ("age", "at_school")
    table["at_school"][9] = "no"  # so that what is left of either side are too few
    found = attribute_closure(Codes(people(table)), ["age"])
    assert found.guesses["at_school"].is_known.tolist() == [False] * 18 + [True] * 42


def test_missing_numbers_lie_next_to_none():
    # The four oldest are women, as are the three whose age is missing: together they would be no chance.
    ages = [*map(float, range(44)), *[float("nan")] * 3]
    table = {"age": ages, "sex": ["M"] * 40 + ["F"] * 7}
    everyone = people(table)
    assert not attribute_closure(Codes(everyone), ["age"]).guesses
    assert attribute_closure(Codes(everyone), ["age"]).known == ("age",)


def test_the_estimate_spans_what_is_believed_with_and_without_what_is_given_away():
    # All 40 husbands are men, as are 20 of the 40 others; 54 of the 60 men are ill and 4 of the 20 women.
    groups = [("husband", "M", 36, 4), ("none", "M", 18, 2), ("none", "F", 4, 16)]
    rows = [
        (kin, sex, ill)
        for kin, sex, *counts in groups
        for ill, count in zip(("yes", "no"), counts, strict=True)
        for _ in range(count)
    ]
    names = ("kin", "sex", "ill")
    table = table_of({name: [row[at] for row in rows] for at, name in enumerate(names)})
    column = {name: table.column(Feature(name, numeric=False)) for name in names}
    classes = np.eye(2)[column["ill"].codes]
    tree = grow_id3({"sex": column["sex"]}, classes, column["ill"].categories, min_records=1)
    population = build_population(tree, table, sensitive="ill", qi=("kin", "sex"))
    seen = infer_target(
        TreeContext(tree, population, Knowledge(split=SplitLevel.NONE)), ["kin"], clock(5.0)
    )
    yes = column["ill"].categories.index("yes")
    husband = seen.population.columns["kin"].categories.index("husband")
    order = np.argsort(seen.population.columns["kin"].codes != husband)
    own = seen.posterior
    assert own.values[order, yes] == pytest.approx([0.9, (0.9 + 0.2) / 2])
    assert own.low[order, yes] == pytest.approx([29 / 40, (0.9 + 0.2) / 2])
    assert own.high[order, yes] == pytest.approx([0.9, 29 / 40])
