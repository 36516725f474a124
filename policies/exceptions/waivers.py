"""The file of waivers: what breaks a clause in one leaf, or in one model file, and is accepted until a day."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    ValidationError,
    field_validator,
)

from treewarden.ppdm_models.errors import WaiverError, toml_reason

Text = Annotated[str, Field(strict=True, min_length=1, pattern=r"\S")]
WANTED = {
    "clause": "the id of a check of the policy",
    "leaf": "a fingerprint as a report shows it: 24 characters (0-9, a-f), perhaps followed by #2",
    "digest": '"sha256:" and the 64 characters of the SHA-256 of the model file',
    "model": "the name of the model in a gate, or of its file",
    "reason": "why this is accepted, as a text",
    "owner": "the responsible person, as a text",
    "ticket": "where it was decided, as a text",
    "expires": "the last day on which it is valid, as 2026-01-31 without quotes",
    "undecided": "true, to accept that the check is not decided and nothing else",
    "worst": "a number: the value that is accepted, so that a worse one counts again",
    "granted": "the day on which it was granted, as 2026-01-31 without quotes",
}
MISSING = {"ticket": 'is missing; add where it was decided, for example ticket = "RISK-12"'}
"""What to do where a key is missing and an example tells most; of the others ``WANTED`` says it."""


class Waiver(BaseModel):
    """One waiver. It holds to the end of the day ``expires``; ``number`` counts the waivers of the file, from 1.

    It is for one leaf, by its fingerprint, or for the whole of one model file, by its digest; for any model, or for one
    by name. With ``worst``, what reads worse counts again. One that is ``undecided`` accepts that nobody knows whether
    the clause holds, and nothing that is known to break it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    clause: Text
    reason: Text
    owner: Text
    ticket: Text
    expires: date
    granted: date | None = None
    leaf: Annotated[StrictStr, Field(pattern=r"^([0-9a-f]{24}(#([2-9]|[1-9][0-9]+))?)?$")] = ""
    digest: Annotated[StrictStr, Field(pattern=r"^(sha256:[0-9a-f]{64})?$")] = ""
    model: Text | None = None
    undecided: StrictBool = False
    worst: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = None
    number: int = Field(default=0, exclude=True)

    @field_validator("expires", "granted", mode="before")
    @classmethod
    def _a_day(cls, value: object) -> object:
        if isinstance(value, datetime) or not isinstance(value, date):
            raise ValueError("not a day")
        return value

    @property
    def where(self) -> str:
        """What it is for, in words."""
        return f"leaf {self.leaf}" if self.leaf else f"the model file {self.digest[:19]}..."

    def is_for(self, model: str) -> bool:
        """Return whether it may be meant for the model of this name."""
        return self.model is None or self.model == model


@dataclass(frozen=True, slots=True)
class WaiverFile:
    """The waivers of a file, in its order; ``source`` is what the file is called in messages."""

    source: str
    each: tuple[Waiver, ...] = ()


def read_waivers(data: bytes, where: str) -> WaiverFile:
    """Read a file of waivers.

    Raises:
        WaiverError: the bytes are not TOML, a key is missing, unknown or not what it must be, or two waivers are for
            the same.
    """
    try:
        said = tomllib.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise WaiverError(
            where,
            f"not valid TOML ({toml_reason(error)}); correct the file (example: docs/waivers.md)",
        ) from error
    for key in said:
        if key != "waiver":
            raise WaiverError(where, f"unknown key {key!r}; each waiver begins with [[waiver]]")
    listed = said.get("waiver", [])
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise WaiverError(
            where, "'waiver' is not a list of tables; begin each waiver with [[waiver]]"
        )
    waivers = tuple(_waiver(each, number, where) for number, each in enumerate(listed, start=1))
    _check_twice(waivers, where)
    return WaiverFile(where, waivers)


def check_lengths(waivers: WaiverFile, longest_days: int, today: date) -> None:
    """Check that no waiver holds longer than a pack lets it, from the day it was granted, else from today.

    Raises:
        WaiverError: one does.
    """
    for waiver in waivers.each:
        start = today if waiver.granted is None else waiver.granted
        if (waiver.expires - start).days > longest_days:
            last = start + timedelta(days=min(longest_days, (date.max - start).days))
            since = "today" if waiver.granted is None else f"it was granted on {start}"
            raise WaiverError(
                f"{waivers.source}: waiver {waiver.number}: expires",
                f"{waiver.expires} is more than {longest_days} days after {since}; "
                f"the policy allows {last} at the latest",
            )


def _waiver(entry: Mapping[str, Any], number: int, where: str) -> Waiver:
    place = f"{where}: waiver {number}"
    if "number" in entry:
        raise WaiverError(place, f"unknown key 'number'; use {', '.join(WANTED)}")
    if "check" in entry:  # as policies call a clause too
        if "clause" in entry:
            raise WaiverError(place, "uses both check and clause; keep one of them")
        entry = {("clause" if key == "check" else key): value for key, value in entry.items()}
    try:
        waiver = Waiver.model_validate({**entry, "number": number})
    except ValidationError as error:
        raise _refusal(error, place) from error
    for key in ("leaf", "digest"):
        if key in entry and not entry[key]:
            raise WaiverError(f"{place}: {key}", f"is empty; give {WANTED[key]}")
    if not waiver.leaf and not waiver.digest:
        raise WaiverError(place, "add leaf (for one leaf) or digest (for the whole file)")
    return waiver


def _refusal(error: ValidationError, place: str) -> WaiverError:
    """Return the first problem: an unknown key before all others, as it may be a missing one that is misspelt."""
    errors = sorted(error.errors(), key=lambda detail: detail["type"] != "extra_forbidden")
    first, key = errors[0], str(errors[0]["loc"][0])
    if first["type"] == "extra_forbidden":
        return WaiverError(place, f"unknown key {key!r}; use {', '.join(WANTED)}")
    if first["type"] == "missing":
        if key in MISSING:
            return WaiverError(f"{place}: {key}", MISSING[key])
        return WaiverError(place, f"{key!r} is missing; add {WANTED[key]}")
    return WaiverError(f"{place}: {key}", f"is {first['input']!r:.60}; give {WANTED[key]}")


def _check_twice(waivers: Sequence[Waiver], where: str) -> None:
    """Check that no two waivers are for one finding, so that each has one owner and one last day."""
    known: dict[tuple[str, str], dict[str | None, Waiver]] = {}
    for waiver in waivers:
        for target in filter(None, (waiver.leaf, waiver.digest)):
            same = known.setdefault((waiver.clause, target), {})
            rival = same.get(waiver.model) or same.get(None)
            if waiver.model is None and same:
                rival = next(iter(same.values()))
            if rival is not None:
                raise WaiverError(
                    f"{where}: waiver {waiver.number}: clause",
                    f"{waiver.clause!r} is waived in {waiver.where} by waiver {rival.number} already; keep one of them",
                )
            same[waiver.model] = waiver
