"""The formats a tree is published in: one file each, recognised by content, never by extension alone."""

from __future__ import annotations

from abc import ABC, abstractmethod

from ppdm_models.sklearn_tree import from_sklearn
from ppdm_models.tree import Tree

__all__ = ["Format", "from_sklearn"]


class Format(ABC):
    """Reads, and where it can also writes, one format of published trees."""

    @abstractmethod
    def sniff(self, data: bytes) -> bool:
        """Return whether the bytes look like this format. Cheap, and never raises."""

    @abstractmethod
    def read(self, data: bytes, source: str) -> Tree:
        """Return the tree in the bytes; ``source`` names the file in messages.

        Raises:
            TreeFormatError: the bytes are not a tree of this format, or not one that can be understood in full.
        """

    def write(self, tree: Tree) -> bytes | None:
        """Return the tree in this format, or None where this format is only read.

        Raises:
            OutputError: the format cannot say something that the tree holds.
        """
        return None
