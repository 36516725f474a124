"""Names that tools change on the way from a table to a model file, and names that only look alike."""

from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.rows import rows
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.matching import are_alike, matched, target_in
from treewarden.ppdm_models.tables.read_table import table_of, table_of_arrow
from treewarden.ppdm_models.tree.tree import Feature, Node, Tree


def model(*names, target="ill"):
    features = tuple(Feature(name, numeric=True) for name in names)
    nodes = (Node(0, "root", None, (), score="no"),)
    return Tree(nodes=nodes, features=features, target=target, classes=("no", "yes"), source="m")


def table(*names):
    return table_of({name: [k, k + 1.0] for k, name in enumerate(names)}, "t.csv")


def columns_of(found):
    return list(found.table.columns)


@rows(
    ("in_file", "in_table"),
    [
        ("mean_radius", "mean radius"),
        ("mean.radius", "mean radius"),
        ("MeanRadius", "mean_radius"),
        ("X1st", "1st"),
        ("X_id", "_id"),
        ("sepal.length..cm.", "sepal length (cm)"),
        ("sepal_length_(cm)", "sepal length (cm)"),
        ("sepal length (cm)", "sepal.length..cm."),
        ("hours.per.week", "hours-per-week"),
        ("if.", "if"),
        ("größe", "GRÖSSE"),
        ("e\u0301ge", "\u00e9ge"),
    ],
)
def test_names_are_alike_where_only_spelling_parts_them(in_file, in_table):
    assert are_alike(in_file, in_table)
    assert are_alike(in_table, in_file)
    found = matched(model(in_file), table(in_table, "ill"), sensitive="ill")
    assert columns_of(found) == [in_file, "ill"]
    assert repr(in_table) in found.notes[0]
    assert repr(in_file) in found.notes[0]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("x1_1", "x11"),
        ("x1.10", "x11.0"),
        ("age", "ages"),
        ("a-b", "a+b"),
        ("_", "."),
        ("x", ""),
        ("pay<5", "pay>5"),
    ],
)
def test_names_that_may_be_of_different_things_are_not_alike(one, other):
    assert not are_alike(one, other)


@given(st.text(max_size=12), st.text(max_size=12))
def test_being_alike_goes_both_ways(one, other):
    assert are_alike(one, other) == are_alike(other, one)


def test_a_name_that_fits_exactly_goes_first_and_nothing_is_said():
    found = matched(model("a.b", "c"), table("a_b", "a.b", "c", "ill"), sensitive="ill")
    assert columns_of(found) == ["a_b", "a.b", "c", "ill"]
    assert found.notes == ()


def test_one_feature_with_two_columns_is_refused_and_both_are_named():
    with pytest.raises(TableError, match=r"'a\.b' matches the columns 'a b', 'A_B'; rename one"):
        matched(model("a.b"), table("a b", "A_B", "ill"))


def test_two_features_with_one_column_are_refused_and_both_are_named():
    with pytest.raises(TableError, match=r"'a\.b', 'a_b' match one column, 'a b'"):
        matched(model("a.b", "a_b"), table("a b", "ill"))
    with pytest.raises(TableError, match=r"'age', 'Age' match one column, 'age'"):
        matched(model("age", "Age"), table("age", "ill"))


def test_what_fits_nothing_lists_both_sides_and_what_is_near():
    with pytest.raises(TableError) as caught:
        matched(model("age", "wage", "sex"), table("agee", "SEX", "ill", "zip"), sensitive="ill")
    assert str(caught.value) == (
        "t.csv: the table lacks 2 columns that m uses: 'age', 'wage' (did you mean 'agee'?); "
        "other columns of the table: 'agee', 'zip'; give the table of this model, rename the table's columns as in "
        "the model, or map them with --columns"
    )


def test_a_feature_is_never_taken_from_the_sensitive_column_or_the_weights():
    with pytest.raises(TableError, match="no column 'Ill'"):
        matched(model("Ill", target=""), table("ill", "age"), sensitive="ill")
    with pytest.raises(TableError, match="no column 'W'"):
        matched(model("W"), table("w", "ill"), sensitive="ill", taken=("w",))


@pytest.mark.parametrize("asked", ["ill", "Ill", "ILL"])
def test_the_sensitive_column_has_the_name_of_the_target(asked):
    found = matched(model("age", target="ill"), table("age", "Ill"), sensitive=asked)
    assert found.sensitive == "ill"
    assert columns_of(found) == ["age", "ill"]
    assert "'Ill' for 'ill'" in found.notes[0]


def test_a_sensitive_column_of_another_spelling_is_taken_and_said_where_no_target_is_named():
    found = matched(model("age", target=""), table("age", "Is Ill"), sensitive="is_ill")
    assert found.sensitive == "Is Ill"
    assert "the column 'Is Ill' was used as the sensitive column 'is_ill'" in found.notes[0]


def test_a_slip_of_the_pen_is_never_taken():
    found = matched(model("age"), table("age", "ill"), sensitive="il")
    assert found.sensitive == "il"
    assert found.notes == ()


def test_a_sensitive_column_that_could_be_two_is_refused():
    with pytest.raises(TableError, match=r"choose one: --sensitive 'Is Ill', 'is\.ill'"):
        matched(model("age", target=""), table("age", "Is Ill", "is.ill"), sensitive="is_ill")


def test_a_column_beside_the_target_is_not_taken_for_it():
    found = matched(model("age", target="ill"), table("age", "ill", "Ill"), sensitive="Ill")
    assert found.sensitive == "Ill"
    assert columns_of(found) == ["age", "ill", "Ill"]


def test_quasi_identifiers_may_be_named_as_the_table_or_as_the_model_does():
    asked = ["mean radius", "Zip-Code", "pay"]
    found = matched(
        model("mean_radius", "pay"), table("mean radius", "pay", "zip code", "ill"), qi=asked
    )
    assert found.qi == ("mean_radius", "zip code", "pay")
    assert "'zip code' for 'Zip-Code'" in found.notes[1]


def test_only_features_that_are_asked_for_need_a_column():
    found = matched(model("age", "pay"), table("Age", "ill"), sensitive="ill", qi=["age"])
    assert found.qi == ("age",)


def test_a_target_by_a_tools_default_is_none_unless_the_table_has_it():
    assert target_in(model("age", target="y"), table("age", "ill")) == ""
    assert target_in(model("age", target="y"), table("age", "y")) == "y"
    assert target_in(model("age", target="y"), table("age", "Y")) == "y"
    assert target_in(model("age", target="ill"), table("age")) == "ill"


def test_a_column_of_numbered_levels_may_have_a_level_that_no_split_names_and_no_name():
    levels = Feature("level", numeric=False, values=("1", "3"), naming="give the names of levels")
    tree = replace(model(), features=(levels,))
    assert columns_of(matched(tree, table_of({"level": ["1", "2", "3"]}))) == ["level"]
    for strange in ("low", "4"):
        with pytest.raises(TableError, match="does not name; give the names of levels"):
            matched(tree, table_of({"level": ["1", "2", strange]}))


def test_values_are_not_matched():
    categories = replace(model("job"), features=(Feature("job", numeric=False, values=("a b",)),))
    found = matched(categories, table_of({"Job": ["a_b", "A B"], "ill": ["no", "yes"]}))
    assert found.table.categories("job", ("a b",)).categories == ("A B", "a_b")


@pytest.mark.parametrize("names", [("59", "F", "no"), ("F", "2021-03-04", "no"), ("1,5", "M", "x")])
def test_a_first_line_that_is_a_record_is_not_shown(names):
    with pytest.raises(TableError, match="the first line seems to be a record") as caught:
        matched(model("age", "sex"), table(*names), sensitive="ill")
    assert not any(f"'{name}'" in str(caught.value) for name in names)


def test_a_name_among_the_cells_of_its_column_is_a_cell():
    rows = pa.table({"F": ["M", "F", "M"], "no": ["yes", "no", "no"]})
    with pytest.raises(TableError, match="the first line seems to be a record") as caught:
        matched(model("sex"), table_of_arrow(rows, "t.csv"), sensitive="ill")
    assert "'F'" not in str(caught.value)
    with pytest.raises(TableError, match="the first line seems to be a record"):
        table_of_arrow(rows, "t.csv").column(Feature("ill", numeric=False))


def test_columns_that_are_counted_have_a_header():
    with pytest.raises(TableError, match="other columns of the table: '0', '1', 'z'"):
        matched(model("age"), table("0", "1", "z"), sensitive="ill")


def test_two_cells_alike_in_a_first_line_are_not_shown():
    rows = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["59", "59"])
    with pytest.raises(TableError, match="the first line seems to be a record") as caught:
        table_of_arrow(rows, "t.csv")
    assert "59" not in str(caught.value)
