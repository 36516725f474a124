"""A table of rows is one case that names every row that fails."""

import inspect

import pytest
from hypothesis import settings

from tests.kit.rows import rows
from tests.kit.tiers import EXAMPLES, IN_BOTH


def test_every_row_is_tried_and_each_that_fails_is_named():
    tried = []

    @rows("number, half", [(2, 1), (3, 1), (4, 2), (5, 1)])
    def halves(number, half):
        tried.append(number)
        assert number == 2 * half

    with pytest.raises(AssertionError, match="2 of 4 rows fail") as failure:
        halves()
    assert tried == [2, 3, 4, 5]
    assert "number=3, half=1: AssertionError" in str(failure.value)
    assert "number=5, half=1: AssertionError" in str(failure.value)


def test_the_quick_tier_tries_a_few_rows_of_a_table_that_says_so():
    tried = []

    @rows("number", range(9), quick=3)
    def takes(number):
        tried.append(number)

    takes()
    quick = settings().max_examples == EXAMPLES["quick"]
    assert tried == ([0, 4, 8] if quick else list(range(9)))
    assert IN_BOTH in {mark.name for mark in takes.pytestmark}


def test_what_is_expected_to_raise_and_does_not_is_a_row_that_fails():
    @rows("text", ["x", "1"])
    def is_no_number(text):
        with pytest.raises(ValueError, match="invalid"):
            int(text)

    with pytest.raises(AssertionError, match="text='1': Failed"):
        is_no_number()


def test_fixtures_are_those_of_the_test_and_rows_are_none():
    @rows(("number",), [1])
    def takes(tmp_path, number):
        assert tmp_path == number

    assert list(inspect.signature(takes).parameters) == ["tmp_path"]
    takes(tmp_path=1)


def test_a_table_without_rows_is_refused():
    with pytest.raises(AssertionError, match="tries nothing"):
        rows("number", [])


def test_a_row_may_have_an_id_and_no_mark():
    tried = []

    @rows("number", [pytest.param(1, id="one"), 2])
    def takes(number):
        tried.append(number)

    takes()
    assert tried == [1, 2]
    with pytest.raises(AssertionError, match="a case of its own"):
        rows("number", [pytest.param(1, marks=pytest.mark.more_cases)])
