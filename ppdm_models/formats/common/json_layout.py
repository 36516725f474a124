"""Whether a model file's bytes hold more than its values: blanks, digits and escapes that no program would write.

The same values can be written in many ways, and a way that is chosen freely is room for a message: any number of
blanks, digits beyond those of a double, letters as escapes. Programs choose once for a whole file.

Some files are compared with the one that would be written from their model alone. Where a format is small, this
accounts for all of a file without a list of what may be hidden where: equal bytes hold the model and nothing else.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import replace

from treewarden.ppdm_models.errors import OutputError, TreeFormatError
from treewarden.ppdm_models.formats import Opened, Strippable
from treewarden.ppdm_models.formats.common.origin import DOUBLE_DIGITS, is_rounded_double
from treewarden.ppdm_models.tree.ensemble import Model, NonTreeModel
from treewarden.ppdm_models.tree.side_channels import Leak, LeakKind, unread_rest
from treewarden.ppdm_models.tree.tree import Tree

TEXT = re.compile(rb'"(?:[^"\\]|\\.)*"', re.DOTALL)
NUMBER = re.compile(rb"-?(?:Infinity|[0-9][0-9.eE+-]*)|NaN")
MARK = re.compile(rb'([{}\[\],:"0])([ \t\r\n]*)')
NUMBER_FORM = re.compile(r"-?(?:0|[1-9]\d*)(?:\.(\d+))?(?:([eE][-+]?)(\d+))?")
BLANK = re.compile(rb"[ \t\r\n]")
LINE_END = re.compile(rb"( ?\r?\n)( *|\t*)\Z")
LEVELS = (-1, 0, 1, 2)
"""By how many levels a line may stand beside the one in which its object or list began."""
UNITS = (1, 2, 3, 4, 8)
MOST_ODD = 8
"""So many lines may stand otherwise than all of their kind, as CatBoost's do that it took from another document."""

Context = tuple[bytes, bytes, bytes]
"""What stands before and after blanks, and how the two innermost begin that both stand in."""


def odd_layout(data: bytes) -> str:
    """Return what is odd about the way JSON is written, in words; "" where it is as a program writes it."""
    data = data.removeprefix(b"\xef\xbb\xbf")
    problem = _odd_texts(set(TEXT.findall(data)))
    bare = TEXT.sub(b'"', data)
    problem = problem or _odd_numbers(set(NUMBER.findall(bare)))
    bare = re.sub(rb"true|false|null", b"0", NUMBER.sub(b"0", bare))
    if problem:
        return problem
    return _odd_blanks(bare)


def _odd_texts(texts: set[bytes]) -> str:
    """Return that letters are written as escapes where the rest of the file does not need them."""
    ways = [(is_ascii, slash) for is_ascii in (False, True) for slash in ("/", "\\/")]
    for written in texts:
        if b"\\" not in written and written.isascii():
            continue
        text, token = json.loads(written), written.decode("utf-8", "replace")
        ways = [
            (is_ascii, slash)
            for is_ascii, slash in ways
            if json.dumps(text, ensure_ascii=is_ascii).replace("/", slash).lower() == token.lower()
        ]
        if not ways:
            return "letters that are escaped in different ways"
    return ""


def _odd_numbers(tokens: set[bytes]) -> str:
    """Return that numbers have digits that belong to no value, or are written in too many ways."""
    exponents, is_short, is_long = set(), False, False
    for written in tokens:
        token = written.decode("ascii")
        form = NUMBER_FORM.fullmatch(token)
        if form is None:
            if token in ("NaN", "Infinity", "-Infinity"):
                continue
            return "numbers in a form that no program writes"
        fraction, exponent, power = form[1], form[2], form[3]
        if fraction and fraction.endswith("0") and fraction != "0":
            return "numbers with zeros at their end"
        if exponent:
            exponents.add((exponent.rstrip("-+"), len(exponent) > 1, len(power) > 1))
        digits = _digits(token)
        if len(digits) > 15 and (fraction or exponent):
            shortest, full = _digits(repr(float(token))), _digits(f"{float(token):.16e}")
            if digits not in (shortest, full):
                if len(digits) > DOUBLE_DIGITS or not is_rounded_double(token):
                    return "numbers with digits that their value does not need"
                continue  # halves are rounded up by some programs
            is_short |= digits != full
            is_long |= digits != shortest
    if is_short and is_long:
        return "numbers that are written to different lengths"
    signs = {letter for letter, _, _ in exponents}
    return "exponents that are written in different ways" if len(signs) > 1 else ""


def _digits(token: str) -> str:
    return re.split("[eE]", token.lstrip("-"))[0].replace(".", "").strip("0")


def _odd_blanks(bare: bytes) -> str:
    """Return that blanks follow no rule; texts and numbers are one byte each here."""
    if not BLANK.search(bare.rstrip(b"\n")):
        return _odd_end(bare)
    body = bare.strip(b" \t\r\n")
    if not bare.startswith(body):
        return "blanks before its beginning"
    ways: dict[Context, bytes] = {}
    offsets: dict[tuple[bytes, ...], Counter[int]] = {}
    indents: dict[bytes, int] = {}
    line = 0
    outer = [(b"", b"", 0)]  # how each container opens, behind what, and where its line stands
    opened = b""  # what opened just before, in the same line
    marks = MARK.finditer(body)
    previous = next(marks)
    for mark in marks:
        before, blanks, after = previous[1], previous[2], mark[1]
        if before in b"{[":
            outer.append((before, opened, line))
            opened = before if not blanks else b""
        else:
            opened = b""
        kind, behind, base = outer[-1]
        context = (before, after, kind + outer[max(0, len(outer) - 2)][0])
        end = LINE_END.match(blanks)
        if end is not None:
            line = indents.setdefault(end[2], len(end[2]))
            offsets.setdefault((*context, behind), Counter())[line - base] += 1
            blanks = end[1]
        elif blanks not in (b"", b" "):
            return "more than one blank"
        if ways.setdefault(context, blanks) != blanks:
            return "blanks that follow no rule"
        if after in b"}]" and len(outer) > 1:
            outer.pop()
        previous = mark
    if len({blank[:1] for blank in indents if blank}) > 1:
        return "lines set in by blanks of several kinds"
    if len({way.strip(b" ") for way in ways.values() if way.endswith(b"\n")}) > 1:
        return "lines that end in different ways"
    if not _are_even(offsets.values()):
        return "lines that are set in by no rule"
    return _odd_end(bare)


def _are_even(offsets: Iterable[Counter[int]]) -> bool:
    """Return whether lines of a kind are set in alike, by few levels; a document inside one may stand further right."""
    counters = list(offsets)
    odd = sum(counter.total() - max(counter.values()) for counter in counters)
    far = {offset for counter in counters for offset in counter}
    return odd <= MOST_ODD and any(far <= {unit * level for level in LEVELS} for unit in UNITS)


def _odd_end(bare: bytes) -> str:
    end = bare[len(bare.rstrip(b" \t\r\n")) :]
    return "" if end in (b"", b"\n", b"\r\n") else "blanks after its end"


EVERYWHERE = "anywhere in it"


class UnwritableError(Exception):
    """A file cannot be written from its model alone, as it has a part that no model holds; the text names it.

    Never a user's error: the file is read, and the rest of it is said to be unknown.
    """


class PlainFile(Strippable):
    """A file of which everything is in the model, or goes when the file is written from its model alone."""

    def __init__(
        self, data: bytes, plain: bytes, model: Model, leaks: Iterable[Leak], difference: str
    ) -> None:
        """Name what is known to be beside the model (``leaks``), and in words the ``difference`` of both files."""
        found: tuple[Leak, ...] = ()
        if data != plain:
            named = (replace(leak, removable=True) for leak in leaks)
            found = (*named, Leak(LeakKind.UNKNOWN, EVERYWHERE, difference, removable=True))
        super().__init__(model, found)
        self._data, self._plain = data, plain

    def without(self, kinds: frozenset[LeakKind]) -> bytes:
        """Return the plain file if any of its leaks is to go: it has none, and they cannot be told apart in bytes."""
        return self._plain if kinds & {leak.kind for leak in self.leaks} else self._data


MORE_THAN_TREES = "other content that the same trees do not need"
CHANGED = "something that changes the trees"


def opened_plainly(
    data: bytes,
    model: Model,
    leaks: Iterable[Leak],
    *,
    form: str,
    write: Callable[[], bytes],
    read: Callable[[bytes], Model],
    is_same: Callable[[Model, Model], bool] | None = None,
    difference: str = MORE_THAN_TREES,
) -> Opened:
    """Return a file compared with the one that ``write`` makes of its model, which ``read`` must read as the same.

    Where it cannot be written, or is read as something else, the file may hold what nobody knows, and that is said.
    """
    found = tuple(leaks)
    try:
        plain = write()
        if not (is_same or same_predictions)(read(plain), model):
            raise UnwritableError(CHANGED)
    except (UnwritableError, TreeFormatError, OutputError) as problem:
        return Opened(model, (*found, unplain_rest(problem, form)))
    return PlainFile(data, plain, model, found, difference)


def unplain_rest(problem: UnwritableError | TreeFormatError | OutputError, form: str) -> Leak:
    """Return that a file may hold more than its reader looks at, and what in it is the reason.

    A number that the model takes, and that no plain file has in its place, is refused there as any reader does it.
    """
    rest = unread_rest(form)
    what = f"{problem}: treewarden cannot determine what else such a file contains, and "
    return replace(rest, what=what + rest.what)


def plain_json(document: object) -> bytes:
    """Return a document in the one way in which plain files are written."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return text.encode("utf-8", "surrogatepass") + b"\n"


def same_predictions(first: Model, second: Model) -> bool:
    """Return whether two models send all records to the same leaves, with the same values and counts there."""
    return _bare(first) == _bare(second)


def _bare(model: Model | NonTreeModel) -> object:
    """Return what a model says of records, without names of nodes, unused columns, and notes about its file."""
    if isinstance(model, Tree):
        nodes = tuple(replace(node, name="") for node in model.nodes)
        return (nodes, model.classes, model.task, model.missing, model.no_true_child)
    if isinstance(model, NonTreeModel):
        return model
    members = tuple((_bare(member.model), member.weight, member.output) for member in model.members)
    above = (model.combination, model.base, model.link, model.classes, model.task)
    return (members, above)
