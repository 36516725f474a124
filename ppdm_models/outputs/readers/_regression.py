"""What tables of coefficients have in common: terms, estimates and ratios, and what stands beside them.

Columns are named as R (``summary``, broom), statsmodels and lifelines name them. Standard errors, statistics, p-values
and limits of confidence are no rows over people: each such column is an entry of its own that is left open. Rows whose
term stands in parentheses say how the model was fitted: ``(C)``, ``(model)``, ``(time)`` and ``(ties)``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.published import (
    Entry,
    Family,
    OpenEntry,
    PrintedNumber,
    RegressionEntry,
    TableColumns,
    Term,
    is_withheld,
    read_measured,
)
from treewarden.ppdm_models.outputs.sheets import CellSheet, bare, column_of

TERMS = frozenset(
    {"", "term", "coefficient", "predictor", "variable", "covariate", "characteristic"}
)
ESTIMATES = frozenset(
    {"estimate", "coef", "coef.", "beta", "b", "log(or)", "log(hr)", "difference"}
)
ODDS = frozenset(
    {"odds_ratio", "odds ratio", "odds.ratio", "or", "exp(beta)", "adjusted or", "aor"}
)
HAZARDS = frozenset(
    {"hazard_ratio", "hazard ratio", "hazard.ratio", "hr", "exp(coef)", "adjusted hr"}
)
CONSTANTS = frozenset({"(intercept)", "intercept", "const", "constant"})
LINEAR_MARKS = frozenset({"t", "t value", "t.value", "p>|t|", "pr(>|t|)"})
COX_MARKS = frozenset({"se(coef)", "exp(coef)"})
_INFERENCE = re.compile(
    r"std\.? ?err(or)?\.?|se|s\.e\.|se\(coef\)|robust se|statistic|wald|chisq|[zt]( value|\.value)?|p|p[.\- ]?value"
    r"|p>\|[zt]\||pr\(>\|[zt]\|\)|\[?0?\.025|0?\.975\]?|\d\d?(\.\d+)? ?%|(conf|ci)[._ ]?(low|high|lower|upper)"
    r"|(lower|upper)( ?\.?\d\d(\.\d+)? ?%?)?|\d\d ?% ?ci|ci|(exp\()?coef\)? (lower|upper) \d\d%"
    r"|cmp to|-log2\(p\)|exp\(-coef\)|significance|signif\.?"
)
_TREATMENT = re.compile(r"(?P<column>.+?)\[(?:T\.)?(?P<value>.+)\]")
_SETTING = re.compile(r"\((?P<name>c|model|time|ties)\)")
FAMILIES = {
    "logistic": Family.LOGISTIC,
    "linear": Family.LINEAR,
    "ols": Family.LINEAR,
    "cox": Family.COX,
}
NOT_LINEAR = "standard errors, statistics, p-values and confidence limits are not linear constraints over people"
UNBOUNDED = "a ratio that may be rounded from 0 has no logarithm to bound"


@dataclass(frozen=True, slots=True)
class CoefficientColumns:
    """Which columns of a sheet hold the estimates, the ratios that are their exponentials, and what else."""

    estimate: int | None
    ratio: int | None
    is_hazard: bool
    others: tuple[int, ...]


def family_of(sheet: CellSheet) -> Family | None:
    """Return which regression a table is of, by its header and its row ``(model)``; None: it is none."""
    names = _names(sheet)
    if names[0] not in TERMS:
        return None
    rest = set(names[1:])
    if not rest & (ESTIMATES | ODDS | HAZARDS):
        return None
    said = FAMILIES.get(_settings(sheet).get("model", "").casefold())
    if said is not None:
        return said
    if rest & (HAZARDS | COX_MARKS):
        return Family.COX
    if rest & ODDS:
        return Family.LOGISTIC
    return Family.LINEAR if rest & LINEAR_MARKS else Family.LOGISTIC


def has_ratios(sheet: CellSheet) -> bool:
    """Whether a table of coefficients prints odds ratios."""
    return bool(set(_names(sheet)[1:]) & ODDS)


def regression_entries(
    sheet: CellSheet, columns: TableColumns, family: Family
) -> tuple[Entry, ...]:
    """Return the coefficients, and an open entry for each column that says more.

    Raises:
        OutputsError: a column, a term or a setting is not understood.
    """
    found = _columns_of(sheet)
    settings = _settings(sheet)
    _check_settings(sheet, settings, columns, family)
    coefficients: list[tuple[Term, PrintedNumber]] = []
    unbounded: list[str] = []
    for row, cells in enumerate(sheet.rows[1:], start=1):
        if _SETTING.fullmatch(bare(cells[0]).casefold()):
            continue
        if all(is_withheld(cell) for cell in cells[1:]):
            continue  # the reference category, or a heading
        term = _term(sheet, row, columns)
        number = _number(sheet, row, found)
        if number is None:
            unbounded.append(bare(cells[0]))
        else:
            coefficients.append((term, number))
    if not coefficients and not unbounded:
        problem = (
            "no coefficient is a number (all are empty or withheld); correct or remove the file"
        )
        raise OutputsError(sheet.source, problem)
    terms = [term for term, _ in coefficients]
    if len(set(terms)) < len(terms):
        raise OutputsError(sheet.source, "names a term twice; give one model in each file")
    entries: list[Entry] = []
    words = f"coefficients of a {family} with {len(terms) + len(unbounded)} terms"
    if unbounded:
        entries.append(OpenEntry(sheet.where(0), f"{words} ({', '.join(unbounded)})", UNBOUNDED))
    else:
        entries.append(_entry(sheet, words, coefficients, family, settings, columns))
    entries += _open_columns(sheet, found.others)
    return tuple(entries)


def _entry(
    sheet: CellSheet,
    words: str,
    coefficients: Sequence[tuple[Term, PrintedNumber]],
    family: Family,
    settings: dict[str, str],
    columns: TableColumns,
) -> RegressionEntry:
    penalty = read_measured(settings["c"]) if "c" in settings else None
    return RegressionEntry(
        sheet.where(0),
        words,
        tuple(coefficients),
        family,
        inverse_penalty=None if penalty is None else penalty.middle,
        time=column_of(settings.get("time", ""), columns) or "",
        has_breslow=settings.get("ties", "").casefold() == "breslow",
    )


def _check_settings(
    sheet: CellSheet, settings: dict[str, str], columns: TableColumns, family: Family
) -> None:
    if "c" in settings:
        penalty = read_measured(settings["c"])
        if penalty is None or penalty.middle <= 0:
            raise OutputsError(sheet.source, "C is a number above 0; correct it")
        if family is not Family.LOGISTIC:
            raise OutputsError(sheet.source, f"a {family} has no C here; remove the row")
    if settings.get("model") and settings["model"].casefold() not in FAMILIES:
        known = ", ".join(FAMILIES)
        raise OutputsError(
            sheet.source, f"(model) is {settings['model']!r}, which is unknown; use {known}"
        )
    if family is Family.COX:
        time = column_of(settings.get("time", ""), columns)
        if time is None or columns.categories[time] is not None:
            problem = (
                "a Cox regression needs the column with the times; add a row '(time),COLUMN' with a "
                "numeric column of the table, and name the column with --qi"
            )
            raise OutputsError(sheet.source, problem)
    elif "time" in settings:
        raise OutputsError(sheet.source, f"a {family} has no times; remove the row (time)")


def _columns_of(sheet: CellSheet) -> CoefficientColumns:
    """Return what each column is.

    Raises:
        OutputsError: one is not understood, or two are estimates.
    """
    names = _names(sheet)
    estimates, ratios, others = [], [], []
    for number, name in enumerate(names[1:], start=1):
        if name in ESTIMATES:
            estimates.append(number)
        elif name in ODDS | HAZARDS:
            ratios.append(number)
        elif _INFERENCE.fullmatch(name):
            others.append(number)
        elif any(cells[number].strip() for cells in sheet.rows[1:]):
            problem = (
                f"column {sheet.header[number]!r}: only terms, estimates, ratios and what tests of "
                "them say are understood; remove it (then it is not judged)"
            )
            raise OutputsError(sheet.where(0), problem)
    if len(estimates) > 1 or len(ratios) > 1:
        raise OutputsError(sheet.where(0), "has two columns of estimates; give one model")
    return CoefficientColumns(
        estimate=estimates[0] if estimates else None,
        ratio=ratios[0] if ratios else None,
        is_hazard=bool(ratios) and names[ratios[0]] in HAZARDS,
        others=tuple(others),
    )


def _names(sheet: CellSheet) -> list[str]:
    return [" ".join(bare(name).casefold().split()) for name in sheet.header]


def _settings(sheet: CellSheet) -> dict[str, str]:
    """Return how the model was fitted: what stands beside terms in parentheses."""
    found: dict[str, str] = {}
    for cells in sheet.rows[1:]:
        setting = _SETTING.fullmatch(bare(cells[0]).casefold())
        if setting:
            found[setting["name"]] = next((bare(cell) for cell in cells[1:] if cell.strip()), "")
    return found


def _number(sheet: CellSheet, row: int, places: CoefficientColumns) -> PrintedNumber | None:
    """Return a coefficient by its estimate and its ratio, whatever is printed; None where it has no lower end.

    Raises:
        OutputsError: a cell is no number, or the two contradict each other.
    """
    cells, parts = sheet.rows[row], []
    for place in (places.estimate, places.ratio):
        if place is None or (
            is_withheld(cells[place]) and places.estimate is not None is not places.ratio
        ):
            continue
        number = read_measured(cells[place])
        if number is None:
            raise OutputsError(
                sheet.where(row, place), f"{cells[place]!r} is not a number; correct it"
            )
        if place == places.ratio:
            number = _logarithm(number)
            if number is None:
                continue
        parts.append(number)
    if not parts:
        return None
    low = max(part.low for part in parts if part.low is not None)
    high = min(part.high for part in parts if part.high is not None)
    text = " / ".join(part.text for part in parts)
    if low > high:
        raise OutputsError(sheet.where(row), f"{text} contradict each other; correct one of them")
    return PrintedNumber(text, low, high)


_LOG_SLACK = Fraction(1, 10**13)
"""More than a logarithm in floating point is off, relative to 1 and to itself."""


def _logarithm(number: PrintedNumber) -> PrintedNumber | None:
    """Return the logarithm of a ratio, moved outwards by what floating point may do; None where it has no lower end."""
    if number.low is None or number.high is None or number.low <= 0:
        return None
    ends = [Fraction(math.log(end)) for end in (number.low, number.high)]
    low, high = (
        end + sign * _LOG_SLACK * (1 + abs(end)) for end, sign in zip(ends, (-1, 1), strict=True)
    )
    return PrintedNumber(number.text, low, high)


def _open_columns(sheet: CellSheet, others: Sequence[int]) -> Iterator[OpenEntry]:
    for number in others:
        printed = sum(not is_withheld(cells[number]) for cells in sheet.rows[1:])
        if printed:
            words = f"column {sheet.header[number]!r} with {printed} numbers"
            yield OpenEntry(sheet.where(0, number), words, NOT_LINEAR)


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
    if found:
        problem = f"term {text!r} may be several things"
    elif text in columns.categories:
        problem = f"column {text!r} has categories, so its term must name a value"
    else:
        problem = f"the table has no column for the term {text!r}"
    problem += "; write a term as 'column' (numbers) or 'column[value]' (categories)"
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
