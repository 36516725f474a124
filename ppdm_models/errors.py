"""The errors a user can meet: one base class, one subclass per boundary of the program.

For a name that does not exist, messages suggest the closest one that does.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from itertools import islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # who meets no error in a file needs no pydantic
    from pydantic_core import ErrorDetails


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


NOT_THERE = frozenset({errno.ENOENT, errno.ENOTDIR})
NOT_ALLOWED = frozenset({errno.EACCES, errno.EPERM})


def reading_problem(
    error: OSError | ValueError, give: str = "check the path", if_missing: str = "check the path"
) -> str:
    """Return why a file cannot be read, and what to do: about its path or its permissions, else what to ``give``.

    The same words for models, tables and all other files; a file of the wrong kind is another matter.
    """
    number = error.errno if isinstance(error, OSError) else None
    if number in NOT_THERE:
        return f"{os_reason(error)}; {if_missing}"
    if number in NOT_ALLOWED:
        return "this user may not read this file; ask its owner for permission to read it"
    return f"{os_reason(error)}; {give}"


def os_problem(error: OSError | ValueError) -> str:
    """Return the same with what to do, for errors that nobody closer to the file explains."""
    return f"{os_reason(error)}; {ADVICE.get(getattr(error, 'errno', 0) or 0, 'check the path')}"


TOML_REASONS = {
    "Illegal character '\\n'": "a quotation mark is missing",
    "Invalid value": "a value is missing, or a text needs quotation marks",
    "Unterminated string": "a quotation mark is missing",
}
"""What the parser of TOML says, in words for people who write such files."""
TOML_PLACE = re.compile(r"(.*) \(at (line \d+), column \d+\)", re.DOTALL)


def toml_reason(error: Exception) -> str:
    """Return why a text is no TOML, with the line: ``line 1: a quotation mark is missing``."""
    if isinstance(error, RecursionError):
        return "its lists or tables are nested too deeply"
    if isinstance(error, UnicodeDecodeError):
        number = error.object.count(b"\n", 0, error.start) + 1
        return f"line {number}: not UTF-8, as TOML must be"
    found = TOML_PLACE.fullmatch(str(error))
    if not found:
        return str(error)
    reason, line = found[1], found[2]
    return f"{line}: {TOML_REASONS.get(reason, reason[:1].lower() + reason[1:])}"


class TreeFormatError(TreewardenError):
    """The bytes are not a tree that can be read."""


class TableError(TreewardenError):
    """The table cannot be read, or does not fit the tree."""


@contextmanager
def in_role(role: str) -> Iterator[None]:
    """Name in errors about a table what it was given for, where that is not the training table: ``the register``."""
    try:
        yield
    except TableError as error:
        raise type(error)(f"{error.where} ({role})", error.problem, error.notes) from error


class RequirementError(TableError):
    """No table of these records meets what is required of its groups."""


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


class SettingError(KnowledgeError):
    """An adversary is said to know what the model's file contradicts; the message quotes no record and no count."""


class OutputsError(TreewardenError):
    """An output published beside the model is not understood, or the table contradicts it."""


class UnsupportedOutputError(OutputsError):
    """A file is no output that is supported, or cannot be judged here; the message quotes no cell and no table."""


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


TOML_TYPES = {
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a table",
    "model_type": "a table",
    "bool_type": "true or false",
    "float_type": "a number",
    "int_type": "a whole number",
}
"""What TOML calls that which should stand somewhere, by the type of the error that it does not."""


def toml_words(error: ErrorDetails) -> str:
    """Return what is wrong with a value, in words of TOML and not of the types that hold it here."""
    kind, told = error["type"], error.get("ctx", {})
    if kind == "extra_forbidden":
        return "unknown key"
    if kind in TOML_TYPES:
        return f"must be {TOML_TYPES[kind]}"
    if kind == "too_long":
        most, there = told["max_length"], told["actual_length"]
        return f"{_items(there)}, but at most {most} may be given; remove some"
    if kind == "too_short":
        least, there = told["min_length"], told["actual_length"]
        return f"{_items(there)}, but at least {least} must be given; add some"
    if kind == "missing":
        return "is missing"
    said = error["msg"].removeprefix("Input should be ").removeprefix("Value error, ")
    if said != error["msg"] and kind != "value_error":
        return f"must be {said}"
    return said[:1].lower() + said[1:]


def _items(number: int) -> str:
    return "empty" if not number else "1 item" if number == 1 else f"{number} items"


def toml_problem(error: ErrorDetails) -> str:
    """Return the same with the name of the value in front, as it stands in a file or a document."""
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"{place!r} is missing"
    return f"{place}: {toml_words(error)}" if place else toml_words(error)


def with_advice(problem: str, advice: str = "correct it") -> str:
    """Return a problem with what to do about it, where it does not say so itself."""
    return problem if ";" in problem else f"{problem}; {advice}"
