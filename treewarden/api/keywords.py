"""Errors as Python's users read them: what a message asks to change is called by its argument, not by a flag."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from treewarden.ppdm_models.errors import TreewardenError

P = ParamSpec("P")
T = TypeVar("T")
OTHERS = {
    "no-table": "data=None",
    "no-worlds": "worlds=False",
    "out": "save(...)",
    "format": "save(...)",
}
"""Flags that no argument is called after."""
FLAG = re.compile(
    r"(?<![\w-])--([a-z][a-z-]*)(?:[ =]((?:[A-Z][A-Z_]*|[\w./#-]*[\w/#])(?:,[\w-]+)*))?"
)


def with_keywords(text: str) -> str:
    """Return a message with arguments in place of flags: ``--sensitive flu`` is ``sensitive="flu"``."""
    return FLAG.sub(_keyword, text) if "--" in text else text


def _keyword(flag: re.Match[str]) -> str:
    name, value = flag[1], flag[2]
    if name in OTHERS:
        return OTHERS[name] + ("" if value is None else f" {value}")
    argument = name.replace("-", "_")
    if value is None or value in _WORDS:
        return f"{argument}=" + ("" if value is None else f" {value}")
    if value.isupper():
        return f"{argument}={value}"
    number = re.fullmatch(r"\d+(\.\d+)?", value)
    return f"{argument}={value}" if number else f'{argument}="{value}"'


_WORDS = frozenset(
    {
        "and",
        "or",
        "to",
        "with",
        "names",
        "is",
        "matches",
        "may",
        "for",
        "where",
        "if",
        "as",
        "needs",
        "divides",
    }
)
"""Words of a sentence that goes on behind a flag."""


def naming_arguments(function: Callable[P, T]) -> Callable[P, T]:
    """Let the errors that a function raises name arguments."""

    @wraps(function)
    def called(*given: P.args, **named: P.kwargs) -> T:
        try:
            return function(*given, **named)
        except TreewardenError as error:
            error.problem = with_keywords(error.problem)
            error.notes = tuple(map(with_keywords, error.notes))
            error.args = (error.where, error.problem)
            raise

    return called
