"""The lines of a printed rpart tree: node number, test, records, loss or deviance, value and class shares.

An rpart object is also written as JSON from its tree alone: without splits that were not taken, deviances and the call.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.json_layout import UnwritableError
from treewarden.ppdm_models.formats.common.printed_trees import as_float, decimals_of
from treewarden.ppdm_models.formats.rare._rpart_object import ABSENT, FrameRow, frame_rows
from treewarden.ppdm_models.unsupported_files import OF_TREE

CLASS_HEADER = "node), split, n, loss, yval, (yprob)"
NUMBER_HEADER = "node), split, n, deviance, yval"
OF_TREE_HEADER = "node), split, n, deviance, yval, (yprob)"
"""R's package tree prints this of its trees for classes."""
NODE = re.compile(r" *(\d{1,18})\) (.*)")
LINE_LENGTH = 20_000
MOST_WAYS = 50
FIELDS = re.compile(r"(?<! )(?= +(\d{1,15}) +([\d.eE+-]{1,40}|NA) +(\S.*)$)")
NOT_TOLD = "NA"
"""What stands in place of a deviance that is not published."""


@dataclass(frozen=True, slots=True)
class FieldSplit:
    """One way to take the fields of a line apart."""

    test: str
    records: int
    loss: float | None
    value: str


@dataclass(frozen=True, slots=True)
class RpartRow:
    """One node as printed; ``decimals`` are those of its class shares."""

    number: int
    line: int
    ways: tuple[FieldSplit, ...]
    is_leaf: bool
    shares: tuple[float, ...] = ()
    decimals: int = 0


def rows_of(lines: Sequence[str], source: str) -> tuple[bool, dict[int, RpartRow]]:
    """Return whether the leaves hold classes, and the nodes by number.

    Raises:
        TreeFormatError: there is no tree, there are several, or a line is not understood.
    """
    starts = [place for place, line in enumerate(lines) if line.startswith(NUMBER_HEADER[:16])]
    if len(starts) != 1:
        raise TreeFormatError(
            source, f"the text contains {len(starts)} rpart trees; give one tree per file"
        )
    header = lines[starts[0]].strip()
    if header == OF_TREE_HEADER:
        raise TreeFormatError(f"{source}:{starts[0] + 1}", OF_TREE)
    if header not in (CLASS_HEADER, NUMBER_HEADER):
        raise TreeFormatError(
            f"{source}:{starts[0] + 1}",
            f"the columns are {header[:80]!r}; known values: {CLASS_HEADER!r}, {NUMBER_HEADER!r}",
        )
    rows: dict[int, RpartRow] = {}
    for place in range(starts[0] + 1, len(lines)):
        line = lines[place]
        found = NODE.fullmatch(line)
        if found is None:
            if rows and not line.strip():
                break
            if line.strip() not in ("", "* denotes terminal node"):
                raise TreeFormatError(
                    f"{source}:{place + 1}", "this is not a line of an rpart tree"
                )
            continue
        row = _row(int(found[1]), found[2], place + 1, header == CLASS_HEADER, source)
        if row.number in rows or len(rows) >= limits.NODES:
            raise TreeFormatError(f"{source}:{place + 1}", f"node {row.number} occurs twice")
        rows[row.number] = row
    return header == CLASS_HEADER, rows


def _row(number: int, text: str, line: int, is_class: bool, source: str) -> RpartRow:
    where = f"{source}:{line}"
    if len(text) > LINE_LENGTH:
        raise TreeFormatError(
            where,
            f"a line has more than {LINE_LENGTH:,} characters, which is the "
            "limit; shorten the names of columns and levels",
        )
    text = text.rstrip()
    is_leaf = text.endswith(" *")
    text = text.removesuffix("*").rstrip()
    shares: list[float | None] = []
    decimals = 0
    if is_class:
        start = text.rfind("(")
        if start < 0 or not text.endswith(")"):
            raise TreeFormatError(where, "the line does not end with class shares (yprob)")
        printed = text[start + 1 : -1].split()
        shares = [as_float(share) for share in printed]
        decimals = max((decimals_of(share) for share in printed), default=0)
        text = text[:start].rstrip()
    known = tuple(share for share in shares if share is not None)
    if len(known) < len(shares) or any(not 0 <= share <= 1 for share in known):
        raise TreeFormatError(where, "the class shares are not numbers from 0 to 1")
    ways = tuple(_ways(text, is_class))
    if not 0 < len(ways) <= MOST_WAYS or (is_class and not known):
        raise TreeFormatError(where, "its records, loss and value are missing")
    return RpartRow(number, line, ways, is_leaf, known, decimals)


def _ways(text: str, is_class: bool) -> list[FieldSplit]:
    field_splits = []
    for match in islice(FIELDS.finditer(text), MOST_WAYS + 1):
        loss = as_float(match[2])
        is_value = is_class or as_float(match[3]) is not None
        if (loss is not None or (match[2] == NOT_TOLD and not is_class)) and is_value:
            field_splits.append(
                FieldSplit(text[: match.start()].strip(), int(match[1]), loss, match[3].strip())
            )
    return field_splits


# Sets of categories as R prints them: separated by commas, though a category may hold commas itself.

INTERVAL = re.compile(r"[\[(][^,\[\]()]*,[^,\[\]()]*[\])]")


def printed_set(text: str, separator: str) -> tuple[str, ...]:
    """Return the values of a set; an interval, ``(20,30]`` as R's cut names them, is one value."""
    found: list[str] = []
    start = 0
    place = 0
    while place < len(text):
        interval = INTERVAL.match(text, place) if text[place] in "[(" else None
        if interval and (place == start) and _ends(text, interval.end(), separator):
            place = interval.end()
        elif text.startswith(separator, place) and _separates(text, place, separator):
            found.append(text[start:place])
            place = start = place + len(separator)
        else:
            place += 1
    return tuple(value for value in (*found, text[start:]) if value)


def _separates(text: str, place: int, separator: str) -> bool:
    """Whether a separator stands here: a comma before a blank is one only where all separators have the blank."""
    return separator != "," or not text.startswith(", ", place)


def _ends(text: str, place: int, separator: str) -> bool:
    return place == len(text) or text.startswith(separator, place)


REST = (
    "splits that were not taken, deviances, complexities and settings, and other content that "
    "the same tree does not need"
)
METHODS = ("class", "anova", "poisson", "exp")
UNCOUNTED = 0
"""What stands where a number of records had a value for a split, if not all had one: nobody needs it."""
WHOLE_SETTINGS = ("minsplit", "minbucket", "usesurrogate", "maxdepth")
MOST = 10**9
PRICE_DIGITS = 8


def plain_document(root: JsonPart) -> dict[str, object]:
    """Return the object with what its tree holds and nothing else; ``root`` has each thing under its name.

    Raises:
        UnwritableError: records have weights, classes have priors or errors have prices: no tree holds these numbers.
    """
    rows = sorted(frame_rows(root), key=lambda row: _place(row.number))
    levels = _levels(root)
    method = root["method"].text()
    if method not in METHODS:
        raise UnwritableError("a method that rpart does not have")
    is_class = method == "class"
    if any(row.part["n"].amount() != row.part["wt"].amount() for row in rows):
        raise UnwritableError("weights of records")
    settings = _settings(root)
    use_surrogates = settings.get("usesurrogate") != 0
    splits, csplit = _splits(root, rows, levels, use_surrogates=use_surrogates)
    document: dict[str, object] = {
        "frame": [
            _frame_row(row, is_class=is_class, use_surrogates=use_surrogates) for row in rows
        ],
    }
    if is_class:
        document["yval2"] = list(_class_numbers(root, rows))
    document |= {"splits": splits, "csplit": csplit, "xlevels": levels}
    if is_class:
        document["ylevels"] = [part.label() for part in root["ylevels"]]
    document["method"] = method
    if is_class and root.get("parms") is not None:
        document["parms"] = _parms(root, rows)
    return document | ({"control": settings} if settings else {})


def _place(number: int) -> str:
    """Return what sorts rpart's numbers of nodes in preorder."""
    return format(number, "b")


def _levels(root: JsonPart) -> dict[str, list[str]]:
    xlevels = root.get("xlevels")
    listed = () if xlevels is None else xlevels.entries()
    return {name: [level.text() for level in part] for name, part in listed}


def _frame_row(row: FrameRow, *, is_class: bool, use_surrogates: bool) -> dict[str, object]:
    records, value = row.part["n"].whole(), row.part["yval"]
    return {
        "node": row.number,
        "var": row.part["var"].text(),
        "n": records,
        "wt": records,
        "yval": value.whole(low=1) if is_class else value.number() + 0.0,
        "ncompete": 0,
        "nsurrogate": len(row.surrogates) if use_surrogates else 0,
    }


def _class_numbers(root: JsonPart, rows: Sequence[FrameRow]) -> Iterator[list[float]]:
    """Yield label, counts, their shares and the share of all records, of each node."""
    size = len(root["ylevels"])
    numbers = {row.number: part for row, part in zip(frame_rows(root), root["yval2"], strict=False)}
    whole = rows[0].part["n"].amount()
    for row in rows:
        counts = [numbers[row.number].at(place).whole() for place in range(1, size + 1)]
        total = sum(counts)
        if total != row.part["n"].amount() or not whole:
            raise UnwritableError("classes that are counted differently from records")
        label = row.part["yval"].whole(low=1)
        shares = [count / total if total else 0.0 for count in counts]
        yield [label, *counts, *shares, total / whole]


def _splits(
    root: JsonPart,
    rows: Sequence[FrameRow],
    levels: Mapping[str, Sequence[str]],
    *,
    use_surrogates: bool,
) -> tuple[list[dict[str, object]], list[list[int]]]:
    """Return the splits of the nodes with their surrogates, and the sides of their levels."""
    csplit, listed = root.get("csplit"), []
    sides: list[list[int]] = []
    inner = [row for row in rows if row.primary is not None]
    are_all = all(
        row.primary is not None and row.primary["count"].amount() == row.part["n"].amount()
        for row in inner
    )
    for row in inner:
        surrogates = row.surrogates if use_surrogates else ()
        if not all(part["var"].value for part in surrogates):
            raise UnwritableError("surrogate splits without names")
        assert row.primary is not None
        for part in (row.primary, *surrogates):
            name, ncat = part["var"].text(), part["ncat"].whole(low=-1, high=10_000)
            is_first = part is row.primary
            count = row.part["n"].whole() if is_first and are_all else UNCOUNTED
            split: dict[str, object] = {"var": name, "count": count, "ncat": ncat}
            if ncat in (-1, 1):
                split["index"] = part["index"].number() + 0.0
            else:
                if csplit is None:
                    raise UnwritableError("levels without sides")
                codes = csplit.at(part["index"].whole(low=1) - 1)
                row_sides = [code.whole(high=3) for code in codes]
                if any(code != ABSENT for code in row_sides[len(levels[name]) :]):
                    raise UnwritableError("sides of levels that are not there")
                sides.append(row_sides[: len(levels[name])])
                split["index"] = len(sides)
            listed.append(split)
    return listed, sides


def _parms(root: JsonPart, rows: Sequence[FrameRow]) -> dict[str, object]:
    """Return the usual priors and losses, which follow from the counts; others stand in no tree."""
    parms = root["parms"]
    counts = next(iter(_class_numbers(root, rows)))[1 : len(root["ylevels"]) + 1]
    total = sum(counts)
    prior, loss, rule = (parms.get(name) for name in ("prior", "loss", "split"))
    usual = [count / total if total else 0.0 for count in counts]
    costs = [[float(i != j) for j in range(len(counts))] for i in range(len(counts))]
    if prior is None or loss is None or [list(row.numbers()) for row in loss] != costs:
        raise UnwritableError("a loss matrix for its classes")
    told = prior.numbers()
    are_near = len(told) == len(usual) and all(
        math.isclose(one, two, abs_tol=1e-9) for one, two in zip(told, usual, strict=True)
    )
    if not are_near:
        raise UnwritableError("prior probabilities for its classes")
    document: dict[str, object] = {"prior": usual, "loss": costs}
    return document if rule is None else document | {"split": rule.whole(low=1, high=2)}


def _settings(root: JsonPart) -> dict[str, object]:
    """Return the settings that say when rpart stopped, which the tree holds; a price of many digits is left out."""
    control = root.get("control")
    if control is None:
        return {}
    whole = {name: part for name in WHOLE_SETTINGS if (part := control.get(name)) is not None}
    settings: dict[str, object] = {name: part.whole(high=MOST) for name, part in whole.items()}
    price = control.get("cp")
    if price is not None and len(repr(price.number())) <= PRICE_DIGITS:
        settings["cp"] = price.number()
    return settings
