"""An R rpart object as JSON: its frame, yval2, splits, csplit, xlevels, ylevels, method, parms and control."""

from __future__ import annotations

import math
import re
from dataclasses import replace

from treewarden.ppdm_models import limits
from treewarden.ppdm_models.formats import Format, Opened
from treewarden.ppdm_models.formats.common.json import JsonPart, opens_json, read_part
from treewarden.ppdm_models.formats.common.json_layout import opened_plainly, plain_json
from treewarden.ppdm_models.formats.common.node_order import (
    Branch,
    Draft,
    features_named,
    grown,
    unique,
)
from treewarden.ppdm_models.formats.common.printed_trees import NUMBERS_SPREAD, decimals_of
from treewarden.ppdm_models.formats.rare._rpart_object import (
    OTHER_SPLITS,
    FrameRow,
    frame_rows,
    leaks_of,
    named,
    other_splits,
    ways_of,
)
from treewarden.ppdm_models.formats.rare._rpart_printed import REST, plain_document
from treewarden.ppdm_models.semantics.consistency import is_whole
from treewarden.ppdm_models.semantics.support import checked
from treewarden.ppdm_models.tree.nodes import OtherSplit
from treewarden.ppdm_models.tree.predicate import Never, Surrogate
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import (
    MOST,
    Criterion,
    Learner,
    Missing,
    Node,
    NoTrueChild,
    Quality,
    Stopping,
    Task,
    Tree,
)

FORMULA = re.compile(r"formula = ([^~()]{1,200}?) ~")
COST = re.compile(r"\bcosts? *=")
"""Improvements are divided by what an attribute costs (``rpart/src/bsplit.c``)."""
CRITERIA = {1: Criterion.GINI, 2: Criterion.ENTROPY}
MAJORITY = 2
"""The value of usesurrogate with which a record goes with the larger child where all else is missing."""


class RpartJson(Format):
    """One object per file; exact thresholds, surrogate splits and counts."""

    how_to_export = "export it again (docs/recipes/r.md)"
    accounts_for_all = True

    def sniff(self, data: bytes) -> bool:
        parts = (b'"ncompete"', b'"splits"', b'"frame"')
        return opens_json(data) == b"{" and all(part in data for part in parts)

    def open(self, data: bytes, source: str) -> Opened:
        root = named(read_part(data, source))
        tree, leaks = _RpartReader(root).tree(), tuple(leaks_of(root))
        return opened_plainly(
            data,
            tree,
            leaks,
            form="rpart_json",
            write=lambda: plain_json(plain_document(root)),
            read=lambda plain: _RpartReader(named(read_part(plain, source))).tree(),
            difference=REST,
        )


class _RpartReader:
    """Reads one object."""

    def __init__(self, root: JsonPart) -> None:
        self.root, self.source = root, root.source
        self.rows = {row.number: row for row in frame_rows(root)}
        if len(self.rows) < len(root["frame"]) or 1 not in self.rows:
            raise root["frame"].refused("a node occurs twice, or node 1 is missing")
        self.is_class = root["method"].text() == "class"
        if self.is_class and root.get("ylevels") is None:
            raise root.refused(
                '"ylevels" (the classes) is missing; write it too: ylevels = attr(model, "ylevels")'
            )
        labels = [part.label() for part in root["ylevels"]] if self.is_class else []
        self.classes = unique(labels, "classes", self.source, limits.CLASSES)
        self.yval2 = dict(zip(self.rows, root["yval2"], strict=False)) if self.is_class else {}
        xlevels = root.get("xlevels")
        self.levels = {
            name: unique((level.text() for level in listed), "levels", self.source, 10_000)
            for name, listed in (() if xlevels is None else xlevels.entries())
        }
        control = root.get("control")
        use = None if control is None else control.get("usesurrogate")
        self.use_surrogate = MAJORITY if use is None else use.whole(high=MAJORITY)
        self.parms = root.get("parms") if self.is_class else None  # of other methods no object
        self.has_priors = self.parms is not None and not self._has_usual_priors(self.parms)
        # jsonlite rounds all numbers of a file to one number of digits, four unless it is told otherwise.
        self.decimals = max(
            (
                decimals_of(repr(part["improve"].number()))
                for row in self.rows.values()
                for part in row.competitors
            ),
            default=0,
        )
        self.nameless = any(
            not part["var"].value for row in self.rows.values() for part in row.surrogates
        )
        self.absent = 0
        self.ties = 0

    def tree(self) -> Tree:
        nodes = grown(1, self._draft, self.source)
        if len(nodes) < len(self.rows):
            raise self.root["frame"].refused("a node has no parent")
        names = dict.fromkeys(
            part["var"].text()
            for row in self.rows.values()
            for part in (row.primary, *row.competitors, *row.surrogates)
            if part is not None and part["var"].value
        )
        names |= dict.fromkeys(self.levels)
        quality, notes = self._support()
        if quality is Quality.EXACT:
            nodes = tuple(
                replace(node, figures=replace(node.figures, other_splits=self._others(node)))
                for node in nodes
            )
        return checked(
            Tree(
                nodes=nodes,
                features=features_named(list(names), nodes, self.source, values=self.levels),
                target=self._target(),
                classes=self.classes,
                task=Task.CLASSIFICATION if self.is_class else Task.REGRESSION,
                learner=self._learner(),
                quality=quality,
                missing=self._missing(),
                no_true_child=NoTrueChild.LAST_PREDICTION
                if self.ties
                else NoTrueChild.NULL_PREDICTION,
                source=self.source,
                notes=tuple(f"{self.source}: {note}" for note in notes),
                unused=self._unused(),
                label_reason=self._label_reason(),
            )
        )

    def _missing(self) -> Missing:
        if self.nameless:
            return Missing.NULL_PREDICTION
        return Missing.DEFAULT_CHILD if self.use_surrogate == MAJORITY else Missing.LAST_PREDICTION

    def _unused(self) -> tuple[str, ...]:
        if not self.is_class:
            has_deviances = any("dev" in dict(row.part.entries()) for row in self.rows.values())
            return NUMBERS_SPREAD if has_deviances else ()
        return (OTHER_SPLITS,) if any(row.competitors for row in self.rows.values()) else ()

    def _label_reason(self) -> str:
        """Return that labels follow priors or losses, where the object says of them more than the usual."""
        if self.parms is None or self._is_plain(self.parms):
            return ""
        return "rpart chose them under priors or losses"

    def _others(self, node: Node) -> tuple[OtherSplit, ...]:
        """Return the splits that were not taken, where their improvements are by plain gini."""
        rule = None if self.parms is None else self.parms.get("split")
        if rule is None or CRITERIA.get(rule.whole(high=10)) is not Criterion.GINI:
            return ()
        if self.parms is None or not self._is_plain(self.parms):
            return ()
        row = self.rows[int(node.name)]
        return other_splits(row, self.root.get("csplit"), self.levels, self.decimals)

    def _draft(self, number: int) -> Draft:
        row = self.rows[number]
        return Draft(
            str(number),
            self._branches(row),
            score=self._score(row),
            records=row.part["wt"].amount(),
            class_counts=self._counts(row),
            class_shares=self._shares(row),
        )

    def _branches(self, row: FrameRow) -> tuple[Branch, ...]:
        if row.is_leaf:
            return ()
        pair = (2 * row.number, 2 * row.number + 1)
        if any(child not in self.rows for child in pair):
            raise row.part.refused(
                "the node is not a leaf, but one of its children is not in the frame"
            )
        csplit = self.root.get("csplit")
        ways = ways_of(row, csplit, self.levels, self.use_surrogate > 0)
        self.absent += ways.has_absent
        left, right = (self.rows[child].part["n"].amount() for child in pair)
        majority = self.use_surrogate == MAJORITY and not self.nameless
        if (
            majority and left == right
        ):  # then rpart goes with neither, and predicts as the node itself
            self.ties += 1
            return (
                Branch(pair[0], Surrogate((ways.left, Never()))),
                Branch(pair[1], Surrogate((ways.right, Never()))),
            )
        return (
            Branch(pair[0], ways.left, majority and left > right),
            Branch(pair[1], ways.right, majority and left < right),
        )

    def _score(self, row: FrameRow) -> str | float:
        value = row.part["yval"]
        if not self.is_class:
            return value.number()
        return self.classes[value.whole(low=1, high=len(self.classes)) - 1]

    def _counts(self, row: FrameRow) -> tuple[float, ...] | None:
        if not self.is_class:
            return None
        if row.number not in self.yval2:
            raise self.root["yval2"].refused("it has fewer rows than the frame")
        numbers = self.yval2[row.number]
        size = len(self.classes)
        if len(numbers) != 2 * size + 2:
            raise numbers.refused(f"there are {len(numbers)} numbers for {size} classes")
        return tuple(numbers.at(place).amount() for place in range(1, size + 1))

    def _shares(self, row: FrameRow) -> tuple[float, ...] | None:
        """Return the published probabilities where priors make them other than the shares of the counts."""
        if not self.is_class or not self.has_priors:
            return None
        size = len(self.classes)
        numbers = self.yval2[row.number]
        return tuple(numbers.at(place).amount() for place in range(size + 1, 2 * size + 1))

    def _support(self) -> tuple[Quality, list[str]]:
        pairs = [(row.part["n"].amount(), row.part["wt"].amount()) for row in self.rows.values()]
        notes = []
        if self.nameless:
            notes.append("surrogate splits have no names, so the path of missing values is unknown")
        if self.absent:
            notes.append("values that no training record had at a split are not routed there")
        if all(math.isclose(n, wt) and is_whole(n) for n, wt in pairs):
            return Quality.EXACT, notes
        smallest = min(row.part["n"].amount() for row in self.rows.values() if row.is_leaf)
        notes.append(
            f"weighted; n still counts the records of each node, {smallest:.0f} in the smallest leaf"
        )
        return Quality.WEIGHTED, notes

    def _learner(self) -> Learner:
        control, parms = self.root.get("control"), self.parms
        bucket = None if control is None else control.get("minbucket")
        rule = None if parms is None else parms.get("split")
        complete = all(
            split["count"].amount() == row.part["n"].amount()
            for row in self.rows.values()
            for split in (*((row.primary,) if row.primary else ()), *row.competitors)
        )
        plain = parms is not None and complete and self._is_plain(parms)
        return Learner(
            criterion=CRITERIA.get(rule.whole(high=10)) if plain and rule is not None else None,
            min_leaf_records=1 if bucket is None else max(1, bucket.whole(high=10**12)),
            multiway=False,
            tool=Tool.RPART,
            unmodelled=("cost",) if COST.search(self._call()) else (),
            stopping=None if control is None else _stopping(control),
        )

    def _is_plain(self, parms: JsonPart) -> bool:
        """Whether the priors are the shares of the classes and every error costs the same."""
        loss = parms.get("loss")
        if loss is None:
            return False
        costs = [row.numbers() for row in loss]
        usual = all(cost == (i != j) for i, row in enumerate(costs) for j, cost in enumerate(row))
        return usual and self._has_usual_priors(parms)

    def _has_usual_priors(self, parms: JsonPart) -> bool:
        counts, prior = self._counts(self.rows[1]) or (), parms.get("prior")
        shares, total = () if prior is None else prior.numbers(), sum(counts)
        return (
            total > 0
            and len(shares) == len(counts)
            and all(
                math.isclose(share, count / total, abs_tol=1e-9)
                for share, count in zip(shares, counts, strict=True)
            )
        )

    def _call(self) -> str:
        """Return how rpart was called, as far as that is worth reading."""
        call = self.root.get("call")
        pieces = [] if call is None or call.is_object else list(call) if call.is_list else [call]
        return "".join(piece.text() for piece in pieces)[:2000]

    def _target(self) -> str:
        found = FORMULA.search(self._call())
        return found[1].strip() if found else ""


def _stopping(control: JsonPart) -> Stopping | None:
    """Return when rpart stopped, from its control; None where that does not say it. A price below 0 prunes nothing."""
    deepest, fewest, price = (control.get(name) for name in ("maxdepth", "minsplit", "cp"))
    if deepest is None or fewest is None or price is None:
        return None
    return Stopping(
        deepest.whole(high=MOST),
        max(1, fewest.whole(high=MOST)),
        pruning_alpha=max(0.0, price.number()),
    )


FORMAT = RpartJson()
