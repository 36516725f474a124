"""Why a session ends before its time: what each side is told, in words that say nothing of anybody's data."""

from __future__ import annotations

from enum import IntEnum


class Fault(IntEnum):
    """What a side did, or what became of it; the numbers are those on the wire."""

    ABSENT = 1
    LATE = 2
    GONE = 3
    GARBAGE = 4
    TOO_MUCH = 5
    REPLAYED = 6
    BREAKS = 7
    STOPPED = 8
    OWN = 9
    DIFFERS = 10
    VERSION = 11
    TWICE = 12
    STRANGER = 13


_WORDS = {
    Fault.GONE: "the connection ended",
    Fault.GARBAGE: "sent what is no message of this protocol",
    Fault.TOO_MUCH: "sent more than the session can need",
    Fault.REPLAYED: "sent a message twice, or one is lost",
    Fault.BREAKS: "broke the protocol",
    Fault.STOPPED: "was stopped",
    Fault.OWN: "had trouble of its own",
    Fault.DIFFERS: "session files differ",
    Fault.VERSION: "speaks another version of this protocol",
    Fault.TWICE: "another side takes part under this name already",
    Fault.STRANGER: "does not show the certificate of its role",
}


def words(fault: Fault, seconds: int = 0) -> str:
    """Return a fault in words, to stand behind the name of the side; ``seconds`` is how long it was waited for."""
    match fault:
        case Fault.ABSENT:
            return f"did not come within {lasting(seconds)}"
        case Fault.LATE:
            return f"did not answer for {lasting(seconds)}"
        case _:
            return _WORDS[fault]


def lasting(seconds: int) -> str:
    """Return a time in words."""
    return "1 second" if seconds == 1 else f"{seconds:,} seconds"
