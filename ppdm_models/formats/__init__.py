"""The formats a tree is published in: one file each, recognised by content, never by extension alone.

A room holds the formats of one producer. Its ``may_hold`` looks at bytes before any of them is imported: it is false
only where none of them would recognise these.

Every format reads (``Format``). What else can be done is a contract of its own, asked for by ``isinstance``: a format
that writes models is a ``Writer`` too, and what it opens may be ``Rewritable`` or ``Strippable``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import ClassVar

from treewarden.ppdm_models.tree.ensemble import Model
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind

ESTIMATOR = "scikit-learn"
"""The format that a scikit-learn estimator in memory is said to have."""


class Opened:
    """A file as its format understood it: the model, and what the file gives away beside its trees."""

    def __init__(self, model: Model, leaks: Iterable[Leak] = ()) -> None:
        """Keep both; the leaks are looked for here, as a file that cannot be looked through is not understood."""
        self.model = model
        self._leaks = tuple(leaks)

    @property
    def leaks(self) -> tuple[Leak, ...]:
        """What the file gives away, in its order; a format that needs long for it may look when it is first asked."""
        return self._leaks

    def beyond_trees(self) -> tuple[str, ...]:
        """Return what the file holds beside trees and what these need, in words."""
        return ()


class Rewritable(Opened, ABC):
    """A file whose trees can be changed where they stand."""

    @abstractmethod
    def rewrite(self, changed: Model) -> bytes:
        """Return the file with its model changed to this one, and nothing else.

        Raises:
            OutputError: the format cannot say something that the model holds.
        """


class Strippable(Opened, ABC):
    """A file from which leaks can be removed."""

    @abstractmethod
    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        """Return the file without its removable leaks of some kinds, all else as it was.

        Raises:
            OutputError: what is to be removed is a part of the model.
        """


class Format(ABC):
    """Reads one format of published trees.

    ``accounts_for_all`` says that whatever a file holds is in the model, named by its leaks, or refused: nothing else
    can stand in a file that is read. ``rewrites`` says that what it opens is ``Rewritable``,
    ``drops_trees`` that it may be written without its last trees, and ``rounds_leaves`` that what other numbers tell of
    leaf values goes where inner nodes have none any more, while the settings that these hang on stay.
    ``how_to_export`` tells a user how to get the file anew: it ends a message that names no other way out.
    ``publish_instead`` names a file of the same model that can pass, where one of this format cannot.
    """

    how_to_export: ClassVar[str] = "export it again with the program that trained it"
    publish_instead: ClassVar[str] = ""
    accounts_for_all: ClassVar[bool] = False
    rewrites: ClassVar[bool] = False
    drops_trees: ClassVar[bool] = False
    rounds_leaves: ClassVar[bool] = False

    @abstractmethod
    def sniff(self, data: bytes) -> bool:
        """Return whether the bytes look like this format. Cheap, and never raises."""

    @abstractmethod
    def open(self, data: bytes, source: str) -> Opened:
        """Return what the bytes hold: a tree, or an ensemble where there are several; ``source`` names the file.

        Raises:
            TreeFormatError: the bytes are not a tree of this format, or not one that can be understood in full.
        """


class Writer(ABC):
    """A format that models are written in too, from nothing but themselves."""

    @abstractmethod
    def write(self, model: Model) -> bytes:
        """Return the tree or ensemble in this format.

        Raises:
            OutputError: the format cannot say something that the model holds.
        """
