"""What is public when parties grow a tree: who they are, how many attributes each has, when growth stops, ties."""

from __future__ import annotations

import hashlib
import itertools
import tomllib
from dataclasses import dataclass, field
from decimal import Context, Decimal
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field, StrictInt, ValidationError, model_validator

from treewarden.ppdm_models.errors import (
    PartyError,
    os_reason,
    toml_problem,
    toml_reason,
    with_advice,
)
from treewarden.ppdm_models.methods.vertical.messages import MINER

# How good a split is for ID3, in whole numbers: the same on every machine and for every order of records.
#
# The score is records times conditional entropy, n H(class | attribute), in steps of 2^-20 bits; smaller is better.

STEPS_PER_BIT = 2**20
FINE = 2**40
"""Each n log2 n is kept in this many steps for one step of the score, so that sums hardly ever round otherwise."""
_PRECISE = Context(prec=60)
Counts = NDArray[np.int64]


def score(counts: Counts) -> int:
    """Return records times conditional entropy of a split; ``counts`` has shape (branches, classes)."""
    sizes = sum(_n_log_n(int(size)) for size in counts.sum(axis=1))
    cells = sum(_n_log_n(int(cell)) for cell in counts.ravel())
    return (sizes - cells + FINE // 2) // FINE


@lru_cache(maxsize=1 << 16)
def _n_log_n(count: int) -> int:
    """Return n log2 n in steps of 2^-60 bits, rounded; 0 of 0."""
    if count < 2:
        return 0
    bits = _PRECISE.divide(_PRECISE.ln(Decimal(count)), _PRECISE.ln(Decimal(2)))
    return int(_PRECISE.multiply(bits, Decimal(count * STEPS_PER_BIT * FINE)).to_integral_value())


def majority(totals: Counts) -> int:
    """Return the most frequent class, the first of several."""
    return int(np.argmax(totals))


class Mode(StrEnum):
    """Who knows which records are at a node: every party by their numbers (the paper), or nobody."""

    IDS = "ids"
    SHARED = "shared"


@dataclass(frozen=True, slots=True)
class Stops:
    """When a node is not split: fewer records than ``min_records``, ``depth`` tests above it (None: any number)."""

    min_records: int = 2
    depth: int | None = None


@dataclass(frozen=True, slots=True)
class Session:
    """What all sides agree on.

    ``ranks`` holds for each party the rank of each of its attributes: of equally good ones the lowest wins, as in the
    joined table. ``labelled`` is the party that holds the class. The order of ``classes`` decides between classes that
    are equally frequent.
    """

    parties: tuple[str, ...]
    ranks: tuple[tuple[int, ...], ...]
    records: int
    classes: tuple[str, ...]
    labelled: int
    stops: Stops = field(default_factory=Stops)
    mode: Mode = Mode.SHARED

    def __post_init__(self) -> None:
        if len(self.parties) < 2 or len(set(self.parties)) < len(self.parties):
            raise ValueError("a session needs two parties or more, each with a name of its own")
        ranks = [rank for own in self.ranks for rank in own]
        if len(self.ranks) != len(self.parties) or sorted(ranks) != list(range(len(ranks))):
            raise ValueError("each attribute of each party needs a rank of its own, from 0 on")
        if self.records < 1 or len(self.classes) < 2 or not 0 <= self.labelled < len(self.parties):
            raise ValueError("a session needs a record, two classes, and a party that holds them")

    @property
    def attributes(self) -> int:
        """How many attributes all parties have together."""
        return sum(map(len, self.ranks))

    @property
    def deepest(self) -> int:
        """How many tests can be on a path."""
        own = self.attributes
        return own if self.stops.depth is None else min(own, self.stops.depth)

    def key(self, party: int, attribute: int, points: int) -> int:
        """Return what attributes are compared by: the score, then the rank."""
        return points * self.attributes + self.ranks[party][attribute]

    @property
    def nothing(self) -> int:
        """The key of a party that has no attribute left: above every other, by what is public."""
        most = self.records * len(self.classes).bit_length() * STEPS_PER_BIT + 1
        return 1 << (most * max(self.attributes, 1)).bit_length()


# The session file: what all sides have alike, in TOML. Nothing in it is secret.
#
#     name = "tennis"
#     mode = "shared"
#     records = 14
#     target = "play"
#     classes = ["no", "yes"]
#     labelled = "alice"
#
#     [miner]
#     host = "miner.example"
#     port = 7000
#
#     [[party]]
#     name = "alice"
#     host = "alice.example"
#     port = 7001
#     attributes = 2
#
#     [[party]]
#     ...
#
# It may say when growth stops (``min_records``, ``depth``), how long a side waits for another (``seconds``), and how
# many records are classified afterwards (``asked``). The order of ``classes`` decides between classes that are equally
# frequent, ``ranks`` between attributes that are equally good: one number per attribute of a party, from 0 on over all
# parties; without them, in the order of parties.

MOST_BYTES = 2**20
MOST_PARTIES = 64
MOST_ATTRIBUTES = 10_000
MINER_NAME = "miner"
Name = Annotated[str, Field(strict=True, pattern=r"^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$")]
"""A role's name, which is a name in its certificate too: a label as in the DNS."""
Text = Annotated[str, Field(strict=True, min_length=1, max_length=1_000)]
Port = Annotated[StrictInt, Field(ge=1, le=65_535)]


@dataclass(frozen=True, slots=True)
class ListeningAddress:
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
    addresses: dict[int, ListeningAddress]
    seconds: int
    asked: int
    digest: bytes


class _MinerSection(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    host: Text
    port: Port


class _PartySection(_MinerSection):
    name: Name
    attributes: Annotated[StrictInt, Field(ge=0, le=MOST_ATTRIBUTES)]
    ranks: tuple[StrictInt, ...] | None = None

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.name == MINER_NAME:
            raise ValueError("a party is called miner; choose another name")
        if self.ranks is not None and len(self.ranks) != self.attributes:
            raise ValueError("ranks must contain one number per attribute")
        return self


class _SessionFile(BaseModel):
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
    miner: _MinerSection
    party: Annotated[tuple[_PartySection, ...], Field(min_length=2, max_length=MOST_PARTIES)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [party_section.name for party_section in self.party]
        if len(set(names)) < len(names):
            raise ValueError("two parties have the same name")
        if self.labelled not in names:
            raise ValueError("labelled must be the name of a party")
        if len(set(self.classes)) < len(self.classes):
            raise ValueError("a class is there twice")
        if len({party_section.ranks is None for party_section in self.party}) > 1:
            raise ValueError("give ranks for all parties or for none")
        return self


def read_session(path: Path) -> Meeting:
    """Read a session file.

    Raises:
        PartyError: it is not there, too long, not TOML, or does not say what a session needs.
    """
    body = file_bytes(path)
    try:
        return _meeting(_SessionFile.model_validate(tomllib.loads(body.decode("utf-8-sig"))))
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
            path.name, f"cannot be read ({os_reason(error)}); give a TOML file"
        ) from error
    if len(body) > MOST_BYTES:
        raise PartyError(path.name, f"is longer than {MOST_BYTES:,} bytes; shorten it")
    return body


def problem_of(error: ValueError | RecursionError) -> str:
    """Return in words why such a file is not understood."""
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        return with_advice(toml_problem(first), "correct the file")
    return f"not valid TOML ({toml_reason(error)}); correct the file"


def _meeting(file: _SessionFile) -> Meeting:
    rank = itertools.count()
    ranks = tuple(
        party_section.ranks
        if party_section.ranks is not None
        else tuple(itertools.islice(rank, party_section.attributes))
        for party_section in file.party
    )
    names = tuple(party_section.name for party_section in file.party)
    session = Session(
        parties=names,
        ranks=ranks,
        records=file.records,
        classes=file.classes,
        labelled=names.index(file.labelled),
        stops=Stops(file.min_records, file.depth),
        mode=file.mode,
    )
    sides = {MINER: file.miner, **dict(enumerate(file.party))}
    addresses = {
        number: ListeningAddress(miner_section.host, miner_section.port)
        for number, miner_section in sides.items()
    }
    digest = hashlib.sha256(file.model_dump_json().encode()).digest()
    return Meeting(
        name=file.name,
        session=session,
        target=file.target,
        addresses=addresses,
        seconds=file.seconds,
        asked=file.asked,
        digest=digest,
    )


# The file that says which party holds which columns of a joined table, in TOML: for playing all of them.
#
#     depth = 6
#
#     [[party]]
#     name = "alice"
#     columns = ["outlook", "temp"]
#
#     [[party]]
#     name = "bobby"
#     columns = ["humidity", "windy", "play"]
#
# The class is one of the columns of one party.


@dataclass(frozen=True, slots=True)
class Parties:
    """Who holds what: names, and for each its columns; ``depth`` is how many tests may be on a path."""

    names: tuple[str, ...]
    columns: tuple[tuple[str, ...], ...]
    depth: int | None = None

    def holder(self, column: str, where: str) -> int:
        """Return the party that holds a column.

        Raises:
            PartyError: none does.
        """
        for number, columns in enumerate(self.columns):
            if column in columns:
                return number
        problem = f"no party has the class column {column!r}"
        raise PartyError(where, f"{problem}; add it to the columns of one party")


class _PlayedParty(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Name
    columns: Annotated[tuple[Text, ...], Field(max_length=MOST_ATTRIBUTES)]


class _PartiesFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    depth: Annotated[StrictInt, Field(ge=0)] | None = None
    party: Annotated[tuple[_PlayedParty, ...], Field(min_length=2, max_length=MOST_PARTIES)]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        names = [played_party.name for played_party in self.party]
        if len(set(names)) < len(names):
            raise ValueError("two parties have the same name")
        if MINER_NAME in names:
            raise ValueError("a party is called miner; choose another name")
        held: dict[str, str] = {}
        for each in self.party:
            for column in each.columns:
                other = held.setdefault(column, each.name)
                if other != each.name:
                    raise ValueError(
                        f"{column!r} is a column of {other} and of {each.name}; only one "
                        "of them may have it"
                    )
            for column in each.columns:
                if each.columns.count(column) > 1:
                    raise ValueError(f"{each.name} lists the column {column!r} twice; remove one")
        return self


def read_parties(path: Path) -> Parties:
    """Read the file.

    Raises:
        PartyError: it is not there, too long, not TOML, or does not say who holds what.
    """
    body = file_bytes(path)
    try:
        parties_file = _PartiesFile.model_validate(tomllib.loads(body.decode("utf-8-sig")))
    except (ValueError, RecursionError) as error:
        raise PartyError(path.name, problem_of(error)) from error
    names = tuple(played_party.name for played_party in parties_file.party)
    return Parties(
        names,
        tuple(played_party.columns for played_party in parties_file.party),
        parties_file.depth,
    )
