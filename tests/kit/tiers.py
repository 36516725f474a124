"""Which tests `make test` runs, which ones only `make test-all`, and which draws only `make soundness`.

The quick tier holds every claim that needs nothing but Python; where a claim is tried on many draws, it holds a few of
them. The second tier holds the rest: a test says so by one of the markers below, `pytestmark = pytest.mark.cluster`
for instance. Draws get theirs from ``seeds``, and whatever asks for the browser is marked by itself. So is a case that
``long_cases.txt`` lists, as long as the quick tier tries another one of its claim. A test of Hypothesis is in both: the
quick tier tries a tenth of its ``examples``, the second four tenths. So is one that is marked ``in_both``: its loops go
over a ``few`` in the quick tier, and over more in the second.

The last seeds and cases of a claim that is tried on many are in neither tier, nor are most examples of Hypothesis: the
tier "soundness" has them, which tries draws and nothing else.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from hypothesis import is_hypothesis_test, settings

Item = TypeVar("Item")

TIERS = ("quick", "rest", "all", "soundness")
MARKERS = {
    "more_seeds": "further draws of claims that the quick tier tries on a few",
    "more_cases": "further cases of claims that the quick tier tries on a few",
    "postgresql": "on PostgreSQL",
    "browser": "in a browser",
    "cluster": "on clusters of Dask and Ray",
    "tools": "with R, Weka, Spark or another tool that makes models",
    "processes": "with servers and programs that are started for the test",
    "studies": "papers, pages and notebooks repeated as a whole",
}
"""What each marker of the second tier says of a test: the plural of what is left out."""
SOUNDNESS = "soundness"
"""The marker of seeds and cases that no tier but this one tries."""
IN_BOTH = "in_both"
"""The marker of a test that is in both tiers, and tries more in the second."""
FIXTURES = {"browser": "browser", "cluster": "cluster", "postgresql_schema": "postgresql"}
"""Fixtures that put a test into the second tier, and with which marker."""

LONG_CASES = frozenset(
    Path(__file__).with_name("long_cases.txt").read_text(encoding="utf-8").splitlines()
)
"""Cases that take longest, by the names that pytest has for them, of claims that shorter ones of the quick tier try."""

EXAMPLES = {"quick": 10, "rest": 40, "all": 40, "soundness": 100}
"""How many of a hundred examples a test of Hypothesis tries in each tier."""


def load_profile(tier: str, *, has_new_draws: bool = False) -> None:
    """Give tests of Hypothesis as many examples as their tier tries, and no deadline.

    A tier draws the same examples each time: a commit passes it or does not. With new draws it looks further.
    """
    settings.register_profile(
        tier, deadline=None, max_examples=EXAMPLES[tier], derandomize=not has_new_draws
    )
    settings.load_profile(tier)


def examples(number: int) -> int:
    """Return how many of so many examples the tier tries: ``settings(max_examples=examples(150))``."""
    return max(number * settings().max_examples // 100, 10)


def few(of: Iterable[Item], quick: int, second: int | None = None) -> list[Item]:
    """Return what a loop goes over: a few in the quick tier, from the first to the last, evenly spread.

    The test is marked ``in_both``, so that the second tier tries more of them: all, or so many.
    """
    every = list(of)
    sizes = {EXAMPLES["quick"]: quick, EXAMPLES["rest"]: second}
    number = sizes.get(settings().max_examples)
    if number is None or number >= len(every):
        return every
    return [every[round(at * (len(every) - 1) / max(number - 1, 1))] for at in range(number)]


def seeds(number: int, quick: int | Collection[int] = 3, second: int | None = None) -> list[Any]:
    """Return the seeds below ``number``: the quick tier has the first ``quick`` of them, or those that it names.

    The second tier has the first ``second`` besides, where that is not said a quarter of all and ten at least. A seed
    that once failed is named: ``seeds(40, quick=(0, 1, 17))``.
    """
    few = range(quick) if isinstance(quick, int) else quick
    assert set() < set(few) <= set(range(number)), f"{few} are not among {number} seeds"
    return in_tiers(range(number), few, "more_seeds", range(second or max(10, number // 4)))


def cases(
    of: Iterable[Any], quick: int | Collection[Any], second: int | Collection[Any] | None = None
) -> list[Any]:
    """Return cases: the quick tier has the first ``quick``, or those that it names, the second all or so many."""
    every = list(of)
    few = every[:quick] if isinstance(quick, int) else list(quick)
    more = every[:second] if isinstance(second, int) else every if second is None else list(second)
    assert few, "the quick tier has one case at least"
    assert all(case in every for case in [*few, *more]), f"{few} are not among the cases"
    return in_tiers(every, few, "more_cases", more)


def in_tiers(
    every: Iterable[Any], few: Collection[Any], marker: str, more: Collection[Any] | None = None
) -> list[Any]:
    """Return parameters, marked where they are not among the few; a tuple has the values of several names.

    Those that are not among more either are tried by ``make soundness`` only.
    """
    mark, last = getattr(pytest.mark, marker), getattr(pytest.mark, SOUNDNESS)
    return [
        case
        if case in few
        else pytest.param(
            *(case if isinstance(case, tuple) else (case,)),
            marks=mark if more is None or case in more else last,
        )
        for case in every
    ]


def second_tier(item: pytest.Item) -> str | None:
    """Return the marker by which a test is of the second tier, None for one of the quick tier."""
    marked = {mark.name for mark in item.iter_markers()}
    for name in MARKERS:
        if name in marked:
            return name
    for fixture in getattr(item, "fixturenames", ()):
        if fixture in FIXTURES:
            return FIXTURES[fixture]
    return None


def split(items: list[pytest.Item], tier: str) -> tuple[list[pytest.Item], Counter[str]]:
    """Return the tests of a tier, and, of the quick one, how many of the second were left out, by marker."""
    if tier == "soundness":
        return [item for item in items if _is_drawn(item)], Counter()
    items = [item for item in items if not item.get_closest_marker(SOUNDNESS)]
    if tier == "all":
        return items, Counter()
    second = without_long_cases([(item.nodeid, second_tier(item)) for item in items], LONG_CASES)
    if tier == "quick":
        kept = [item for item, marker in zip(items, second, strict=True) if marker is None]
        return kept, Counter(marker for marker in second if marker)
    kept = [item for item, marker in zip(items, second, strict=True) if marker or _is_in_both(item)]
    return kept, Counter()


def without_long_cases(
    tests: Iterable[tuple[str, str | None]], long_cases: Collection[str]
) -> list[str | None]:
    """Return the markers of tests, also of those that are long; a claim keeps its cases if all of them are."""
    every = list(tests)
    tried = {claim_of(name) for name, marker in every if marker is None and name not in long_cases}
    return [
        "more_cases"
        if marker is None and name in long_cases and claim_of(name) in tried
        else marker
        for name, marker in every
    ]


def claim_of(test: str) -> str:
    """Return the function that several cases are tried on."""
    return test.partition("[")[0]


def _is_in_both(item: pytest.Item) -> bool:
    return bool(item.get_closest_marker(IN_BOTH)) or is_hypothesis_test(getattr(item, "obj", None))


def _is_drawn(item: pytest.Item) -> bool:
    marked = {mark.name for mark in item.iter_markers()}
    return bool(marked & {"more_seeds", SOUNDNESS}) or _is_in_both(item)


def left_out_line(left_out: Counter[str]) -> str:
    """Return the line that says what a quick run left out."""
    parts = [f"{left_out[name]:,} {what}" for name, what in MARKERS.items() if left_out[name]]
    return f"left out, run them with make test-all: {left_out.total():,} tests ({'; '.join(parts)})"
