"""Exact reasoning over whole records: what a published tree proves about its people, not only what it suggests."""

from __future__ import annotations

from audit.worlds.doubts import reason_in_doubt
from audit.worlds.engine import reason
from audit.worlds.proofs.fixed import FixedCells, fixed_cells
from audit.worlds.result import Consistency, Worlds
from audit.worlds.retrain import graded
from audit.worlds.state import Tiers

__all__ = [
    "Consistency",
    "FixedCells",
    "Tiers",
    "Worlds",
    "fixed_cells",
    "graded",
    "reason",
    "reason_in_doubt",
]
