"""Which feature of a LightGBM file has which list of category names: the only one that can, or nobody's guess."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit import places
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.files.load import load_model, read_model
from treewarden.ppdm_models.formats.lightgbm._model import owners_of
from treewarden.ppdm_models.tables.matching import matched
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.routing import route

HALF_NAMED = places.DATA / "half_named"
"""German credit, with three columns of the type category and one declared as categorical by its number."""
SMALL = st.integers(0, 4)


@given(st.lists(SMALL, max_size=4), st.lists(SMALL, max_size=6))
def test_lists_have_owners_where_there_is_one_way(sizes, ends):
    ways = [
        list(each)
        for each in combinations(range(len(ends)), len(sizes))
        if all(ends[at] < size for at, size in zip(each, sizes, strict=True))
    ]
    assert owners_of(sizes, ends) == (ways[0] if len(ways) == 1 else None)


def test_categories_that_are_half_named_are_read_where_one_way_fits():
    model = read_model(HALF_NAMED / "model.txt")
    values = {feature.name: feature.values for feature in model.features if feature.values}
    assert values["housing"] == ("A151", "A152", "A153")
    assert values["checking_status"] == ("A11", "A12", "A13", "A14")
    assert values["installment_rate"] == ("1", "2", "3", "4")
    table = matched(model, read_table(HALF_NAMED / "people.csv")).table
    columns = {feature.name: table.column(feature) for feature in model.features}
    for tree in model.trees:
        stops = np.bincount(route(tree, columns), minlength=len(tree.nodes))
        assert [stops[leaf.index] for leaf in tree.leaves] == [leaf.records for leaf in tree.leaves]


def test_categories_that_several_may_own_are_asked_for():
    data = (HALF_NAMED / "model.txt").read_bytes()
    lists = b'pandas_categorical:[["A11", "A12", "A13", "A14", "A15"]]'
    start = data.index(b"pandas_categorical:")
    model = load_model(data[:start] + lists + b"\n", "model.txt")
    assert any("'checking_status'" in note and "it is not certain" in note for note in model.notes)
    with pytest.raises(TableError, match="has categories that model.txt does not name; .*train ag"):
        matched(model, read_table(HALF_NAMED / "people.csv"))
