"""What a kind of row tells of itself: all that is asked of rows anywhere, so that nobody else looks at their types."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.rows import LeafMass, Linear, Plurality, Row, SplitFamily
from treewarden.ppdm_models.arrays import FloatArray, IndexArray

TRUTH_TOLERANCE_SHARE = 1e-9
"""How far, as a share of the records a row speaks of, the true table may miss it: what floating point needs."""
COUNT_TOLERANCE_RECORDS = 1e-6

R = TypeVar("R", bound=Row)


@dataclass(frozen=True, slots=True)
class Dropped:
    """A row that the true table breaks, so it is no knowledge: where it comes from and the likely cause.

    ``is_published`` is true for what the file itself says (then the table is not the one the file speaks of).
    """

    constraint: str
    where: str
    problem: str
    is_published: bool


@dataclass(frozen=True, slots=True)
class Said:
    """Everything that a row says beside the profiles' own totals, in the four forms that are reasoned with.

    ``ends`` and ``leads`` are about the classes of those who stop at one node, ``across`` about any masses,
    ``families`` about what a learner compared. There are no defaults: a form that is forgotten would weaken the
    adversary, and pass a tree that gives people away.
    """

    ends: tuple[LeafMass, ...]
    leads: tuple[Plurality, ...]
    across: tuple[Linear, ...]
    families: tuple[SplitFamily, ...]


class Kind(ABC, Generic[R]):
    """Interprets the rows of one type."""

    @abstractmethod
    def statements(self, row: R) -> int:
        """Return how many statements a row is; the profiles' own totals are not counted."""

    @abstractmethod
    def broken(self, case: Case, row: R, mass: FloatArray) -> FloatArray:
        """Return by how much masses (P, m) break each part of a row, relative to its records; 0 where it holds."""

    @abstractmethod
    def held(self, case: Case, row: R, truth: FloatArray) -> tuple[R | None, Dropped | None]:
        """Return what of a row the true table (P, m) obeys, and what of it is dropped."""

    @abstractmethod
    def said(self, case: Case, row: R) -> Said:
        """Return all that a row says, in the forms that are reasoned with."""


Kinds = Mapping[type, Kind[Any]]


def kind_of(kinds: Kinds, row: Row) -> Kind[Any]:
    """Return the kind of a row.

    Raises:
        TypeError: there is no kind for rows of this type.
    """
    if type(row) not in kinds:
        raise TypeError(f"no kind for {type(row).__name__} rows; add it to audit/facts/kinds.py")
    return kinds[type(row)]


def as_lines(case: Case, said: Said) -> tuple[Linear, ...]:
    """Return all that a row says but its splits, as linear rows over the profiles' masses."""
    ends = (_end_line(case, end) for end in said.ends)
    leads = (line for lead in said.leads for line in _lead_lines(case, lead))
    return (*ends, *leads, *said.across)


def _end_line(case: Case, end: LeafMass) -> Linear:
    here = case.members.stops(end.node)
    classes = np.full(len(here), end.klass, dtype=np.intp)
    return Linear(here, classes, np.ones(len(here)), end.low, end.high, end.origin)


def _lead_lines(case: Case, lead: Plurality) -> tuple[Linear, ...]:
    here = case.members.stops(lead.node)
    both, ones = np.concatenate([here, here]), np.ones(len(here))

    def classes(other: int) -> IndexArray:
        return np.repeat(np.array([lead.label, other], dtype=np.intp), len(here))

    weights = np.concatenate([ones, -ones])
    return tuple(
        Linear(both, classes(other), weights, lead.margin, np.inf, lead.origin)
        for other in range(len(case.tree.classes))
        if other != lead.label
    )
