"""Value hierarchies: read as they are meant, refused with file and line where they mean nothing."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.ppdm_models.errors import TaxonomyError
from treewarden.ppdm_models.tables.taxonomy import (
    Categories,
    IntervalHierarchy,
    fitting,
    load_taxonomies,
    read_csv,
    read_toml,
)
from treewarden.ppdm_models.tree.tree import Feature

ARX = b"Paris;France;Europe;*\nLyon;France;Europe;*\nTokyo;Japan;Asia;*\n"
TOML = b"""
[city]
France = ["Paris", "Lyon"]
Europe = ["France", "Andorra"]

[age]
cuts = [[20, 40, 60], [40]]
"""


def test_csv_as_arx_writes_it_has_one_row_per_value():
    city = read_csv(ARX, "city.csv", "city")
    assert city.height == 3
    assert [city.label("Lyon", level) for level in range(4)] == ["Lyon", "France", "Europe", "*"]


@pytest.mark.parametrize("sign", [b",", b"\t"])
def test_commas_and_tabs_part_levels_too(sign):
    assert read_csv(ARX.replace(b";", sign), "city.csv", "city") == read_csv(
        ARX, "city.csv", "city"
    )


def test_a_highest_level_that_does_not_hold_everything_gets_one_above_it():
    city = read_csv(b"Paris;France\nTokyo;Japan\n", "city.csv", "city")
    assert city.paths["Tokyo"] == ("Tokyo", "Japan", "*")


def test_toml_names_parents_and_a_value_with_fewer_levels_stays_itself_for_longer():
    city = read_toml(TOML, "all.toml")["city"]
    assert city.paths["Paris"] == ("Paris", "France", "Europe")
    assert city.paths["Andorra"] == ("Andorra", "Andorra", "Europe")


def test_numeric_cuts_make_intervals_level_by_level():
    age = read_toml(TOML, "all.toml")["age"]
    assert age.height == 3
    assert [age.label(40.0, level) for level in range(4)] == ["40", "[40, 60)", "≥ 40", "*"]
    assert (age.label(19.5, 1), age.label(60.0, 1)) == ("< 20", "≥ 60")


@given(st.floats(-100, 100), st.floats(-100, 100))
def test_numbers_that_share_a_label_share_all_above_it(one, other):
    age = IntervalHierarchy("age", ((20.0, 40.0, 60.0), (40.0,), ()))
    same = [age.label(one, level) == age.label(other, level) for level in range(age.height + 1)]
    assert same == sorted(same)


def test_an_interval_of_a_split_lies_in_one_of_a_level_or_in_none():
    age = IntervalHierarchy("age", ((20.0, 40.0), ()))
    assert [age.holds(*ends, 1) for ends in [(0, 20), (20, 30), (30, 50)]] == [0, 1, None]
    assert age.holds(float("-inf"), float("inf"), 2) == 0


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "city.csv: holds no values"),
        (b"Paris;;*\n", "city.csv:1: the cell of level 1 is empty"),
        (b"Paris;France;*\nLyon;France\n", "city.csv:2: has 2 levels, the rows before it 3"),
        (b"Paris;*\nLyon;*\nParis;*\n", "city.csv:3: the value 'Paris' has a row already"),
        (
            b"Paris;France;Europe\nLyon;France;Asia\n",
            "city.csv:2: 'France' is under 'Asia' here, but under 'Europe'",
        ),
        (b"Paris;France;Paris\n", "city.csv:1: 'Paris' is above 'France' and also below it"),
        (
            b"Paris;Lyon;*\nNice;Paris;*\nLyon;Nice;*\n",
            r"city.csv: a cycle: '\w+' and '\w+' and '\w+' fall under each other",
        ),
        (b'"Paris;*\n', "city.csv:1: not CSV"),
        (b"\xff\xfe", "city.csv: not UTF-8"),
        (b";".join([b"x"] * 200), "city.csv:1: too many levels"),
    ],
)
def test_a_csv_that_is_no_hierarchy_is_refused_with_its_line(data, said):
    with pytest.raises(TaxonomyError, match=said):
        read_csv(data, "city.csv", "city")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "t.toml: holds no hierarchy"),
        ("[city", "t.toml: not valid TOML"),
        ("city = 3", "t.toml:1: 'city': not a hierarchy"),
        ("[city]", "t.toml:1: 'city': not a hierarchy"),
        ("[city]\nFrance = 'Paris'", "t.toml:2: 'city': 'France' must be a list"),
        ("[city]\nFrance = ['Paris', 3]", "t.toml:2: 'city': 'France' must be a list"),
        ("[city]\nA = ['x']\nB = ['x']", "t.toml:3: 'city': 'x' is under 'A' and under 'B'"),
        ("[city]\nA = ['B']\nB = ['A']", "t.toml:[23]: 'city': a cycle: '[AB]' falls under itself"),
        ("[city]\nA = ['A', 'x']", "t.toml:2: 'city': a cycle: 'A' falls under itself"),
        ("[city]\nA = []", "t.toml:1: 'city': holds no values"),
        ("[age]\ncuts = [[1, 'x']]", "t.toml:2: 'age': level 1 has an entry that is not a number"),
        (
            "[age]\ncuts = [[2, 1]]",
            "t.toml:2: 'age': the cuts of level 1 must be finite and rising",
        ),
        ("[age]\ncuts = [[1, nan]]", "t.toml:2: 'age': the cuts of level 1 must be finite"),
        (
            "[age]\ncuts = [[1, 2], [3]]",
            "t.toml:2: 'age': 3 is a cut of level 2, but not of .* two parents",
        ),
    ],
)
def test_a_toml_that_is_no_hierarchy_is_refused_with_its_line(text, said):
    with pytest.raises(TaxonomyError, match=said):
        read_toml(text.encode(), "t.toml")


def test_a_chain_of_parents_has_an_end():
    text = "[x]\n" + "\n".join(f"a{i} = ['a{i + 1}']" for i in range(500))
    with pytest.raises(TaxonomyError, match="more than 100 levels"):
        read_toml(text.encode(), "t.toml")


def test_files_are_read_by_their_ending_and_a_csv_is_about_the_attribute_it_is_named_after(
    tmp_path,
):
    (tmp_path / "city.csv").write_bytes(ARX)
    (tmp_path / "more.toml").write_bytes(b"[age]\ncuts = [[40]]")
    found = load_taxonomies([tmp_path / "city.csv", tmp_path / "more.toml"])
    assert {name: type(taxonomy) for name, taxonomy in found.items()} == {
        "city": Categories,
        "age": IntervalHierarchy,
    }


def test_two_hierarchies_of_one_attribute_are_refused(tmp_path):
    (tmp_path / "city.csv").write_bytes(ARX)
    (tmp_path / "more.toml").write_bytes(TOML)
    with pytest.raises(
        TaxonomyError, match="more.toml: 'city': city.csv has a hierarchy of this column too"
    ):
        load_taxonomies([tmp_path / "city.csv", tmp_path / "more.toml"])


def test_a_file_that_is_not_there_is_said_plainly(tmp_path):
    with pytest.raises(TaxonomyError, match="none.csv: there is no such file"):
        load_taxonomies([tmp_path / "none.csv"])


@pytest.mark.parametrize(
    ("features", "said"),
    [
        ([Feature("age", True)], "all.toml: 'city': no such column; use 'age'"),
        (
            [Feature("city", True), Feature("age", True)],
            "'city': gives values, but the column needs cuts",
        ),
        (
            [Feature("city", False), Feature("age", False)],
            "'age': gives cuts, but the column needs values",
        ),
        (
            [Feature("city", False, ("Paris", "Rome")), Feature("age", True)],
            "'city': lacks the value 'Rome'",
        ),
    ],
)
def test_a_hierarchy_that_does_not_fit_the_columns_is_refused(features, said):
    with pytest.raises(TaxonomyError, match=said):
        fitting(read_toml(TOML, "all.toml"), features)


def test_hierarchies_that_fit_are_taken():
    features = [Feature("city", False, ("Paris", "Andorra")), Feature("age", True)]
    assert fitting(read_toml(TOML, "all.toml"), features) is None


@pytest.mark.parametrize("read", [read_toml, lambda data, where: read_csv(data, where, "x")])
@given(data=st.binary(max_size=60))
def test_no_bytes_bring_anything_but_a_hierarchy_or_its_error(read, data):
    with contextlib.suppress(TaxonomyError):
        assert read(data, "x")
