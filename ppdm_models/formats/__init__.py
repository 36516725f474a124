"""The formats a tree is published in: one file each, recognised by content, never by extension alone."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar

from ppdm_models.codecs.sklearn.fitted import from_sklearn
from ppdm_models.tree.ensemble import Model
from ppdm_models.tree.leaks import Leak, LeakKind
from ppdm_models.tree.tree import Tree

__all__ = ["Format", "from_sklearn"]


class Format(ABC):
    """Reads, and where it can also writes, one format of published trees.

    ``accounts_for_all`` says that whatever a file holds is in the model, named by ``leaks``, or refused: nothing else
    can stand in a file that is read.
    """

    accounts_for_all: ClassVar[bool] = False

    @abstractmethod
    def sniff(self, data: bytes) -> bool:
        """Return whether the bytes look like this format. Cheap, and never raises."""

    @abstractmethod
    def read(self, data: bytes, source: str) -> Model:
        """Return the tree in the bytes, or the ensemble where there are several; ``source`` names the file.

        Raises:
            TreeFormatError: the bytes are not a tree of this format, or not one that can be understood in full.
        """

    def leaks(self, data: bytes, source: str) -> tuple[Leak, ...]:
        """Return what the file gives away beside its trees, in the file's order.

        Only called on bytes that ``read`` understands.
        """
        return ()

    def without(self, data: bytes, source: str, kinds: frozenset[LeakKind]) -> bytes | None:
        """Return the file without its removable leaks of some kinds, all else as it was; None where it is only read."""
        return None

    def rewrite(self, data: bytes, source: str, changed: Model) -> bytes | None:
        """Return the file with its model changed to this one, and nothing else; None where it is only read.

        Raises:
            OutputError: the format cannot say something that the model holds.
        """
        return None

    def write(self, tree: Tree) -> bytes | None:
        """Return the tree in this format, or None where this format is only read.

        Raises:
            OutputError: the format cannot say something that the tree holds.
        """
        return None
