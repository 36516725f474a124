"""Reads statements such as ``P(flu | sex = F, age < 30) = 0.2``: background knowledge as people write it."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass

from treewarden.ppdm_models.errors import KnowledgeError
from treewarden.ppdm_models.tree.predicate import CategoryTest, NumericTest, Predicate
from treewarden.ppdm_models.tree.tree import Feature

_WORD = r"""(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|[^\s,|()=<>!{}"']+(?:[ ]+[^\s,|()=<>!{}"']+)*)"""
_CLAIM = re.compile(
    rf"\s*P\(\s*(?P<klass>{_WORD})\s*(?:\|(?P<given>.*))?\)\s*(?P<sign><=|>=|=)\s*(?P<share>\S+)\s*",
    re.DOTALL,
)
_CONDITION = re.compile(
    rf"\s*(?P<name>{_WORD})\s*(?P<sign><=|>=|!=|=|<|>|\bin\b)\s*"
    rf"(?P<value>\{{\s*{_WORD}(?:\s*,\s*{_WORD})*\s*\}}|{_WORD})\s*(?:,|$)"
)
_CONDITION_IN = re.compile(
    rf"\s*(?P<name>{_WORD}?)\s+(?P<sign>in)\s*(?P<value>\{{\s*{_WORD}(?:\s*,\s*{_WORD})*\s*\}})\s*(?:,|$)"
)


@dataclass(frozen=True, slots=True)
class Condition:
    """One condition of a statement: a column, a sign, and one value (or several after ``in``)."""

    name: str
    sign: str
    values: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ShareStatement:
    """A statement taken apart: the share of a class among the records that meet every condition lies in [low, high]."""

    klass: str
    conditions: tuple[Condition, ...]
    low: float
    high: float


def read_claim(says: str) -> ShareStatement:
    """Take a statement apart.

    Raises:
        KnowledgeError: the text is not of the form ``P(class | column = value, ...) = share``.
    """
    found = _CLAIM.fullmatch(says)
    if found is None:
        raise KnowledgeError(
            f"fact {says!r}",
            "not a valid statement; write it like P(flu | sex = F, age < 30) = 0.2",
        )
    try:
        share = float(found["share"])
    except ValueError as error:
        raise KnowledgeError(
            f"fact {says!r}", f"{found['share']!r} is not a number; give a share from 0 to 1"
        ) from error
    if not 0 <= share <= 1:
        raise KnowledgeError(
            f"fact {says!r}", f"{share:g} is not a share; give a number from 0 to 1"
        )
    sign = found["sign"]
    return ShareStatement(
        klass=_plain(found["klass"]),
        conditions=tuple(_conditions(found["given"] or "", says)),
        low=0.0 if sign == "<=" else share,
        high=1.0 if sign == ">=" else share,
    )


def predicate(condition: Condition, feature: Feature, says: str) -> Predicate:
    """Return a condition as a test on its column.

    Raises:
        KnowledgeError: the sign or the value does not fit the column.
    """
    if not feature.numeric:
        if condition.sign not in ("=", "!=", "in"):
            raise KnowledgeError(
                f"fact {says!r}", f"{condition.name!r} contains categories; use =, != or in"
            )
        return CategoryTest(condition.name, condition.values, negated=condition.sign == "!=")
    try:
        value = float(condition.values[0])
    except ValueError as error:
        problem = f"{condition.values[0]!r} is not a number, but {condition.name!r} holds numbers"
        raise KnowledgeError(f"fact {says!r}", problem) from error
    if condition.sign in ("in", "!="):
        raise KnowledgeError(
            f"fact {says!r}", f"{condition.name!r} contains numbers; use =, <, <=, > or >="
        )
    if condition.sign == "=":
        return NumericTest(condition.name, value, value, low_closed=True, high_closed=True)
    if condition.sign in ("<", "<="):
        return NumericTest(condition.name, -math.inf, value, high_closed=condition.sign == "<=")
    return NumericTest(condition.name, value, math.inf, low_closed=condition.sign == ">=")


def _conditions(given: str, says: str) -> list[Condition]:
    conditions = []
    position = 0
    while given[position:].strip():
        match = _CONDITION_IN.match(given, position) or _CONDITION.match(given, position)
        if match is None:
            raise KnowledgeError(
                f"fact {says!r}",
                f"{given[position:].strip()!r} is not a condition; write column = value, column < 30, ...",
            )
        values = (
            re.findall(_WORD, match["value"])
            if match["value"].startswith("{")
            else [match["value"]]
        )
        conditions.append(
            Condition(
                _plain(match["name"]), match["sign"], tuple(_plain(value) for value in values)
            )
        )
        position = match.end()
    return conditions


def _plain(word: str) -> str:
    if word[0] in "\"'":
        return re.sub(r"\\(.)", r"\1", word[1:-1])
    return word.strip()
