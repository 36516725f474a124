"""A described Python object of scikit-learn: what a reader may ask of it, in a file or in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from treewarden.ppdm_models.codecs.skops.npy import Array
from treewarden.ppdm_models.errors import TreeFormatError


class Part(ABC):
    """One described object; ``source`` names the file or the estimator, and ``steps`` lead to the object in it."""

    __slots__ = ()

    @property
    @abstractmethod
    def source(self) -> str:
        """What holds the object, for messages."""

    @property
    @abstractmethod
    def place(self) -> tuple[str | int, ...]:
        """The steps that lead to the object."""

    @property
    @abstractmethod
    def kind(self) -> str:
        """The name of its class."""

    @property
    @abstractmethod
    def module(self) -> str:
        """The name of the module of its class."""

    @property
    @abstractmethod
    def loader(self) -> str:
        """What skops would build it with: an ObjectNode, JsonNode, NdArrayNode, ListNode, DictNode or another."""

    @abstractmethod
    def refused(self, problem: str) -> TreeFormatError:
        """Return the error for this place."""

    @abstractmethod
    def attributes(self) -> Mapping[str, Part]:
        """Return the attributes of an object, or the entries of a dictionary."""

    @abstractmethod
    def items(self) -> Sequence[Part]:
        """Return the items of a list or tuple, or those of an array of objects (flattened)."""

    @abstractmethod
    def plain(self) -> object:
        """Return a number, text, None or array; None too where it is an object of another kind."""

    @abstractmethod
    def array(self) -> Array:
        """Return the array.

        Raises:
            TreeFormatError: it is no array, or it is damaged.
        """

    @abstractmethod
    def place_of(self, attribute: str) -> str:
        """Return where an attribute of the object stands, as a JSON pointer."""
