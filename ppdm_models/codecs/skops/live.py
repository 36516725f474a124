"""An estimator in memory, looked at in the way a skops file describes it: attributes are read, nothing is called."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.codecs.common.json import pointer
from treewarden.ppdm_models.codecs.skops.npy import Array
from treewarden.ppdm_models.codecs.skops.part import Part
from treewarden.ppdm_models.errors import TreeFormatError

PLAIN = (str, int, float, bool, type(None))


@dataclass(frozen=True, slots=True)
class LivePart(Part):
    """One object in memory; the attributes of an object written in C are those that it would be saved with."""

    name: str
    value: object
    steps: tuple[str | int, ...] = ()

    @property
    def source(self) -> str:
        return self.name

    @property
    def place(self) -> tuple[str | int, ...]:
        return self.steps

    @property
    def kind(self) -> str:
        return type(self.value).__name__

    @property
    def module(self) -> str:
        return type(self.value).__module__

    @property
    def loader(self) -> str:
        if isinstance(self.value, np.ndarray | np.generic):
            return "NdArrayNode"
        if isinstance(self.value, PLAIN):
            return "JsonNode"
        if isinstance(self.value, Mapping):
            return "DictNode"
        return "ListNode" if isinstance(self.value, list | tuple) else "ObjectNode"

    def place_of(self, attribute: str) -> str:
        return pointer((*self.steps, attribute))

    def refused(self, problem: str) -> TreeFormatError:
        where = "/".join(map(str, (self.name, *self.steps)))
        return TreeFormatError(where, problem)

    def attributes(self) -> dict[str, LivePart]:
        found: Mapping[object, object] = (
            self.value if isinstance(self.value, Mapping) else _state(self.value)
        )
        return {str(name): self._child(value, str(name)) for name, value in found.items()}

    def items(self) -> list[LivePart]:
        if isinstance(self.value, np.ndarray):
            return [self._child(item, place) for place, item in enumerate(self.value.flat)]
        if not isinstance(self.value, list | tuple):
            raise self.refused(f"a {self.kind}, where a list should be")
        return [self._child(item, place) for place, item in enumerate(self.value)]

    def plain(self) -> object:
        if isinstance(self.value, np.ndarray | np.generic):
            return self.value.item() if self.value.shape == () else self.value
        return self.value if isinstance(self.value, PLAIN) else None

    def array(self) -> Array:
        if not isinstance(self.value, np.ndarray | np.generic):
            raise self.refused(f"a {self.kind}, where an array should be")
        return np.asarray(self.value)

    def _child(self, value: object, step: str | int) -> LivePart:
        return LivePart(self.name, value, (*self.steps, step))


def _state(value: object) -> Mapping[object, object]:
    """Return the attributes of an object; of one without any, as scikit-learn's trees are, what it is saved with."""
    own = getattr(value, "__dict__", None)
    state = own or (value.__getstate__() if hasattr(value, "__getstate__") else None)
    return state if isinstance(state, Mapping) else {}
