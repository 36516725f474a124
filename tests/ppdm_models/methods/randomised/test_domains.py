"""The file of domains: what it says, and what is refused with the place and a way out."""

from __future__ import annotations

import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models.errors import DomainError
from treewarden.ppdm_models.methods.randomised.domains import (
    MOST_BYTES,
    ColumnDomain,
    load_domains,
    read_domains,
)


def read(text):
    return read_domains(text.encode(), "domains.toml")


def test_bounds_and_values_are_read():
    found = read(
        '[columns.age]\nlow = 17\nhigh = 90\nwhole = true\n[columns."a b"]\nvalues = ["x", " y "]\n'
    )
    assert found == {
        "age": ColumnDomain("age", 17.0, 90.0, is_whole=True),
        "a b": ColumnDomain("a b", 0.0, 1.0, is_whole=True, values=("x", "y")),
    }


def test_a_file_with_a_byte_order_mark_is_read():
    assert list(read_domains(b"\xef\xbb\xbf[columns.a]\nlow = 0\nhigh = 1\n", "d")) == ["a"]


@rows(
    ("text", "place", "problem"),
    [
        ("[columns.age]\nlow = 5\nhigh = 5", "columns.age", "more than a point"),
        ("[columns.age]\nlow = 6\nhigh = 5", "columns.age", "more than a point"),
        ("[columns.age]\nlow = 6", "columns.age", "give low and high"),
        ("[columns.age]\nlow = nan\nhigh = 5", "columns.age.low", "finite"),
        ("[columns.age]\nlow = 1\nhigh = inf", "columns.age.high", "finite"),
        ("[columns.age]\nlow = 1\nhigh = 1e308", "columns.age", "another unit"),
        ("[columns.age]\nlow = 1e-200\nhigh = 1e-199", "columns.age", "another unit"),
        ("[columns.age]\nlow = 1e18\nhigh = 1.0000000000001e18", "columns.age", "too narrow"),
        ('[columns.age]\nlow = "1"\nhigh = 2', "columns.age.low", "number"),
        ("[columns.age]\nlow = true\nhigh = 2", "columns.age.low", "number"),
        ("[columns.age]\nlow = 0.5\nhigh = 2\nwhole = true", "columns.age", "not a whole number"),
        ("[columns.age]\nlow = 0\nhigh = 2\nstep = 1", "columns.age.step", "no such key"),
        ("[columns.e]\nvalues = ['a', ' a']", "columns.e", "there twice"),
        ("[columns.e]\nvalues = ['a']", "columns.e", "fewer than two"),
        ("[columns.e]\nvalues = [1, 2]", "columns.e.values.0", "string"),
        ("[columns.e]\nvalues = ['a', 'b']\nlow = 0", "columns.e", "give one of them"),
        ("[column.e]\nlow = 0\nhigh = 1", "columns", "is missing"),
        ("[columns]\n[other]\n", "other", "no such key"),
        ("columns = 3", "columns", "a table"),
        ("= 3", "", "not valid TOML"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(text, place, problem):
    with pytest.raises(DomainError) as told:
        read(text)
    assert problem in told.value.problem
    assert told.value.where == (f"domains.toml: {place}" if place else "domains.toml")


def test_bytes_that_are_no_text_are_refused():
    with pytest.raises(DomainError, match="not valid TOML"):
        read_domains(b"\xff\xfe", "domains.toml")


def test_a_file_that_is_too_large_is_refused(tmp_path):
    (tmp_path / "d.toml").write_bytes(b"#" * (MOST_BYTES + 1))
    with pytest.raises(DomainError, match="larger than"):
        load_domains(tmp_path / "d.toml")


def test_a_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(DomainError, match="check the path"):
        load_domains(tmp_path / "d.toml")
