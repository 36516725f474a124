"""The leaves of an audited model as a table and as a map, and two audits held against each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from treewarden.api.frames import frame_of
from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Undetermined
from treewarden.policies.judging.decision import Decision
from treewarden.policies.repair.attempts import privacy
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import FloatArray
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.reports.building.worded import word
from treewarden.reports.figures.curve import AS_GIVEN, CurvePoint

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from treewarden.api.regrowing import Offer
    from treewarden.reports.document.parts import Finding
    from treewarden.reports.figures.curve import Curve

_TEXT, _NUMBER, _COUNT = pa.string(), pa.float64(), pa.int64()
_LEAF = {
    "tree": _COUNT,
    "node": _TEXT,
    "path": _TEXT,
    "records": _NUMBER,
    "prediction": _TEXT,
    "commonest": _TEXT,
    "share": _NUMBER,
    "fails": _TEXT,
    "undecided": _TEXT,
}
_CHANGE = {
    **dict.fromkeys(("clause", "verdict", "verdict_other", "value", "value_other"), _TEXT),
    **dict.fromkeys(("limit", "limit_other", "change"), _TEXT),
}
NOT_THERE = "–"


def leaves_frame(evidence: Evidence, decision: Decision) -> pd.DataFrame:
    """Return one row per leaf that people stop in; see ``Result.leaves``. None where the leaves are not known."""
    return frame_of(_leaf_rows(evidence, decision), _LEAF)


def _leaf_rows(evidence: Evidence, decision: Decision) -> Iterator[dict[str, object]]:
    leaves = evidence.leaves
    if isinstance(leaves, Undetermined):
        return
    broken = _broken(decision)
    classes = None if isinstance(leaves.classes, Undetermined) else leaves.classes
    for at, (tree, node) in enumerate(
        zip(leaves.trees.tolist(), leaves.nodes.tolist(), strict=True)
    ):
        own = evidence.trees[tree]
        top = None if classes is None else int(np.argmax(classes[at]))
        total = 0.0 if classes is None else float(classes[at].sum())
        known = broken.get((tree, node), {})
        score = own.nodes[node].score
        yield {
            "tree": tree,
            "node": own.nodes[node].name,
            "path": path_text(own, node) or "every record",
            "records": float(leaves.records[at]),
            "prediction": None if score is None else str(score),
            "commonest": None if top is None or not total else evidence.classes[top],
            "share": None
            if classes is None or top is None or not total
            else float(classes[at][top]) / total,
            "fails": ", ".join(
                name for name, verdict in known.items() if verdict is PolicyVerdict.FAIL
            ),
            "undecided": ", ".join(
                name for name, verdict in known.items() if verdict is PolicyVerdict.UNDETERMINED
            ),
        }


def _broken(decision: Decision) -> dict[tuple[int, int], dict[str, PolicyVerdict]]:
    """Return the clauses that do not pass by leaf, each with its verdict."""
    broken: dict[tuple[int, int], dict[str, PolicyVerdict]] = {}
    for finding in decision.findings:
        for place in finding.places:
            if place.kind in ("leaf", "profile") and place.node >= 0:
                broken.setdefault((place.tree, place.node), {})[finding.clause] = finding.verdict
    return broken


INK, BAD, OPEN = "#0b5c94", "#c2410c", "#9aa5b1"


def draw_leaves(leaves: pd.DataFrame, axes: Axes | None = None) -> Axes:
    """Draw each leaf by how many people are in it and how alike they are; those that fail a check stand out.

    Of a model of numbers, or where true values are not known, the leaves stand in the order of their size.
    """
    axes = _axes(axes)
    has_shares = bool(leaves["share"].notna().any())
    down = 100 * leaves["share"] if has_shares else leaves["records"].rank(method="first")
    for words, colour, mark, there in (
        ("passes", INK, "o", (leaves["fails"] == "") & (leaves["undecided"] == "")),
        ("not decided", OPEN, "D", (leaves["fails"] == "") & (leaves["undecided"] != "")),
        ("fails a check", BAD, "X", leaves["fails"] != ""),
    ):
        if there.any():
            label = f"{words} ({int(there.sum())})"
            axes.scatter(
                leaves["records"][there], down[there], c=colour, marker=mark, label=label, alpha=0.8
            )
    axes.set_xscale("log")
    axes.set_xlabel("people in the leaf (logarithmic scale)")
    axes.set_ylabel(
        "share of the most common value, in %" if has_shares else "leaves, smallest first"
    )
    axes.set_title("Leaves of the model")
    if len(leaves):
        axes.legend(loc="best")
    return axes


def draw_curve(curve: Curve | None, axes: Axes | None = None) -> Axes:
    """Draw utility against privacy as a report does: a line through what no other point beats, a circle for the choice.

    More is better in both directions.
    """
    axes = _axes(axes)
    colours = {"PASS": (INK, "o"), "FAIL": (BAD, "X"), "UNDETERMINED": (OPEN, "D")}
    points, line = (curve.points, curve.line) if curve is not None else ((), [])
    if len(line) > 1:
        axes.plot([p.utility for p in line], [p.privacy for p in line], color=INK, linewidth=1)
    told: set[str] = set()
    for point in points:
        colour, mark = colours[point.verdict]
        label = None if point.verdict in told else point.verdict
        at = (point.utility, point.privacy)
        axes.scatter([at[0]], [at[1]], c=colour, marker=mark, label=label)
        if point.is_chosen:
            axes.plot(*at, "o", markersize=14, fillstyle="none", color=INK, label="chosen")
        told.add(point.verdict)
    _label_points(axes, points)
    measured = curve.label if curve is not None else ""
    is_loss = curve is not None and not curve.is_percent
    unit = "below 0" if is_loss else "in %"
    axes.set_xlabel(f"utility: {measured}, {unit}" if measured else "utility")
    axes.set_ylabel("privacy score, in %")
    axes.set_title("Utility against privacy")
    if points:
        axes.legend(loc="best")
    return axes


NEAR = 0.04
"""Points within this part of the picture share a label."""
MOST_NAMES = 2


def _label_points(axes: Axes, points: Sequence[CurvePoint]) -> None:
    """Write the names of points, those that lie together as one; on the side where there is room."""
    if not points:
        return
    at = np.array([(point.utility, point.privacy) for point in points])
    low, span = at.min(axis=0), np.maximum(np.ptp(at, axis=0), 1e-9)
    groups: list[tuple[FloatArray, list[str]]] = []
    shared: list[tuple[FloatArray, list[str]]] = []
    for place, point in zip((at - low) / span, points, strict=True):
        is_alone = point.is_chosen or point.name == AS_GIVEN
        near = (names for spot, names in shared if (np.abs(spot - place) < NEAR).all())
        together = None if is_alone else next(near, None)
        if together is None:
            groups.append((place, [point.name]))
            shared += [] if is_alone else [groups[-1]]
        else:
            together.append(point.name)
    for place, names in groups:
        more = len(names) - MOST_NAMES
        text = ", ".join(names[:MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
        is_left = place[0] < 1 / 2
        axes.annotate(
            text,
            low + place * span,
            xytext=(6 if is_left else -6, -12 if names == [AS_GIVEN] else 6),
            textcoords="offset points",
            fontsize=8,
            ha="left" if is_left else "right",
        )


def grown_points(offer: Offer) -> Iterator[CurvePoint]:
    """Yield the points of models that were trained again and audited; a log loss, which is below 0, is left out."""
    for number, grown in enumerate(offer.tried, start=1):
        met = None if grown.audited is None else privacy(grown.audited.decision)
        if met is None or not 0 <= grown.utility <= 1:
            continue
        is_chosen = offer.settings is not None and grown.settings == offer.settings
        yield CurvePoint(
            number=number,
            name=grown.name,
            utility=100 * grown.utility,
            text=f"{100 * grown.utility:.1f} %",
            privacy=100 * met,
            privacy_text=f"{100 * met:.0f} %",
            verdict=word(grown.verdict),
            is_chosen=is_chosen,
        )


def _axes(axes: Axes | None) -> Axes:
    if axes is not None:
        return axes
    plt = import_module("matplotlib.pyplot")  # heavy, and only for pictures
    made: Axes = plt.subplots(layout="constrained")[1]
    return made


def changes_frame(first: Sequence[Finding], second: Sequence[Finding]) -> pd.DataFrame:
    """Return one row per check of either audit: its verdict and value in both, and what changed."""
    before, after = ({finding.clause: finding for finding in each} for each in (first, second))
    return frame_of(
        (_change(name, before.get(name), after.get(name)) for name in {**before, **after}), _CHANGE
    )


ORDER = ("PASS", "UNDETERMINED", "FAIL")


def _change(name: str, first: Finding | None, second: Finding | None) -> dict[str, object]:
    row: dict[str, object] = {"clause": name}
    for end, finding in (("", first), ("_other", second)):
        row[f"verdict{end}"] = NOT_THERE if finding is None else finding.verdict
        row[f"value{end}"] = NOT_THERE if finding is None else finding.value.text
        row[f"limit{end}"] = NOT_THERE if finding is None else finding.limit_text
    if first is None or second is None:
        return {**row, "change": "only here" if second is None else "only in the other"}
    step = ORDER.index(second.verdict) - ORDER.index(first.verdict)
    if step:
        return {**row, "change": "the other is better" if step < 0 else "the other is worse"}
    is_same = (first.value.low, first.value.high) == (second.value.low, second.value.high)
    return {**row, "change": "same" if is_same else "same verdict, other value"}
