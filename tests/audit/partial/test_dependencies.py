"""What known columns of a table give away of hidden ones."""

import numpy as np

from audit.partial.dependencies import closed, indicators
from audit.people.population import Population
from audit.reading import Undetermined
from ppdm_models.tree.column import CategoricalColumn, NumericColumn

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
    found = closed(
        people({"school": ["a", "b", "c"], "years": [8, 10, 12]}, [100, 100, 100]), ["school"]
    )
    assert found.known == ("school", "years")
    assert "school says what years is" in found.said[0]


def test_a_value_that_says_another_is_a_guess_of_those_who_have_it():
    table = {"kin": ["husband", "child", "child"], "sex": ["M", "F", "M"]}
    found = closed(people(table, [100, 50, 50]), ["kin"])
    assert found.known == ("kin",)
    assert found.guesses["sex"].is_known.tolist() == [True, False, False]
    assert "of 100 people" in found.said[0]


def test_few_who_agree_by_chance_give_nothing_away():
    table = {"street": ["a", "b", "c", "d"], "sex": ["M", "F", "M", "F"]}
    found = closed(people(table, [3, 3, 3, 3]), ["street"])
    assert found.known == ("street",)
    assert not found.guesses


def test_what_all_have_is_no_surprise_and_what_is_never_known_is_not_concluded():
    table = {"school": ["a", "b"], "years": [8, 10], "country": ["x", "x"]}
    everyone = people(table, [100, 100])
    assert closed(everyone, ["school"], never=["years"]).known == ("school",)
    assert "country" not in closed(everyone, ["school"]).known


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
    found = closed(everyone, ["town_north"])
    assert found.known == ("town_north", "town_south", "town_west")
    assert "who knows one is taken to know all" in found.said[0]
    assert closed(everyone, ["town_north"], never=["town_west"]).known == (
        "town_north",
        "town_south",
    )
