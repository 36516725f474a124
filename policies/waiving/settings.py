"""What a pack says of waivers: how long one may hold, and what it may be for."""

from __future__ import annotations

from dataclasses import dataclass

from policies.judging.decision import Severity
from policies.pack import Pack


@dataclass(frozen=True, slots=True)
class Settings:
    """How far off an expiry may be, whether what is UNDETERMINED may be waived, how grave an unused waiver is."""

    longest_days: int = 180
    undetermined: bool = False
    unused: Severity = "warning"


DEFAULTS = Settings()


def settings_of(pack: Pack) -> Settings:
    """Return what a pack says of waivers; the defaults where it says nothing."""
    said = getattr(pack, "waivers", None)
    if said is None:
        return DEFAULTS
    return Settings(said.longest_days, said.undetermined, said.unused)
