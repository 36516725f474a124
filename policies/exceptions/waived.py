"""A decision with what was waived of it, and which waivers that took."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.policies.judging.decision import Decision


@dataclass(frozen=True, slots=True)
class WaiverUses:
    """By number: the waivers that were needed by a model, and those that are told of with it."""

    needed: frozenset[int] = frozenset()
    told: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True)
class Waived:
    """A decision with what was waived, and which waivers that took."""

    decision: Decision
    uses: WaiverUses = WaiverUses()
