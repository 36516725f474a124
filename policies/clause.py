"""The grammar of policy packs: clauses, their atoms and combinations, and the pack that holds them.

An atom holds one measure against one limit. ``all``, ``any`` and ``not`` combine atoms, and nest. A pack is what its
file says once everything that it extends was put in.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    WithJsonSchema,
    model_validator,
)
from pydantic_core import PydanticCustomError

from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.knowledge.levels import LeafLevel, SplitLevel
from treewarden.audit.measures import LeafMeasure, MeasureCall, call, measures
from treewarden.policies.verdict import Severity, counts

BELIEF = "label_disclosure"
CERTAINTIES = ("confidence", "disclosure")
"""Limits on these may hold only for who does not believe labels: a verdict doubts them until ``BELIEF`` is limited."""

# What a clause may be bound to: what the adversary knows, which models it is about, which guidance it serves.

Kind = Literal["tree", "ensemble", "forest", "boosted"]
TaskName = Literal["classification", "regression"]
Given = Literal["population", "totals"]
"""What beside the table a clause may need to be given: a register of candidates, or tables of totals."""
Text = Annotated[str, Field(strict=True, min_length=1)]


def _as_list(value: object) -> object:
    """Return one word as a list of it."""
    return [value] if isinstance(value, str) else value


def _one_or_more(words: tuple[str, ...] = ()) -> Any:  # noqa: ANN401 (what pydantic takes)
    one = {"type": "string", "enum": list(words)} if words else {"type": "string", "minLength": 1}
    return WithJsonSchema({"anyOf": [one, {"type": "array", "items": one, "minItems": 1}]})


class Section(BaseModel):
    """A table of a pack's file: unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False, defer_build=True)


class Under(Section):
    """What the adversary knows for one clause, whatever the audit assumes else: keys of the knowledge file."""

    leaf: LeafLevel | None = None
    split: SplitLevel | None = None
    marginal: StrictBool | None = None
    accuracy: StrictBool | None = None
    strict_labels: StrictBool | None = None
    min_leaf: Annotated[int, Field(strict=True, ge=1)] | None = None

    @model_validator(mode="after")
    def _says_something(self) -> Under:
        if not self.settings:
            raise PydanticCustomError("said", "is empty; leave it out")
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """What is said, by key, in one order."""
        each = ((name, getattr(self, name)) for name in type(self).model_fields)
        return {name: value for name, value in each if value is not None}

    @property
    def words(self) -> str:
        """The same as it is typed; two that say the same read the same."""
        return ", ".join(f"{name} = {_typed(value)}" for name, value in self.settings.items())

    def apply_to(self, knowledge: Knowledge) -> Knowledge:
        """Return the knowledge of an audit with this in its place."""
        return knowledge.model_copy(update=self.settings)


class When(Section):
    """The models a clause is about; a clause that does not apply is not judged, and the report says so."""

    model: Annotated[
        tuple[Kind, ...],
        Field(min_length=1),
        BeforeValidator(_as_list),
        _one_or_more(get_args(Kind)),
    ] = ("tree", "ensemble")
    task: Annotated[
        tuple[TaskName, ...],
        Field(min_length=1),
        BeforeValidator(_as_list),
        _one_or_more(get_args(TaskName)),
    ] = ("classification", "regression")
    format: Annotated[tuple[Text, ...], BeforeValidator(_as_list), _one_or_more()] = ()
    given: Annotated[
        tuple[Given, ...], BeforeValidator(_as_list), _one_or_more(get_args(Given))
    ] = ()

    @model_validator(mode="after")
    def _says_something(self) -> When:
        if not self.model_fields_set:
            raise PydanticCustomError("said", "is empty; leave it out")
        if "format" in self.model_fields_set and not self.format:
            raise PydanticCustomError("said", "format is empty; name one or leave it out")
        return self


class Guidance(Section):
    """A paragraph of a law or a guideline that a clause serves, for the table of a compliance report."""

    document: Text
    paragraph: Text
    says: str = ""


def _typed(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


DEEPEST = 8
"""How many combinations may stand in each other."""

Scope = Literal["leaf", "profile", "model", "tree"]
"""Where a clause is judged; the worst place counts."""
Form = Literal["atom", "all", "any", "not"]

Parameters = dict[str, StrictInt | StrictFloat | StrictStr]


class Part(Section):
    """An atom (``measure``, ``rule``, ``limit``), or exactly one of ``all``, ``any`` and ``not``."""

    measure: Text = ""
    parameters: Parameters = {}
    rule: Text = ""
    limit: Annotated[float, Field(strict=True)] | None = None
    every: tuple[Part, ...] | None = Field(default=None, alias="all", min_length=1)
    some: tuple[Part, ...] | None = Field(default=None, alias="any", min_length=1)
    negated: Part | None = Field(default=None, alias="not")

    @model_validator(mode="after")
    def _is_one_thing(self) -> Part:
        given = [name for name, value in self._combined.items() if value is not None]
        atomic = [name for name in ATOMIC if name in self.model_fields_set]
        if len(given) > 1 or (given and atomic):
            both = " and ".join(map(repr, (*given, *atomic)))
            raise PydanticCustomError("said", "has {both}; keep one of them", {"both": both})
        if not given:
            for name in ("measure", "rule", "limit"):
                if name not in self.model_fields_set:
                    raise PydanticCustomError("lacks", "{key}", {"key": name})
        return self

    @property
    def _combined(self) -> dict[str, Any]:
        return {"all": self.every, "any": self.some, "not": self.negated}

    @property
    def form(self) -> Form:
        """Whether it is an atom, or which combination."""
        if self.every is not None:
            return "all"
        if self.some is not None:
            return "any"
        return "atom" if self.negated is None else "not"

    @property
    def parts(self) -> tuple[Part, ...]:
        """What it combines; nothing where it is an atom."""
        return self.every or self.some or (() if self.negated is None else (self.negated,))

    @property
    def is_combined(self) -> bool:
        """Whether it is no atom."""
        return self.form != "atom"

    @property
    def atom(self) -> Atom:
        """What an atom asks for; only of an atom."""
        assert self.limit is not None, "a combination has no limit of its own"
        return Atom(call(self.measure, self.parameters), self.rule, self.limit)

    @property
    def atoms(self) -> tuple[Atom, ...]:
        """Every atom in it, in the order they are written."""
        return tuple(part.atom for part in atomic_parts(self))

    @property
    def demanded(self) -> tuple[Atom, ...]:
        """The atoms that each have to hold for it to hold: itself, or those joined by ``all`` alone."""
        if self.form == "atom":
            return (self.atom,)
        if self.form == "not" or len(self.parts) > 1 and self.form == "any":
            return ()
        return tuple(atom for part in self.parts for atom in part.demanded)


@dataclass(frozen=True, slots=True)
class Atom:
    """One measure with all its parameters, held against one limit by one rule."""

    call: MeasureCall
    rule: str
    limit: float


ATOMIC = ("measure", "parameters", "rule", "limit")
COMBINING = ("all", "any", "not")


def atomic_parts(part: Part) -> Iterator[Part]:
    """Yield the atoms of a part, in the order they are written; they need not be checked yet."""
    if not part.is_combined:
        yield part
    for each in part.parts:
        yield from atomic_parts(each)


class Clause(Part):
    """One demand: what has to hold, where, for which models and which adversary, and how grave it is where it does not.

    ``loosen`` is the reason why a clause asks for less than the one of the same name in the pack that is extended.
    """

    id: Text
    severity: Severity = "error"
    scope: Scope | None = None
    under: Under | None = None
    when: When | None = None
    why: str = ""
    source: str = ""
    guidance: tuple[Guidance, ...] = ()
    loosen: Text | None = None

    @property
    def under_words(self) -> str:
        """What the adversary is assumed to know for it, as it is typed; "" where it is what the audit assumes."""
        return "" if self.under is None else self.under.words


class Waivers(Section):
    """What may be waived: how far off an expiry may be, whether what is undetermined may, what an unused waiver is."""

    longest_days: Annotated[int, Field(strict=True, ge=1)] = 180
    undetermined: StrictBool = False
    unused: Severity = "warning"
    loosen: Text | None = None


class Base(Section):
    """A pack that another extends, as it was."""

    name: str
    version: str
    digest: str


class Dropped(Section):
    """A clause of an extended pack that is left out, and why; the ``clause`` itself is no part of what is written."""

    id: str
    reason: str
    clause: Clause | None = Field(default=None, exclude=True)


class Pack(Section):
    """A named, versioned set of clauses: what a file says, with everything that it extends.

    ``bases`` are the packs it came from, the nearest first. ``fail_on`` is no part of the file: clauses of this
    severity or a graver one have to be met.
    """

    name: Text
    version: Text
    title: Text
    description: str = ""
    clauses: Annotated[tuple[Clause, ...], Field(alias="clause", min_length=1)]
    waivers: Waivers = Waivers()
    bases: tuple[Base, ...] = ()
    dropped: tuple[Dropped, ...] = ()
    fail_on: Severity = "error"

    def counts(self, clause: Clause) -> bool:
        """Return whether a clause is grave enough that it has to be met."""
        return counts(clause.severity, self.fail_on)

    @property
    def counting(self) -> tuple[Clause, ...]:
        """The clauses that have to be met."""
        return tuple(filter(self.counts, self.clauses))

    @property
    def digest(self) -> str:
        """SHA-256 of what the pack says once all is put in, whatever its layout, comments and files.

        What is as it would be without being said is left out, so that a pack keeps its checksum when the grammar grows.
        """
        said = self.model_dump(mode="json", by_alias=True, include=_SAID)
        said["clause"] = [_stated_fields(clause) for clause in self.clauses]
        if self.waivers != Waivers():
            said["waivers"] = self.waivers.model_dump(mode="json")
        if self.dropped:
            said["dropped"] = [each.model_dump(mode="json") for each in self.dropped]
        text = json.dumps(said, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return hashlib.sha256(text.encode("utf-8")).hexdigest()


_SAID = {"name", "version", "title", "description"}
_ALWAYS_SAID = ("id", "severity", "why", "source")


def said_of(part: Part) -> dict[str, Any]:
    """Return what a part says as its file would, only what is not as it would be anyway."""
    return part.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _stated_fields(clause: Clause) -> dict[str, Any]:
    always = (*_ALWAYS_SAID, *(() if clause.is_combined else ATOMIC))
    whole = clause.model_dump(mode="json", by_alias=True)
    return {**said_of(clause), **{name: whole[name] for name in always}}


def is_same_anywhere(part: Part, sign: bool = True) -> bool:
    """Return whether a part is read off its worst leaf wherever it is judged; without the sign, its negation."""
    if part.form == "atom":
        return sign and reads_worst_leaf(part.measure)
    if part.form == "not":
        return is_same_anywhere(part.parts[0], not sign)
    if len(part.parts) > 1 and part.form != ("all" if sign else "any"):
        return False
    return all(is_same_anywhere(each, sign) for each in part.parts)


def reads_worst_leaf(name: str) -> bool:
    """Return whether a measure reads nothing but its worst leaf."""
    measure = measures()[name]
    return isinstance(measure, LeafMeasure) and type(measure).read is LeafMeasure.read
