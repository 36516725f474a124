"""The classes of records, numbered as they pass by: they are published, so that what they tell has to be counted."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.randomised.moments import MOST_CLASSES


class Labels:
    """Numbers classes from 0, in the order in which they are met; records without one are a class of their own.

    Where there are more than ``MOST_CLASSES``, all others are the last of them, and ``are_too_many`` says so.
    """

    def __init__(self, source: str, name: str) -> None:
        self.source, self.name = source, name
        self._numbers: dict[str | None, int] = {}

    @property
    def are_too_many(self) -> bool:
        """Whether there are more classes than are counted apart."""
        return len(self._numbers) > MOST_CLASSES

    def numbers(self, values: pa.Array) -> NDArray[np.int64]:
        """Return the number of the class of each record.

        Raises:
            TableError: they are lists or the like, and no classes.
        """
        if pa.types.is_nested(values.type):
            problem = f"column {self.name!r} holds {values.type}, which are no classes"
            raise TableError(self.source, f"{problem}; name another in --class, or none")
        if self.are_too_many:
            return np.full(len(values), MOST_CLASSES - 1)
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        encoded = pc.dictionary_encode(values, null_encoding="encode")
        met = np.empty(len(encoded.dictionary), dtype=np.int64)
        known = self._numbers
        for place, value in enumerate(encoded.dictionary):
            name = str(value) if value.is_valid else None
            if not self.are_too_many:
                known.setdefault(name, len(known))
            met[place] = min(known.get(name, MOST_CLASSES), MOST_CLASSES - 1)
        found: NDArray[np.int64] = met[encoded.indices.to_numpy(zero_copy_only=False)]
        return found
