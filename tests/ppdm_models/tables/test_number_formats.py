"""Numbers as offices write them: read where all cells of a column allow one reading, refused elsewhere."""

import math

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.rows import rows
from treewarden.ppdm_models.tables.dialect import NumberStyle, Percent
from treewarden.ppdm_models.tables.number_formats import (
    UnreadNumberError,
    decimal_mark,
    may_be_grouped,
    read_numbers,
)

COMMA, POINT, NOTHING = NumberStyle(decimal=","), NumberStyle(decimal="."), NumberStyle()


def read(texts, style=NOTHING):
    return read_numbers(pa.array(texts, pa.string()), style).numbers.to_pylist()


@rows(
    ("texts", "numbers"),
    [
        (["2280,42", "12"], [2280.42, 12]),
        (["0,234", "1,234"], [0.234, 1.234]),
        (["1.234,5", "12", None], [1234.5, 12, None]),
        (["1,234,567", "1,234"], [1234567, 1234]),
        (["1.234.567", "1.234"], [1234567, 1234]),
        (["1 234", "12,5"], [1234, 12.5]),
        (["1\u202f234", "1\u00a0234"], [1234, 1234]),
        (["1'234.567", "5"], [1234.567, 5]),
        (["2,280.42 EUR", "12 eur"], [2280.42, 12]),
        (["-$5", "$-5", "\u22125 $", "$1,234,567"], [-5, -5, -5, 1234567]),
        (["1 Jahr", "5 Jahre"], [1, 5]),
        (["1,5E+03", "2"], [1500, 2]),
        ([",5", "+5,"], [0.5, 5]),
        ([None], [None]),
        ([], []),
    ],
)
def test_one_reading_is_taken(texts, numbers):
    assert read(texts) == numbers


@rows(
    ("texts", "row", "problem"),
    [
        (["850", "1,234"], 1, "the comma may be a decimal or a thousands separator"),
        (["12,5", "1.234"], 1, "the point may be a decimal"),
        (["1,834", "1.75"], 0, "the comma may be a decimal or a thousands separator"),
        (["1,5", "2.5"], 0, "in several formats"),
        (["1,234,567", "1.234.567"], 0, "in several formats"),
        (["1 234,567 890", "1'234"], 0, "in several formats"),
        (["1,234,567", "2,5"], 0, "is a thousands separator here"),
        (["5", "1,23,456"], 1, "not a number"),
        (["5", "12 3"], 1, "not a number"),
        (["5", "many"], 1, "not a number"),
        (["5", "3-4"], 1, "not a number"),
        (["5 k", "3 k"], 0, "the cell is not only a number"),
        (["5 Mio", "3 Mio"], 0, "the cell is not only a number"),
        (["5 EUR", "3 USD"], 1, "the unit differs"),
        (["5 EUR", "3"], 1, "the unit differs"),
        (["45 %", "3 %"], 0, "45 % may be 45 or 0.45"),
        (["(5)", "3"], 0, "the cell is not only a number"),
    ],
)
def test_anything_else_is_refused_at_its_record(texts, row, problem):
    with pytest.raises(UnreadNumberError, match=problem) as caught:
        read(texts)
    assert caught.value.row == row


def test_what_is_said_decides_and_must_not_be_contradicted():
    assert read(["850", "1,234"], COMMA) == [850, 1.234]
    assert read(["850", "1,234"], POINT) == [850, 1234]
    assert read(["12,5", "1.234"], COMMA) == [12.5, 1234]
    for texts, style in ((["1,5"], POINT), (["1.5"], COMMA), (["1,234,567"], COMMA)):
        with pytest.raises(UnreadNumberError, match="does not do what #decimal= says"):
            read(texts, style)


def test_percent_signs_are_what_is_said():
    assert read(["45 %", "12,3%"], NumberStyle(percent=Percent.POINTS)) == [45, 12.3]
    assert read(["45 %", "12,3%"], NumberStyle(percent=Percent.FRACTION)) == [0.45, 0.123]


@pytest.mark.parametrize(
    ("texts", "mark"),
    [
        (["1", "2"], ""),
        (["1.5", "2"], "."),
        (["1.234", "2"], None),
        (["1,5", "2"], ","),
        (["1,234", "2"], None),
        (["1.234.567", "2"], ","),
        (["0.123", "2"], "."),
        (["1500.125", "2"], "."),
    ],
)
def test_a_mark_is_known_where_a_cell_proves_it(texts, mark):
    assert decimal_mark(pa.array(texts)) == mark


def test_points_may_group_where_those_without_are_below_a_thousand():
    for texts in (["850", "1.234"], ["1.850", "1.234"]):
        assert may_be_grouped(pa.array(texts))
    for texts in (
        ["1850", "1.234"],
        ["850", "1.234", "0.5"],
        ["850", "12"],
        ["0.850", "1.234"],
        [],
    ):
        assert not may_be_grouped(pa.array(texts, pa.string()))


NUMBERS = st.lists(st.decimals(-(10**7), 10**7, places=2), min_size=1, max_size=8)


@given(
    NUMBERS,
    st.sampled_from([(",", "."), (".", ","), (",", " "), (".", "'"), (",", ""), (".", "")]),
    st.integers(0, 3),
)
def test_what_is_read_is_what_was_written(numbers, marks, places):
    decimal, group = marks
    wanted = [round(float(each), places) for each in numbers]
    texts = [
        f"{each:,.{places}f}".translate({ord(","): group, ord("."): decimal}) for each in wanted
    ]
    try:
        found = read(texts)
    except UnreadNumberError:
        return
    assert all(map(math.isclose, found, wanted))
