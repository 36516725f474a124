"""An rpart object as JSON, written from its tree alone: no splits that were not taken, no deviances, no call."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from treewarden.ppdm_models.formats.common.json import JsonPart
from treewarden.ppdm_models.formats.common.plain import UnwritableError
from treewarden.ppdm_models.formats.rare._rpart_object import ABSENT, FrameRow, frame_rows

REST = (
    "splits that were not taken, deviances, complexities and settings, and whatever else a file of the same tree need "
    "not hold"
)
METHODS = ("class", "anova", "poisson", "exp")
NOT_TOLD = 0
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
            raise UnwritableError("classes that are counted otherwise than records")
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
            count = row.part["n"].whole() if is_first and are_all else NOT_TOLD
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
        raise UnwritableError("losses of its classes")
    told = prior.numbers()
    are_near = len(told) == len(usual) and all(
        math.isclose(one, two, abs_tol=1e-9) for one, two in zip(told, usual, strict=True)
    )
    if not are_near:
        raise UnwritableError("priors of its classes")
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
