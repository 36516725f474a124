"""Kinds of knowledge: one file each, turning what the adversary knows into rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from treewarden.audit.facts.rows import Case, LeftOut, Row, WholeRecords
from treewarden.audit.knowledge.knowledge import Knowledge


class Constraint(ABC):
    """Owns one kind of fact, and its words. Without ``needs_tree`` it holds whether or not the tree is published."""

    needs_tree: ClassVar[bool] = True

    @abstractmethod
    def rows(self, case: Case) -> Iterator[Row | LeftOut | WholeRecords]:
        """Yield what this kind of fact says in this case; nothing where the adversary does not have it.

        What may hold, but is not known to, is yielded as left out, never in silence.

        Raises:
            KnowledgeError: the adversary is said to know what neither the file nor the table can tell.
        """

    def words(self, knowledge: Knowledge, target: str) -> Iterator[str]:
        """Yield what the adversary is assumed to know by it, as sentences without a stop; most say nothing themselves.

        ``target`` is how a sentence calls what the model predicts.
        """
        yield from ()
