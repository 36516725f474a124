"""What an expression comes to for some values of a raw field: a value, no value, or a record that is refused.

Four things that are easily confused are four types: a branch that is not there (``NoBranch``), an expression that is
not followed (``NotFollowedError``), a missing result (``NoValue``) and one for which an evaluator refuses the record
(``Invalid``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from treewarden.ppdm_models.codecs.pmml.datatypes import Constant, Kind, NotFollowedError

MOST_STEPS = 100
"""The most functions that a number is put through, one after the other."""

Function = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class Moving:
    """The raw number put through functions, which together never fall (or, not ``is_rising``, never rise)."""

    kind: Kind
    is_rising: bool = True
    is_continuous: bool = True
    steps: tuple[Function, ...] = ()

    def __call__(self, number: float) -> float:
        """Return what a raw number becomes."""
        for step in self.steps:
            number = step(number) + 0.0  # minus zero is zero
        return number


@dataclass(frozen=True, slots=True)
class SameCategory:
    """The raw category itself, where it is none of those that are told apart."""

    kind: Kind


@dataclass(frozen=True, slots=True)
class NoValue:
    """A missing result."""


@dataclass(frozen=True, slots=True)
class Invalid:
    """An evaluator refuses the record."""


@dataclass(frozen=True, slots=True)
class Undefined:
    """A function has no result: a division of whole numbers by zero, or a whole number beyond 32 bits."""


@dataclass(frozen=True, slots=True)
class NotANumber:
    """A function of numbers has none as its result: the root of a negative one."""


@dataclass(frozen=True, slots=True)
class NoBranch:
    """The part of an ``if`` that is not there; its result is missing."""


Outcome = Constant | Moving | SameCategory | NoValue | Invalid | Undefined | NotANumber
"""``Undefined`` and ``NotANumber`` only until the Apply element has said what becomes of them."""


@dataclass(frozen=True, slots=True)
class Step:
    """A function that never falls (or, not ``is_rising``, never rises) where it is used; its result is of a kind."""

    function: Function
    is_rising: bool
    kind: Kind
    is_continuous: bool = True


@dataclass(frozen=True, slots=True)
class Segment:
    """What becomes of the numbers from ``low`` to ``high``, both among them."""

    low: float
    high: float
    result: Step | Outcome


@dataclass(frozen=True, slots=True)
class ByNumber:
    """What becomes of a moving number, by segments that cover all numbers in their order."""

    moving: Moving
    segments: tuple[Segment, ...]


@dataclass(frozen=True, slots=True)
class ByCategory:
    """What becomes of the raw category: of some by name, of all others the same."""

    listed: Mapping[str, Outcome]
    rest: Outcome


Split = ByNumber | ByCategory


def extend(moving: Moving, step: Step) -> Moving:
    """Return a moving number put through one more function.

    Raises:
        NotFollowedError: there are too many.
    """
    if len(moving.steps) >= MOST_STEPS:
        raise NotFollowedError(f"more than {MOST_STEPS} functions follow each other")
    return Moving(
        step.kind,
        moving.is_rising == step.is_rising,
        step.is_continuous,
        (*moving.steps, step.function),
    )
