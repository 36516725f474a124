"""What is public when parties grow a tree: who they are, how many attributes each has, when growth stops, ties."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from treewarden.ppdm_models.vertical.scores import STEPS_PER_BIT


class Mode(StrEnum):
    """Who knows which records are at a node: every party by their numbers (the paper), or nobody."""

    IDS = "ids"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Stops:
    """When a node is not split: fewer records than ``min_records``, ``depth`` tests above it (None: any number)."""

    min_records: int = 2
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What all sides agree on.

    ``ranks`` holds for each party the rank of each of its attributes: of equally good ones the lowest wins, as in the
    joined table. ``labelled`` is the party that holds the class. The order of ``classes`` decides between classes that
    are equally frequent.
    """

    parties: tuple[str, ...]
    ranks: tuple[tuple[int, ...], ...]
    records: int
    classes: tuple[str, ...]
    labelled: int
    stops: Stops = field(default_factory=Stops)
    mode: Mode = Mode.SHARED

    def __post_init__(self) -> None:
        if len(self.parties) < 2 or len(set(self.parties)) < len(self.parties):
            raise ValueError("a session needs two parties or more, each with a name of its own")
        ranks = [rank for own in self.ranks for rank in own]
        if len(self.ranks) != len(self.parties) or sorted(ranks) != list(range(len(ranks))):
            raise ValueError("each attribute of each party needs a rank of its own, from 0 on")
        if self.records < 1 or len(self.classes) < 2 or not 0 <= self.labelled < len(self.parties):
            raise ValueError("a session needs a record, two classes, and a party that holds them")

    @property
    def attributes(self) -> int:
        """How many attributes all parties have together."""
        return sum(map(len, self.ranks))

    @property
    def deepest(self) -> int:
        """How many tests can be on a path."""
        own = self.attributes
        return own if self.stops.depth is None else min(own, self.stops.depth)

    def key(self, party: int, attribute: int, points: int) -> int:
        """Return what attributes are compared by: the score, then the rank."""
        return points * self.attributes + self.ranks[party][attribute]

    @property
    def nothing(self) -> int:
        """The key of a party that has no attribute left: above every other, by what is public."""
        most = self.records * len(self.classes).bit_length() * STEPS_PER_BIT + 1
        return 1 << (most * max(self.attributes, 1)).bit_length()
