"""What published numbers are to blame for, as reports read it: who is certain by which, and the least to withhold."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.audit.reading import Undetermined


@dataclass(frozen=True, slots=True)
class ProofReason:
    """Numbers that together prove the values of the people of some groups; minimal where none can be missed.

    It ``is_smallest`` where it is proved that no fewer numbers prove the value of the first group.
    """

    numbers: frozenset[int]
    groups: tuple[int, ...]
    is_minimal: bool
    is_smallest: bool = False


@dataclass(frozen=True, slots=True)
class LeastWithholding:
    """Numbers to withhold, what they cost, and what every choice costs at least, in units of which ``unit`` make 1.

    After it ``is_safe`` says that nobody is certain, each shown by a table. It is the least where its cost is the
    bound. ``problem`` is why there is none, "" where there is one.
    """

    withheld: frozenset[int]
    cost: int
    lower_bound: int
    is_safe: bool
    reasons: int
    problem: str = ""
    unit: int = 1

    @property
    def is_optimal(self) -> bool:
        """Whether it is proved that nothing cheaper makes nobody certain."""
        return self.is_safe and self.cost == self.lower_bound


@dataclass(frozen=True, slots=True)
class SourceProof:
    """How many people one file proves by itself, and how many more may be certain; ``numbers`` are how many it has."""

    name: str
    numbers: int
    certain: float
    may_be_certain: float


@dataclass(frozen=True, slots=True)
class InformationBound:
    """Bits: what the published numbers hold at most, and how many everybody's values are."""

    published: float
    values: float


@dataclass(frozen=True, slots=True)
class InferenceBlame:
    """The number whose withholding lowers the average probability of people's own values most: before and after it.

    ``tried`` numbers were withheld, each alone.
    """

    number: int
    before: float
    after: float
    tried: int


@dataclass(frozen=True, slots=True)
class Blame:
    """Which published numbers prove people's values.

    ``names`` (N,) are the numbers, ``leaves`` (N,) the tree and node of each, -1 of an output's, and ``shares`` (N,)
    how many people each is to blame for. ``certain`` people are proved by all of them together, ``may_be_certain`` more
    were not decided; ``unexplained`` of them have no reason yet. ``people`` are how many each of the ``reasons`` is
    about. ``unused`` are numbers that were not used, in words. ``has_costs`` says that some cost another amount than 1.
    ``information`` is how many bits all numbers hold at most, where that is known, and
    ``inference`` which of them tells most of those who are not proved.
    """

    names: tuple[str, ...]
    sources: tuple[SourceProof, ...]
    certain: float
    may_be_certain: float
    reasons: tuple[ProofReason, ...]
    people: tuple[float, ...]
    unexplained: float
    shares: tuple[float, ...]
    least: LeastWithholding
    leaves: tuple[tuple[int, int], ...] = ()
    has_costs: bool = False
    unused: tuple[str, ...] = ()
    information: InformationBound | None = None
    inference: InferenceBlame | Undetermined | None = None
