"""Facts from elsewhere as people write them: shares such as ``P(flu | sex = F, age < 30) = 0.2``, and known records."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, get_args

from pydantic import BeforeValidator, Field, FiniteFloat, StrictInt, StrictStr

from treewarden.audit.knowledge.levels import KnowledgeSection
from treewarden.ppdm_models.errors import KnowledgeError, near_text
from treewarden.ppdm_models.tree.column import number_text
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
    """A fact taken apart: the share of a class among the records that meet every condition lies in [low, high].

    Of ``is_one_record`` no share is known: one of these records has the class.
    """

    klass: str
    conditions: tuple[Condition, ...]
    low: float
    high: float
    is_one_record: bool = False


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
        if not math.isfinite(value):
            raise ValueError  # a value that nobody can have
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


def _conditions(text: str, says: str) -> list[Condition]:
    conditions = []
    position = 0
    while text[position:].strip():
        match = _CONDITION_IN.match(text, position) or _CONDITION.match(text, position)
        if match is None:
            raise KnowledgeError(
                f"fact {says!r}",
                f"{text[position:].strip()!r} is not a condition; write column = value, column < 30, ...",
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


# What a ``[[fact]]`` of a knowledge file can be: a record for each kind, in the order in which help names them.

FACT = "background"
"""The constraint that facts from elsewhere are."""
Value = StrictStr | StrictInt | Annotated[FiniteFloat, Field(strict=True)]
"""What a record holds in a column, as a file says it: text or a number."""
STATEMENT = '"P(flu | sex = F, age < 30) = 0.2"'
RECORD = '{ age = 44, sex = "M" }'


def _class_name(value: object) -> object:
    """Return the class that a whole number names; anything else is left to be refused."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return str(value) if is_number else value


class Statement(KnowledgeSection):
    """A share among some records: ``P(flu | sex = F, age < 30) = 0.2`` (with =, <= or >=)."""

    form: ClassVar[str] = f"a statement (says = {STATEMENT})"
    says: str

    @property
    def words(self) -> str:
        """The fact as messages name it."""
        return self.says

    @property
    def sentence(self) -> str:
        """The fact as a report says it."""
        return self.says

    @property
    def claim(self) -> ShareStatement:
        """What it says, taken apart; errors as for ``read_claim``."""
        return read_claim(self.says)

    @staticmethod
    def slip(table: Mapping[str, Any]) -> str:
        """Return what is wrong in a table that has its keys; "" where nothing is."""
        if not isinstance(table["says"], str):
            return f"says: give a statement in quotes, such as {STATEMENT}"
        return ""


class KnownRecord(KnowledgeSection):
    """One record with these quasi-identifier values is known to have this class."""

    form: ClassVar[str] = f"a person with a known class (record = {RECORD} and class)"
    record: Annotated[dict[str, Value], Field(min_length=1)]
    value: Annotated[str, BeforeValidator(_class_name), Field(alias="class")]

    @property
    def words(self) -> str:
        """The fact as messages name it."""
        values = ", ".join(f"{name} = {value}" for name, value in self.record.items())
        return f"the record with {values} has class {self.value}"

    @property
    def sentence(self) -> str:
        """The fact as a report says it."""
        values = ", ".join(f"{name} = {value}" for name, value in self.record.items())
        return f"the record with {values} has the value “{self.value}”"

    @property
    def claim(self) -> ShareStatement:
        """What it says: one of the records with these values has the class."""
        conditions = tuple(
            Condition(name, "=", (_text(value),)) for name, value in self.record.items()
        )
        return ShareStatement(self.value, conditions, 0.0, 1.0, is_one_record=True)

    @staticmethod
    def slip(table: Mapping[str, Any]) -> str:
        """Return what is wrong in a table that has its keys; "" where nothing is."""
        return _slip_in_record(table["record"]) or _slip_in_class(table["class"])


Fact = Statement | KnownRecord
FACT_TYPES: tuple[type[Fact], ...] = get_args(Fact)


def _keys_of(kind: type[KnowledgeSection]) -> tuple[str, ...]:
    """Return the keys of a table of one kind, the one that tells the kind first."""
    return tuple(field.alias or name for name, field in kind.model_fields.items())


FACT_KEYS = tuple(key for kind in FACT_TYPES for key in _keys_of(kind))
"""What can stand in a ``[[fact]]``."""
KINDS_OF_FACTS = f"a fact is {' or '.join(kind.form for kind in FACT_TYPES)}"


def fact_slip(table: Mapping[str, Any]) -> str:
    """Return what is wrong in a ``[[fact]]`` table, with the key that is wrong; "" where nothing is.

    There are several kinds of facts, and what makes one of a slip in the other is for people to say.
    """
    for key in table:
        if key not in FACT_KEYS:
            return f"unknown key {key!r}{near_text(key, FACT_KEYS)}; {KINDS_OF_FACTS}"
    leads = {_keys_of(kind)[0]: kind for kind in FACT_TYPES}
    lead = next((key for key in leads if key in table), _keys_of(KnownRecord)[0])
    keys = _keys_of(leads[lead])
    others = [key for key in FACT_KEYS if key in table and key not in keys]
    if others:
        return f"{others[0]}: cannot be combined with {lead!r}; {KINDS_OF_FACTS}"
    for key in keys:
        if key not in table:
            return f"{key}: is missing; {KINDS_OF_FACTS}"
    return leads[lead].slip(table)


def _slip_in_record(record: object) -> str:
    if not isinstance(record, Mapping):
        return f"record: give columns and values of one person, such as {RECORD}"
    if not record:
        return f"record: no column; give columns and values of one person, such as {RECORD}"
    for name, value in record.items():
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            return f"record: {name}: text or a number is needed"
        if isinstance(value, float) and not math.isfinite(value):
            return f"record: {name}: a finite number is needed"
    return ""


def _slip_in_class(value: object) -> str:
    if isinstance(value, str) or (isinstance(value, int) and not isinstance(value, bool)):
        return ""
    return "class: give the name of a class in quotes"


def _text(value: str | int | float) -> str:
    return value if isinstance(value, str) else number_text(float(value))
