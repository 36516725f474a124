"""The session file: what all sides have alike, in TOML. Nothing in it is secret.

    name = "tennis"
    mode = "shared"
    records = 14
    target = "play"
    classes = ["no", "yes"]
    labelled = "alice"

    [miner]
    host = "miner.example"
    port = 7000

    [[party]]
    name = "alice"
    host = "alice.example"
    port = 7001
    attributes = 2

    [[party]]
    ...

It may say when growth stops (``min_records``, ``depth``), how long a side waits for another (``seconds``), and how many
records are classified afterwards (``asked``). The order of ``classes`` decides between classes that are equally
frequent, ``ranks`` between attributes that are equally good: one number per attribute of a party, from 0 on over all
parties; without them, in the order of parties.
"""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.vertical.messages import MINER
from treewarden.ppdm_models.vertical.session import Mode, Session, Stops

MOST_BYTES = 2**20
MOST_PARTIES = 64
MOST_ATTRIBUTES = 10_000
MINER_NAME = "miner"
Name = Annotated[str, Field(strict=True, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""A role's name, which is a name in its certificate too: a label as in the DNS."""
Text = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]
Port = Annotated[StrictInt, Field(ge=1, le=65_535)]


@dataclass(frozen=True, slots=True)
class Address:
    """Where a side listens."""

    host: str
    port: int


@dataclass(frozen=True, slots=True)
class Meeting:
    """A session and how its sides meet.

    ``addresses`` are those of the sides by their numbers, ``seconds`` is how long a side waits for another, ``asked``
    how many records are classified once the tree is grown, and ``digest`` is the same for two sides only if all that
    their files say is the same.
    """

    name: str
    session: Session
    target: str
    addresses: dict[int, Address]
    seconds: int
    asked: int
    digest: bytes


class _Miner(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    host: Text
    port: Port


class _Party(_Miner):
    name: Name
    attributes: Annotated[StrictInt, Field(ge=0, le=MOST_ATTRIBUTES)]
    ranks: tuple[StrictInt, ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.name == MINER_NAME:
            raise ValueError("a party is called miner; choose another name")
        if self.ranks is not None and len(self.ranks) != self.attributes:
            raise ValueError("ranks has to hold one number per attribute")
        return self


class _File(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    mode: Mode = Mode.SHARED
    records: Annotated[StrictInt, Field(ge=1, le=2**31)]
    target: Text
    classes: Annotated[tuple[Text, ...], Field(min_length=2, max_length=1_000)]
    labelled: Name
    min_records: Annotated[StrictInt, Field(ge=2)] = 2
    depth: Annotated[StrictInt, Field(ge=0)] | None = None
    seconds: Annotated[StrictInt, Field(ge=1, le=86_400)] = 60
    asked: Annotated[StrictInt, Field(ge=0, le=2**31)] = 0
    miner: _Miner
    party: Annotated[tuple[_Party, ...], Field(min_length=2, max_length=MOST_PARTIES)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [each.name for each in self.party]
        if len(set(names)) < len(names):
            raise ValueError("two parties have the same name")
        if self.labelled not in names:
            raise ValueError("labelled has to be the name of a party")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("a class is there twice")
        if len({each.ranks is None for each in self.party}) > 1:
            raise ValueError("give ranks for all parties or for none")
        return self


def read_session(path: Path) -> Meeting:
    """Read a session file.

    Raises:
        PartyError: it is not there, too long, not TOML, or does not say what a session needs.
    """
    body = file_bytes(path)
    try:
        return _meeting(_File.model_validate(tomllib.loads(body.decode("utf-8-sig"))))
    except (ValueError, RecursionError) as error:
        raise PartyError(path.name, problem_of(error)) from error


def file_bytes(path: Path) -> bytes:
    """Return what is in a file that says who takes part.

    Raises:
        PartyError: it is not there, or too long.
    """
    try:
        with path.open("rb") as file:
            body = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PartyError(
            path.name, f"cannot be read ({error.strerror}); give a TOML file"
        ) from error
    if len(body) > MOST_BYTES:
        raise PartyError(path.name, f"is longer than {MOST_BYTES:,} bytes; shorten it")
    return body


def problem_of(error: ValueError | RecursionError) -> str:
    """Return in words why such a file is not understood."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the file"
        return f"{where}: {first['msg'].removeprefix('Value error, ')}; correct it"
    return f"is no TOML file that is understood ({error}); correct it"


def _meeting(said: _File) -> Meeting:
    rank = itertools.count()
    ranks = tuple(
        each.ranks if each.ranks is not None else tuple(itertools.islice(rank, each.attributes))
        for each in said.party
    )
    names = tuple(each.name for each in said.party)
    session = Session(
        names,
        ranks,
        said.records,
        said.classes,
        names.index(said.labelled),
        Stops(said.min_records, said.depth),
        said.mode,
    )
    sides = {MINER: said.miner, **dict(enumerate(said.party))}
    addresses = {number: Address(each.host, each.port) for number, each in sides.items()}
    digest = hashlib.sha256(said.model_dump_json().encode()).digest()
    return Meeting(said.name, session, said.target, addresses, said.seconds, said.asked, digest)
