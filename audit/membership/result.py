"""What is known of membership: of each group of candidates how many are in the table, proved, shown and estimated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from treewarden.audit.membership import NO_REGISTER as NO_REGISTER
from treewarden.audit.membership.candidates import Candidates
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.arrays import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True, eq=False)
class MembershipInference:
    """What a file proves of who of a register is in the table. Arrays are by group of candidates, (G,).

    In every table that fits the file between ``low`` and ``high`` people of a group are members. Tables that were
    checked row by row have as few as ``shown_low`` and as many as ``shown_high``; the owner's own is among them.
    ``probability`` is the adversary's estimate for one person of the group, or why there is none. ``left`` says what
    was not decided, and why; empty where all was. ``said`` is what the reader should know of the register.
    """

    candidates: Candidates
    low: IntArray
    high: IntArray
    shown_low: IntArray
    shown_high: IntArray
    probability: FloatArray | Undetermined
    left: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    @property
    def proved_in(self) -> IntArray:
        """How many people of each group are certainly members: all of it, or nobody can be named."""
        is_all = self.low == self.candidates.sizes
        return np.where(is_all, self.candidates.sizes, 0)

    @property
    def proved_out(self) -> IntArray:
        """How many people of each group are certainly no members."""
        return np.where(self.high == 0, self.candidates.sizes, 0)

    @property
    def may_be_in(self) -> IntArray:
        """How many people of each group are not shown to be open, and may be certain members therefore."""
        is_shown = self.shown_low < self.candidates.sizes
        is_possible = self.high == self.candidates.sizes
        return np.where(is_possible & ~is_shown, self.candidates.sizes, 0)

    @property
    def open_groups(self) -> BoolArray:
        """Whether two checked tables show of each group that its people may be in, and may be out."""
        sizes = self.candidates.sizes
        return (self.shown_low < sizes) & (self.shown_high > 0)
