"""The errors a user can meet: one base class, one subclass per boundary of the program.

For a name that does not exist, messages suggest the closest one that does.
"""

from __future__ import annotations

import errno
from collections.abc import Iterable
from difflib import get_close_matches
from itertools import islice


class TreewardenError(Exception):
    """Something a user can mend; the message reads ``where: what; what to do``.

    ``notes`` are what else may explain it, one sentence each.
    """

    def __init__(self, where: str, problem: str, notes: tuple[str, ...] = ()) -> None:
        super().__init__(where, problem)
        self.where = where
        self.problem = problem
        self.notes = notes

    @property
    def line(self) -> str:
        """The message without its notes."""
        return f"{self.where}: {self.problem}"

    def __str__(self) -> str:
        return f"{self.line} (note {'; '.join(self.notes)})" if self.notes else self.line


REASONS = {
    errno.ENOENT: "there is no such file",
    errno.ENOTDIR: "there is no such file",
    errno.EISDIR: "it is a folder, not a file",
    errno.EACCES: "this user has no permission for it",
    errno.EPERM: "this user has no permission for it",
    errno.EROFS: "its disk is read-only",
    errno.ENOSPC: "the disk is full",
    errno.EDQUOT: "this user's quota on the disk is used up",
    errno.ENAMETOOLONG: "its name is too long",
    errno.ELOOP: "its links lead in a circle",
    errno.EEXIST: "there is a file of this name already",
    errno.EMFILE: "too many files are open",
    errno.EADDRINUSE: "another process uses this address",
    errno.EADDRNOTAVAIL: "this machine does not have this address",
}
"""What the operating system refuses, by its number, in the words of all other messages."""
ADVICE = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path",
    errno.EISDIR: "name a file",
    errno.EACCES: "change its permissions, or name another path",
    errno.EPERM: "change its permissions, or name another path",
    errno.EROFS: "name another path",
    errno.ENOSPC: "free some space, or name a path on another disk",
    errno.EDQUOT: "free some space, or name a path on another disk",
}


def os_reason(error: OSError | ValueError) -> str:
    """Return why the operating system refuses a file; a ``ValueError`` is for a name that no file can have."""
    if not isinstance(error, OSError):
        return "no file can have this name"
    if error.errno in REASONS:
        return REASONS[error.errno]
    return (
        error.strerror[:1].lower() + error.strerror[1:] if error.strerror else "it cannot be read"
    )


def os_problem(error: OSError) -> str:
    """Return the same with what to do, for errors that nobody closer to the file explains."""
    return f"{os_reason(error)}; {ADVICE.get(error.errno or 0, 'check the path and its disk')}"


class TreeFormatError(TreewardenError):
    """The bytes are not a tree that can be read."""


class TableError(TreewardenError):
    """The table cannot be read, or does not fit the tree."""


class TooManyProfilesError(TreewardenError):
    """The table has more distinct rows than memory holds, so that nothing can be told of it."""


class ColumnNotCountedError(TreewardenError):
    """The values of a column are asked for that was left out when its table was counted: ``problem`` is its name."""


class ManifestError(TreewardenError):
    """The manifest of a randomised table is not understood, or is of another file."""


class DomainError(TreewardenError):
    """The domains of the columns to randomise are not understood, or do not hold what is in the table."""


class LearnerError(TreewardenError):
    """A learner cannot grow the tree that is asked for, or not the same one every time."""


class DictionaryError(TreewardenError):
    """The data dictionary is not understood, or says two things of one column."""


class TaxonomyError(TreewardenError):
    """The value hierarchy is not understood, or lacks what it is used for."""


class KnowledgeError(TreewardenError):
    """What the adversary is said to know is not understood or contradicts the tree."""


class OutputsError(TreewardenError):
    """An output published beside the model is not understood, or the table contradicts it."""


class SolverError(TreewardenError):
    """No solver could be started."""


class PolicyError(TreewardenError):
    """The policy pack is not understood."""


class WaiverError(TreewardenError):
    """The file of waivers is not understood, or asks for more than the policy pack lets be waived."""


class BaselineError(TreewardenError):
    """The baseline is not understood, or is of other models."""


class RemedyError(TreewardenError):
    """A remedy cannot be applied to this tree."""


class SynthesisError(TreewardenError):
    """Pseudo records cannot be drawn from this tree."""


class OutputError(TreewardenError):
    """A result cannot be written."""


class ClusterError(TreewardenError):
    """The cluster that work was to be done on is not there, or cannot be used."""


class PartyError(TreewardenError):
    """A side of a session between parties, its session file or its certificates are not what they have to be."""


MOST_NEAR_OF, MOST_COMPARED = 1000, 100


def near_text(name: str, names: Iterable[str]) -> str:
    """Return which names may have been meant, to follow a name in a message; "" where none is near."""
    known = {other[:MOST_COMPARED].casefold(): other for other in islice(names, MOST_NEAR_OF)}
    near = get_close_matches(name[:MOST_COMPARED].casefold(), known, n=3)
    return f" (did you mean {' or '.join(repr(known[each]) for each in near)}?)" if near else ""
