"""Kinds of knowledge: one file each, turning what the adversary knows into rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import ClassVar

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.rows import LeftOut, Row, WholeRecords


class Constraint(ABC):
    """Owns one kind of fact. Without ``needs_tree`` it holds whether or not the tree is published."""

    needs_tree: ClassVar[bool] = True

    @abstractmethod
    def rows(self, case: Case) -> Iterator[Row | LeftOut | WholeRecords]:
        """Yield what this kind of fact says in this case; nothing where the adversary does not have it.

        What may hold, but is not known to, is yielded as left out, never in silence.

        Raises:
            KnowledgeError: the adversary is said to know what neither the file nor the table can tell.
        """
