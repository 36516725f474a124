"""What is believed in the table that lacks one person: a record that measures read without any solver."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class Without:
    """What is believed of each class among the rest of a profile, in the table without one record of just these.

    ``low`` and ``high`` have shape (P, m); they are 0 and 1 where the estimate was not made again.
    """

    low: FloatArray
    high: FloatArray
