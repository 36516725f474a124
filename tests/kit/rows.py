"""Tables of rows that one test tries: a case of its own costs more than most rows do."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest

from tests.kit.tiers import few

LONGEST = 200
"""So many characters of a row name it."""


def rows(
    names: str | Sequence[str], table: Iterable[Any], quick: int | None = None
) -> Callable[[Callable], Callable]:
    """Try a test on all rows, and name each that fails: written as ``pytest.mark.parametrize``, and one case.

    For rows that take milliseconds and share no fixture that they change. With ``quick`` the quick tier tries so many
    of them, evenly spread.
    """
    columns = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    every = [_values(row, columns) for row in table]
    assert every, "a table without rows tries nothing"

    def joined(test: Callable) -> Callable:
        @wraps(test)
        def try_all(**fixtures: Any) -> None:
            tried = every if quick is None else few(every, quick)
            failed = [found for row in tried if (found := _failure(test, row, fixtures))]
            if failed:
                told = "\n".join(f"{name}: {_last_line(error)}" for name, error in failed)
                text = f"{len(failed)} of {len(tried)} rows fail, the first as above:\n{told}"
                raise AssertionError(text) from failed[0][1]

        signature = inspect.signature(test)
        left = [each for name, each in signature.parameters.items() if name not in columns]
        try_all.__signature__ = signature.replace(parameters=left)
        return try_all if quick is None else pytest.mark.in_both(try_all)

    return joined


def _values(row: Any, columns: Sequence[str]) -> dict[str, Any]:
    if hasattr(row, "marks"):  # what ``pytest.param`` returns
        assert not row.marks, "a row with a mark is a case of its own"
        row = row.values if len(columns) > 1 else row.values[0]
    values = row if len(columns) > 1 else (row,)
    return dict(zip(columns, values, strict=True))


def _failure(
    test: Callable, row: dict[str, Any], fixtures: dict[str, Any]
) -> tuple[str, BaseException] | None:
    """Return the name of a row and what failed, None where nothing did."""
    try:
        test(**row, **fixtures)
    except (Exception, pytest.fail.Exception) as error:
        return ", ".join(f"{name}={value!r}"[:LONGEST] for name, value in row.items()), error
    return None


def _last_line(error: BaseException) -> str:
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
