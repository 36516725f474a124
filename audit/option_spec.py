"""What an option is: its words, its values, what it is about, and which doors take it."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Flag, StrEnum, auto
from typing import Any


class Concern(StrEnum):
    """What an option is about: it decides what stands for it elsewhere, and what depends on it.

    ``KNOWLEDGE`` is what a knowledge file says instead, ``ADVERSARY`` is an adversary who knows some columns only.
    ``MACHINE`` and ``REPORT`` belong to the machine that runs the audit and to what is written; no result depends on
    them. ``POLICY`` is what is judged, and ``PUBLIC`` what is published or known beside the model.
    """

    COLUMNS = "columns"
    KNOWLEDGE = "knowledge"
    ADVERSARY = "adversary"
    METHOD = "method"
    MACHINE = "machine"
    REPORT = "report"
    POLICY = "policy"
    PUBLIC = "public"


class OptionDoor(Flag):
    """Where an option can be set beside the command line and Python, which have all of them.

    ``GATE`` is a ``[[model]]`` of ``treewarden.toml``, ``SERVICE`` the ``options`` in the body of a request, ``PAGE``
    the form of the service's page, which shows some of them.
    """

    NONE = 0
    GATE = auto()
    SERVICE = auto()
    PAGE = auto()
    ALL = GATE | SERVICE
    WITH_PAGE = GATE | SERVICE | PAGE


class Content(StrEnum):
    """What the words of a value are: columns of the table, numbers, or pairs NAME=VALUE."""

    COLUMNS = "columns"
    NUMBERS = "numbers"
    PAIRS = "pairs"


KINDS = {
    bool: "True or False",
    int: "a whole number",
    float: "a number",
    str: "a text",
    tuple: "a list",
}
"""How the types of options are called in messages."""
STATED_BY_ALL: Any = object()
"""In place of a value: every attestation states the option."""


@dataclass(frozen=True, slots=True)
class AttestedAs:
    """How an attestation states an option, or why it cannot.

    Of knowledge, ``unknown`` is the value for an adversary who does not have it, and ``words`` say in messages what it
    is. ``unstated`` is the value that holds for attestations that were written before the option was. ``instead`` says
    what to do where an attestation cannot state an option.
    """

    words: str = ""
    unknown: object = None
    unstated: object = STATED_BY_ALL
    instead: str = ""


@dataclass(frozen=True, slots=True)
class OptionSpec:
    """What an option means to the person who sets it, and which values it takes.

    Numbers lie between ``low`` (exclusive where ``is_open``) and ``high``. ``metavar`` stands for the value in a
    synopsis, ``unset`` for what holds where nothing is given, ``kinds`` are the types that a value can have. The values
    of ``choices`` become members of ``enum``. ``content`` says what its words are; a mapping can stand for pairs. A
    list that has ``if_empty`` may not be empty: that says what to do instead. ``doors`` are where it can be set.
    """

    help: str
    concern: Concern
    kinds: frozenset[type]
    enum: type[StrEnum] | None = None
    choices: tuple[str, ...] = ()
    content: Content | None = None
    if_empty: str = ""
    low: float | None = None
    high: float | None = None
    is_open: bool = False
    metavar: str | None = None
    unset: str = ""
    doors: OptionDoor = OptionDoor.ALL
    attested: AttestedAs = AttestedAs()

    def problem(self, value: object) -> str:
        """Return why a value cannot be, in words; "" where it can."""
        if value is None and not self.kinds & {bool}:
            return ""
        if self.choices and value not in self.choices:
            return f"choose one of {', '.join(self.choices)}"
        if not self.choices and type(value) not in self.kinds:
            names = " or ".join(sorted(KINDS.get(kind, kind.__name__) for kind in self.kinds))
            return f"give {names}, not {type(value).__name__}"
        if isinstance(value, float) and math.isnan(value):
            return "give a number"
        if not isinstance(value, int | float) or isinstance(value, bool):
            return ""
        if self.low is not None and (value < self.low or (self.is_open and value == self.low)):
            return f"give {'more than ' if self.is_open else 'at least '}{self.low:g}"
        if self.high is not None and value > self.high:
            return f"give at most {self.high:g}"
        return ""


def option(concern: Concern, default: object, help: str, *kinds: type, **more: Any) -> Any:  # noqa: A002, ANN401  # as dataclasses.field; the field is typed
    """Return a field with its default and its specification."""
    enum = more.get("enum")
    if enum is not None:
        more = {"choices": tuple(member.value for member in enum), **more}
    spec = OptionSpec(help, concern, frozenset(kinds or (type(default),)), **more)
    return field(default=default, metadata={"spec": spec})


@dataclass(frozen=True, slots=True)
class KeySetting:
    """What messages call the setting that names the column of who is who, and how a column is named with it."""

    name: str
    naming: str
    quoted: Callable[[str], str]

    def advice(self, column: str) -> str:
        """Return in words how to name a column."""
        return self.naming.format(self.quoted(column))


KEY_OPTION = KeySetting("--id", "audit with --id {}", shlex.quote)
