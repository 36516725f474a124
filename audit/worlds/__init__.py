"""Exact reasoning over whole records: what a published tree proves about its people, not only what it suggests."""

from __future__ import annotations

from audit.worlds.engine import Tiers, reason
from audit.worlds.result import Consistency, Worlds

__all__ = ["Consistency", "Tiers", "Worlds", "reason"]
