"""Coefficients of a logistic regression of the class: terms and estimates, as R's broom or statsmodels name them.

Columns ``term`` and ``estimate`` (or ``odds_ratio``). A term is ``(Intercept)`` or ``const``, a column of numbers, or a
column and one of its values (``sexM``, ``sex[T.M]``, ``sex_M``). A term ``(C)`` gives scikit-learn's inverse penalty,
which its default makes 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    CellSheet,
    Entry,
    LogisticEntry,
    PrintedNumber,
    TableColumns,
    Term,
    bare,
    read_measured,
)
from treewarden.ppdm_models.outputs.readers import OutputReader

TERMS = frozenset({"term", "coefficient", "predictor", "variable"})
ESTIMATES = frozenset({"estimate", "coef", "beta"})
CONSTANTS = frozenset({"(intercept)", "intercept", "const", "constant"})
PENALTY = "(c)"
_TREATMENT = re.compile(r"(?P<column>.+?)\[(?:T\.)?(?P<value>.+)\]")


class LogisticRegression(OutputReader):
    """Reads the estimates alone; a standard error or p-value follows from them and the table."""

    def recognises(self, sheet: CellSheet, columns: TableColumns) -> bool:
        names = [bare(name).casefold() for name in sheet.header]
        return names[0] in TERMS and any(name in ESTIMATES for name in names[1:])

    def entries(self, sheet: CellSheet, columns: TableColumns) -> tuple[Entry, ...]:
        names = [bare(name).casefold() for name in sheet.header]
        if len(names) > 2:
            others = ", ".join(
                sheet.header[n] for n in range(1, len(names)) if names[n] not in ESTIMATES
            )
            problem = (
                f"columns {others}: only terms and estimates are judged; remove these columns (their "
                "digits are then not judged)"
            )
            raise OutputsError(sheet.where(0), problem)
        found: list[tuple[Term, PrintedNumber]] = []
        penalty: Fraction | None = None
        for row, cells in enumerate(sheet.rows[1:], start=1):
            number = read_measured(cells[1])
            if number is None:
                raise OutputsError(sheet.where(row, 1), f"{cells[1]!r} is no number; correct it")
            if bare(cells[0]).casefold() == PENALTY:
                penalty = number.middle
                if penalty <= 0:
                    raise OutputsError(sheet.where(row, 1), "C is above 0; correct it")
                continue
            found.append((_term(sheet, row, columns), number))
        terms = [term for term, _ in found]
        if len(set(terms)) < len(terms):
            raise OutputsError(sheet.source, "names a term twice; give one model in each file")
        words = f"coefficients of a logistic regression with {len(found)} terms"
        return (LogisticEntry(sheet.where(0), words, tuple(found), penalty),)


def _term(sheet: CellSheet, row: int, columns: TableColumns) -> Term:
    """Return what a coefficient is multiplied by.

    Raises:
        OutputsError: the text names no term of this table, or several.
    """
    text = bare(sheet.rows[row][0])
    if text.casefold() in CONSTANTS:
        return Term()
    if text in columns.categories and columns.categories[text] is None:
        return Term(text)
    found = list(dict.fromkeys(_of_values(text, columns)))
    if len(found) == 1:
        return found[0]
    why = (
        "may be several things"
        if found
        else "is neither a numeric column nor a column with a value"
    )
    problem = f"term {text!r} {why}; write it as 'column' or 'column[value]'"
    raise OutputsError(sheet.where(row), problem)


def _of_values(text: str, columns: TableColumns) -> Iterator[Term]:
    """Yield the terms for one value of a column that a text may stand for."""
    bracketed = _TREATMENT.fullmatch(text)
    for column, categories in columns.categories.items():
        for value in categories or ():
            is_bracketed = bracketed and bracketed.groups() == (column, value)
            joined = (f"{column}{value}", f"{column}_{value}", f"{column}={value}")
            if is_bracketed or text in joined:
                yield Term(column, value)


READER = LogisticRegression()
