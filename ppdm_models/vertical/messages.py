"""What goes between the miner and the parties, and the log of it: who sent what to whom and how much, never what."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

MINER = -1
BOX = -2
"""The ideal box of simulations, which compares keys and is nobody."""


class Kind(StrEnum):
    """What a message is for."""

    GROUP_KEY = "group key"
    HIDDEN_IDS = "hidden ids"
    COMMON_IDS = "places of common ids"
    LABELS = "labels"
    WIDTH = "width"
    SEED = "seed"
    MASKED_TABLE = "masked table"
    SHARE = "share"
    CORRECTION = "correction"
    SUMS = "sums"
    SUM = "sum"
    TOKEN = "token"
    LEAF = "leaf"
    SPLIT = "split"
    SCORE = "score"
    MASKED_SHARE = "masked share"
    COUNTS = "counts"
    COMPARING = "comparing (shares)"
    KEY = "key, in clear (ideal box: no protection)"
    WINNER = "winner (ideal box)"
    WON = "won"
    BRANCHES = "branches"
    MEMBERS = "members"
    RELAY = "relay"
    RELAYED = "relayed"
    MASKED_BRANCHES = "masked branches"
    ASK = "ask"
    BRANCH = "branch"
    END = "end"
    BYE = "bye"
    ABORT = "abort"


@dataclass(frozen=True, slots=True)
class Message:
    """One message; ``node`` is the number of the node it is about, 0 for the root and for none."""

    sender: int
    receiver: int
    kind: Kind
    node: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Entry:
    """What the log keeps of a message."""

    sender: int
    receiver: int
    kind: Kind
    node: int
    size: int
    sha256: str


class Log:
    """Every message in the order in which it was sent."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []

    def add(self, message: Message) -> None:
        """Keep who, what, how much and a digest."""
        digest = hashlib.sha256(message.body).hexdigest()
        self.entries.append(
            Entry(
                message.sender,
                message.receiver,
                message.kind,
                message.node,
                len(message.body),
                digest,
            )
        )

    def lines(self, names: tuple[str, ...]) -> Iterator[str]:
        """Yield the entries as lines of JSON; ``names`` are those of the parties."""
        for number, each in enumerate(self.entries):
            said = {
                "number": number,
                "sender": role(each.sender, names),
                "receiver": role(each.receiver, names),
                "kind": str(each.kind),
                "node": each.node,
                "bytes": each.size,
                "sha256": each.sha256,
            }
            yield json.dumps(said, ensure_ascii=False)


def role(number: int, names: tuple[str, ...]) -> str:
    """Return what a side is called."""
    return {MINER: "miner", BOX: "ideal box"}.get(number) or names[number]
