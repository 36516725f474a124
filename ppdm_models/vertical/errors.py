"""What goes wrong between sides, without a word of what anybody's data say."""

from __future__ import annotations

from enum import IntEnum


class Reason(IntEnum):
    """Why a session ends, as sides tell each other; more they do not."""

    BREAKS = 1
    LATE = 2
    GONE = 3
    GARBAGE = 4
    TOO_MUCH = 5
    REPLAYED = 6
    TWICE = 7
    DIFFERS = 8
    STOPPED = 9
    TROUBLE = 10

    @property
    def words(self) -> str:
        """What it means, said of a side."""
        return _WORDS[self]


_WORDS = {
    Reason.BREAKS: "broke the protocol",
    Reason.LATE: "did not answer in time",
    Reason.GONE: "ended its connection",
    Reason.GARBAGE: "sent what is no message",
    Reason.TOO_MUCH: "sent a message longer than any can be",
    Reason.REPLAYED: "sent a message again, or left one out",
    Reason.TWICE: "came twice: two sides have its name",
    Reason.DIFFERS: "has another session file; give all sides the same one",
    Reason.STOPPED: "was stopped there",
    Reason.TROUBLE: "could not go on; the reason is said there",
}


class ProtocolError(Exception):
    """A side said what it may not say now, or what makes no sense; ``who`` is its number."""

    def __init__(self, who: int, problem: str, reason: Reason = Reason.BREAKS) -> None:
        super().__init__(who, problem)
        self.who = who
        self.problem = problem
        self.reason = reason
