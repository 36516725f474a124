"""Odd tables as columns that ID3 can split: each cell is in one category, whatever it holds."""

import numpy as np
import pytest

from treewarden.jobs.vertical.columns import (
    MISSING,
    NumberHandling,
    classes_of,
    coded_like,
    holding_of,
    ids_of,
)
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.read_table import read_table, table_of


def attribute(cells, numbers=NumberHandling.BINS, rows=None):
    """Return the one column of a table as an attribute."""
    return holding_of(table_of({"x": cells}), ["x"], None, (), numbers, rows=rows).attributes[0]


def cells_of(found):
    return [found.categories[code] for code in found.codes.tolist()]


def test_texts_are_categories_in_the_order_of_their_text():
    found = attribute(["b", "a", "c", "a"])
    assert (found.categories, found.edges, found.missing) == (("a", "b", "c"), None, None)
    assert cells_of(found) == ["b", "a", "c", "a"]


@pytest.mark.parametrize("empty", [None, "", " ", "?", "NA", "null"])
def test_missing_cells_are_a_category_behind_all_others(empty):
    found = attribute(["b", empty, "a"])
    assert (found.categories, found.missing) == (("a", "b", MISSING), 2)
    assert cells_of(found) == ["b", MISSING, "a"]


def test_a_category_called_missing_is_another_one():
    found = attribute(["missing", None, "a"])
    assert found.categories == ("a", "missing", "(missing)")
    assert cells_of(found) == ["missing", "(missing)", "a"]


@pytest.mark.parametrize("cells", [[None, None], ["", "?"], [float("nan"), None]])
def test_a_column_of_nothing_has_one_category(cells):
    found = attribute(cells)
    assert set(cells_of(found)) == {MISSING}
    assert len(found.categories) == 1


def test_up_to_ten_whole_numbers_are_categories_in_their_order_whether_numbers_or_text():
    for cells in ([10, 9, 2, None], ["10", " 9", "2.0", ""]):
        found = attribute(cells)
        assert (found.categories, found.edges) == (("2", "9", "10", MISSING), None)
        assert cells_of(found) == ["10", "9", "2", MISSING]


def test_other_numbers_come_into_five_bins_whose_edges_somebody_has():
    values = [0.5, *range(1, 20), None]
    found = attribute(values)
    assert found.edges == (3.0, 7.0, 11.0, 15.0)
    assert (len(found.categories), found.missing) == (6, 5)
    assert np.bincount(found.codes).tolist() == [4, 4, 4, 4, 4, 1]
    for cell, code in zip(values, found.codes.tolist(), strict=True):
        low, high = (-np.inf, *found.edges)[code % 5], (*found.edges, np.inf)[code % 5]
        assert code == 5 if cell is None else low < cell <= high


def test_numbers_of_which_most_are_equal_make_fewer_bins():
    assert attribute([0.5] * 20).categories == ("any",)
    found = attribute([0.5] * 19 + [0.25])
    assert (found.edges, found.categories) == ((), ("any",))
    found = attribute([0.5] * 10 + [1.5] * 10)
    assert (found.edges, found.categories) == ((0.5,), ("up to 0.5", "over 0.5"))


def test_one_text_among_numbers_makes_all_of_them_text():
    found = attribute(["1", "2.5", "many"])
    assert (found.categories, found.edges) == (("1", "2.5", "many"), None)


def test_numbers_can_be_refused_and_texts_are_taken_all_the_same():
    with pytest.raises(TableError, match="'x' holds numbers"):
        attribute(["1", "2"], NumberHandling.REFUSE)
    assert attribute(["1", "many"], NumberHandling.REFUSE).categories == ("1", "many")


def test_only_what_the_chosen_records_hold_is_a_category():
    found = attribute(["b", "a", None, "c"], rows=np.array([3, 0, 0]))
    assert (found.categories, cells_of(found)) == (("b", "c"), ["c", "b", "b"])


def test_a_thousand_values_are_refused_and_one_less_is_not():
    assert len(attribute([f"t{each}" for each in range(999)]).categories) == 999
    with pytest.raises(TableError, match="1,000 different values"):
        attribute([f"t{each}" for each in range(1_000)])


def asked(known, cells):
    """Return what the branches of a column's attribute are for cells of another table: None where there is none."""
    holding = holding_of(table_of({"x": known}), ["x"], None, (), NumberHandling.BINS)
    own = holding.attributes[0]
    found = coded_like(table_of({"x": cells}), holding, np.arange(len(cells))).attributes[0]
    places = [found.categories[code] for code in found.codes.tolist()]
    return [each if each in own.categories else None for each in places]


def test_values_that_nobody_had_have_no_branch():
    assert asked(["a", "b"], ["b", "c", None, "a"]) == ["b", None, None, "a"]
    assert asked(["a", None], ["c", "", "a"]) == [None, MISSING, "a"]
    assert asked([1, 2, 3], ["2", "2.0", "4", "many"]) == ["2", "2", None, None]


def test_numbers_asked_about_come_into_the_bins_that_are_known():
    known = [*range(20)]
    low, high = "up to 3", "over 15"
    assert asked(known, [-100, 3, 1e9]) == [low, low, high]
    assert asked(known, ["-100", "", "16"]) == [low, None, high]
    assert asked([*known, None], ["-100", "", "16"]) == [low, MISSING, high]
    with pytest.raises(TableError, match="not a number"):
        asked(known, ["1", "many"])


def test_classes_are_two_or_more_and_everybody_has_one_that_is_agreed_on():
    table = table_of({"c": ["yes", "no", None, "yes"], "one": ["a"] * 4})
    assert classes_of(table, "c") == ("no", "yes")
    with pytest.raises(TableError, match="has 1 value"):
        classes_of(table, "one")
    with pytest.raises(TableError, match="1 records have no class"):
        holding_of(table, [], "c", ("no", "yes"), NumberHandling.BINS)
    with pytest.raises(TableError, match="4 records have a class"):
        holding_of(table, [], "one", ("no", "yes"), NumberHandling.BINS)
    whole = table_of({"c": [" yes", "no "]})
    assert holding_of(whole, [], "c", ("no", "yes"), NumberHandling.BINS).classes.tolist() == [1, 0]


def test_ids_are_text_and_every_record_has_one(tmp_path):
    assert ids_of(table_of({"id": [3, 1, 2]}), "id") == ["3", "1", "2"]
    with pytest.raises(TableError, match="2 records have no id"):
        ids_of(table_of({"id": ["a", None, ""]}), "id")
    (tmp_path / "t.csv").write_text("id\n007\n7\n1e3\n")
    assert ids_of(read_table(tmp_path / "t.csv"), "id") == ["007", "7", "1e3"]
