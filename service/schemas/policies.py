"""Policy packs with their versions, and waivers."""

from __future__ import annotations

from datetime import date, datetime
from typing import Annotated, Literal

from pydantic import Field

from treewarden.service.schemas.base import Body, Id, Name, PageRequest, Prose, shown_as

WaiverState = Literal["requested", "approved", "refused", "revoked"]


class NewPack(Body):
    """A version of a pack of the organisation; the name is the pack's own, and a first version makes the pack."""

    model_config = shown_as(
        {
            "toml": 'name = "clinic"\nversion = "1.0.0"\ntitle = "Clinic: as health"\nextends = "health"\n',
            "note": "first version",
        }
    )

    toml: str = Field(min_length=1, max_length=200_000)
    note: Prose = ""


class Pack(Body):
    """A version of a pack. ``id`` is null for packs that ship with treewarden; ``plain`` is the policy in sentences."""

    id: Id | None
    name: str
    n: int
    digest: str
    is_shipped: bool
    summary: str
    note: str = ""
    clauses: int
    created_by: str = ""
    created_at: datetime | None = None
    plain: tuple[str, ...] = ()
    toml: str = ""


class PackDifference(Body):
    """What differs between two versions of packs, in words, and whether the second asks for at least as much."""

    from_pack: str
    to_pack: str
    is_at_least_as_strict: bool
    lines: tuple[str, ...]


Sort = Literal["newest", "oldest", "ends", "clause"]
"""In what order waivers are listed; those that end soonest come first by ``ends``."""


class NewWaiver(Body):
    """A wish that a finding be accepted until a day; the fields are those of a waivers file."""

    model_config = shown_as(
        {
            "clause": "smallest-leaf",
            "leaf": "0123456789abcdef01234567",
            "reason": "the leaf is known from the yearbook",
            "owner": "ann",
            "ticket": "T-17",
            "expires": "2027-01-31",
        }
    )

    clause: Name
    leaf: Annotated[str, Field(pattern=r"^([0-9a-f]{24}(#([2-9]|[1-9][0-9]{1,8}))?)?$")] = ""
    digest: Annotated[str, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    model: Name | None = None
    worst: float | None = Field(default=None, allow_inf_nan=False)
    reason: Annotated[Prose, Field(pattern=r"^[^\x00]*[^\s\x00][^\x00]*$")]
    owner: Name
    ticket: Name
    expires: date


class WantedWaivers(PageRequest):
    """Which waivers: those of one state where it is named."""

    state: WaiverState | Literal[""] = ""


class Waiver(Body):
    """A waiver. ``is_in_force``: approved, and not expired."""

    id: Id
    clause: str
    leaf: str
    digest: str
    model: str | None
    worst: float | None
    reason: str
    owner: str
    ticket: str
    expires: date
    granted: date | None
    state: WaiverState
    is_in_force: bool
    requested_by_id: Id
    requested_by: str
    requested_at: datetime
    decided_by: str = ""
    decided_at: datetime | None = None
    comment: str = ""


class Deciding(Body):
    """A decision about a waiver."""

    model_config = shown_as({"comment": "seen with the data protection officer"})

    comment: Prose = ""


class WaiversFile(Body):
    """A waivers file, as ``treewarden audit --waivers`` reads it."""

    model_config = shown_as(
        {
            "toml": '[[waiver]]\nclause = "smallest-leaf"\nleaf = "0123456789abcdef01234567"\n'
            'reason = "known"\nowner = "ann"\nticket = "T-17"\nexpires = 2027-01-31\n'
        }
    )

    toml: str = Field(max_length=500_000)


class Imported(Body):
    """What came of a waivers file: the new wishes, and how many were there already."""

    requested: tuple[Waiver, ...]
    known: int
