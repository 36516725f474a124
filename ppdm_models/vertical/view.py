"""What a party knows of the nodes: in one of two modes, behind one interface."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar

from treewarden.ppdm_models.vertical.holding import Codes

Kept = TypeVar("Kept")


class View(ABC):
    """The records of nodes as one party sees them. Nodes are visited depth first; what is behind is forgotten.

    ``blocks`` counts the cells of others that it has seen as unnamed blocks.
    """

    blocks: int = 0

    @abstractmethod
    async def begin(self) -> None:
        """Do what comes before the root."""

    @abstractmethod
    async def offer_sums(self, node: int) -> None:
        """Give the miner what the token's holder needs to know the class totals of a node."""

    @abstractmethod
    def totals(self, node: int, offered: bytes) -> Codes:
        """Return the class totals of a node, shape (classes,); ``offered`` is what all parties gave for it."""

    @abstractmethod
    async def counts(self, node: int) -> Sequence[Codes]:
        """Return for each own attribute the records of each category and class."""

    @abstractmethod
    async def part(self, node: int, first: int, slots: int, branches: Codes | None) -> None:
        """Make the nodes below a node, ``first`` and those after it; ``branches`` are codes of the winner alone."""


class Stack(Generic[Kept]):
    """What is kept of the nodes that are still to be visited, the next one on top."""

    def __init__(self, root: Kept) -> None:
        self._nodes: list[tuple[int, Kept]] = [(0, root)]

    def at(self, node: int) -> Kept:
        """Return what is kept of a node; those that lie above it are behind, and forgotten.

        Raises:
            LookupError: there is no such node, or it is behind.
        """
        while self._nodes and self._nodes[-1][0] != node:
            self._nodes.pop()
        if not self._nodes:
            raise LookupError(f"node {node} is not there, or behind")
        return self._nodes[-1][1]

    def part(self, node: int, first: int, below: Sequence[Kept]) -> None:
        """Replace a node by those below it."""
        self.at(node)
        self._nodes.pop()
        self._nodes += reversed(list(enumerate(below, start=first)))
