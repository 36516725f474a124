"""What an adversary could learn, in sentences with figures: for readers who do not know the measures."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from treewarden.audit.consistent_tables.result import ConsistentTables
from treewarden.audit.entropy.posterior import Posterior, individual_divergences
from treewarden.audit.evidence import Evidence
from treewarden.audit.population.target import label_of
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.result import Audit, Exposure
from treewarden.policies.judging.decision import Decision, Finding
from treewarden.policies.judging.figures import span
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.arrays import FloatArray, by_rows
from treewarden.ppdm_models.tree.column import brief
from treewarden.ppdm_models.tree.paths import path_text, path_texts, rounded
from treewarden.ppdm_models.tree.predicate import text
from treewarden.ppdm_models.tree.tree import Node, Task, Tree
from treewarden.reports.building.facts import quoted_value
from treewarden.reports.building.worded import value
from treewarden.reports.document.inferred_parts import Certainty, Divergence, Level, Plots
from treewarden.reports.document.parts import Lesson, Risk, TreeNode, number
from treewarden.reports.document.words import count, counted, percent, sentence

# The series behind a report's charts: how sure an adversary is of how many people, and how far from the truth.

GRID = np.linspace(0.0, 1.0, 101)
BINS = 24
TIE = 1e-6
"""Probabilities are checked to 1e-6, so one that much below a mark has reached it."""
SURE = 0.9


def plots(exposure: Exposure, decision: Decision) -> Plots:
    """Return the series of an audit; each that cannot be drawn says why."""
    evidence = exposure.evidence
    estimate, truth = evidence.estimate, evidence.truth
    if isinstance(estimate, Undetermined):
        return Plots(certainty_reason=estimate.reason, divergence_reason=estimate.reason)
    sure = _certainty(evidence, estimate, truth, _limit(decision, "disclosure", "confidence"))
    if isinstance(truth, Undetermined):
        return Plots(certainty=sure, divergence_reason=truth.reason)
    return Plots(
        certainty=sure,
        divergence=_divergence(estimate, truth, _limit(decision, "kl_individual")),
        levels=tuple(
            Level(
                name=level.name,
                guess_accuracy=value(level.guess_accuracy, "share"),
                disclosure=value(level.disclosure, "share"),
                kl_overall=value(level.kl_overall, "nats per record"),
            )
            for level in exposure.levels
        ),
    )


def sure_records(
    evidence: Evidence, estimate: Posterior, mark: float
) -> tuple[float, float | None]:
    """Return how many records the adversary is that sure about, and how many of these guesses are right, if known."""
    truth = evidence.truth
    best = estimate.values.argmax(axis=1)
    reached = by_rows(np.maximum, estimate.high) >= mark - TIE
    sure = float(evidence.population.counts[reached].sum())
    if isinstance(truth, Undetermined):
        return sure, None
    return sure, float(truth[np.flatnonzero(reached), best[reached]].sum())


def _certainty(
    evidence: Evidence, estimate: Posterior, truth: FloatArray | Undetermined, limit: float | None
) -> Certainty:
    people = evidence.population
    sure, right = sure_records(evidence, estimate, SURE)
    known = "" if right is None or not sure else f", and is right about {count(right)} of them"
    whole_records = evidence.worlds
    worlds = certain = None
    if isinstance(whole_records, ConsistentTables):
        proved = float(whole_records.counts[whole_records.certain].sum())
        known += f"; the value of {count(proved)} is proved"
        certain = proved / people.records
        worlds = _reached(_best_of_worlds(whole_records), people.counts)
    return Certainty(
        probability=_floats(GRID),
        guess=_reached(by_rows(np.maximum, estimate.high), people.counts),
        truth=None
        if isinstance(truth, Undetermined)
        else _reached(estimate.high.ravel(), truth.ravel()),
        worlds=worlds,
        worlds_are_proved_only=isinstance(whole_records, ConsistentTables)
        and isinstance(whole_records.enumeration.posterior, Undetermined),
        certain=certain,
        limit=limit,
        summary=f"The adversary is at least 90 % confident about {count(sure)} of "
        f"{counted(people.records, 'person', 'people')} ({percent(sure / people.records)}){known}.",
    )


def _best_of_worlds(worlds: ConsistentTables) -> FloatArray:
    """Return per profile the best guess's probability among all tables that fit, else what they all give at least."""
    if isinstance(worlds.enumeration.posterior, Undetermined):
        return np.asarray(worlds.low.max(axis=1) / np.maximum(worlds.counts, 1))
    return np.asarray(worlds.enumeration.posterior.values.max(axis=1))


def _divergence(estimate: Posterior, truth: FloatArray, limit: float | None) -> Divergence:
    low, _ = individual_divergences(estimate, truth)
    weights = truth.sum(axis=1) / truth.sum()
    finite = np.isfinite(low)
    top = float(low[finite].max(initial=0.0)) or 1.0
    shares, edges = np.histogram(low[finite], BINS, (0.0, top), weights=weights[finite])
    ruled_out = min(max(float(weights[~finite].sum()), 0.0), 1.0)
    said = (
        f" For {percent(ruled_out)} it is infinite: the adversary excludes the true value."
        if ruled_out
        else ""
    )
    near = float(weights[low < np.log(2)].sum())
    return Divergence(
        edges=_floats(edges),
        shares=_floats(shares),
        infinite=ruled_out,
        limit=limit,
        summary="Near 0 the inference equals the truth. Below 0.69 (ln 2), the true value has a probability above "
        f"one half: this holds for {percent(near)} of the people.{said}",
    )


def _reached(values: FloatArray, weights: FloatArray) -> tuple[float, ...]:
    """Return the share of the weight whose value is at least each mark of the grid."""
    order = np.argsort(values, kind="stable")
    above = np.concatenate([np.cumsum(weights[order][::-1])[::-1], [0.0]])
    first = np.searchsorted(values[order], GRID - TIE, side="left")
    return _floats(above[first] / weights.sum())


def _limit(decision: Decision, *names: str) -> float | None:
    """Return the limit of the first clause on one of the measures, in the order of the measures."""
    for name in names:
        for finding in decision.findings:
            if finding.requirement.measure == name and not finding.requirement.parameters:
                return finding.requirement.limit
    return None


def _floats(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in values)


# The tree as a report draws it: real records at each node, its label, and the clauses that break there.

_ORDER: Sequence[Risk] = ("fail", "undetermined", "warning")


def tree_nodes(evidence: Evidence, decision: Decision) -> tuple[TreeNode, ...]:
    """Return every node in document order; those at risk ranked, the worst 0."""
    forest, people = evidence.forest, evidence.population
    tree, stops = forest.drawn, forest.stops[forest.shown]
    truth = people.truth
    records = _upwards(tree, stops, people.counts[:, None])[:, 0]
    classes = None if isinstance(truth, Undetermined) else _upwards(tree, stops, truth)
    marks = _marks(decision, forest.shown)
    ranks = {index: rank for rank, index in enumerate(marks)}
    paths = path_texts(tree)
    return tuple(
        TreeNode(
            index=node.index,
            name=node.name,
            parent=node.parent,
            test=text(node.test, rounded([node.test])),
            exact=text(node.test),
            path=paths[node.index],
            line=node.line,
            label=node_label(tree, node),
            records=number(float(records[node.index])),
            records_text="not known"
            if people.is_absent and not records[node.index]
            else count(float(records[node.index])),
            label_share_text=_share(evidence, node, classes),
            risk=marks[node.index][0] if node.index in marks else "none",
            rank=ranks.get(node.index),
            clauses=tuple(marks[node.index][1]) if node.index in marks else (),
        )
        for node in tree.nodes
    )


def _upwards(tree: Tree, leaf: np.ndarray, amounts: FloatArray) -> FloatArray:
    """Return the amounts of the records that pass each node, shape (N, K), from those per profile, shape (P, K)."""
    sums = np.zeros((len(tree.nodes), amounts.shape[1]))
    routed = leaf >= 0
    np.add.at(sums, leaf[routed], amounts[routed])
    for node in reversed(tree.nodes):
        if node.parent is not None:
            sums[node.parent] += sums[node.index]
    return sums


def _marks(decision: Decision, tree: int) -> dict[int, tuple[Risk, list[str]]]:
    """Return the nodes at risk, the worst first, each with its worst risk and the clauses that do not pass there.

    Of an ensemble only those of the tree that is drawn.
    """
    found: dict[int, tuple[Risk, list[str]]] = {}
    broken = [
        finding for finding in decision.own_findings if finding.verdict is not PolicyVerdict.PASS
    ]
    risks = {finding.clause: _risk(finding, decision) for finding in broken}
    for finding in sorted(broken, key=lambda finding: _ORDER.index(risks[finding.clause])):
        for place in finding.places:
            if place.kind not in ("leaf", "profile") or place.tree != tree:
                continue
            _, clauses = found.setdefault(place.node, (risks[finding.clause], []))
            if finding.clause not in clauses:
                clauses.append(finding.clause)
    return found


def _risk(finding: Finding, decision: Decision) -> Risk:
    if not decision.counts(finding):
        return "warning"
    return "fail" if finding.verdict is PolicyVerdict.FAIL else "undetermined"


def node_label(tree: Tree, node: Node) -> str:
    """Return what a node predicts, in words."""
    if isinstance(node.score, float):
        return brief(node.score)
    code = label_of(tree, node) if tree.classes else None
    return "(none)" if code is None else tree.classes[code]


def _share(evidence: Evidence, node: Node, classes: FloatArray | None) -> str:
    """Return of how many of a node's people its label is true, in words; "" where it holds a number, true of nobody."""
    tree = evidence.forest.drawn
    if not tree.classes:
        return ""
    code = label_of(tree, node) if tree.classes else None
    if classes is None or code is None or tree.classes[code] not in evidence.classes:
        return "not known"
    code = evidence.classes.index(tree.classes[code])
    total = float(classes[node.index].sum())
    return percent(float(classes[node.index, code]) / total) if total else "no people"


UNKNOWN = "Not known"


def lessons(audit: Audit) -> tuple[Lesson, ...]:
    """Return the lessons of an audit, those on the estimate first."""
    exposure, told = audit.full, audit.primary_exposure
    if exposure.evidence.task is Task.REGRESSION:
        return (_exactness(exposure.evidence), _smallest_leaf(exposure))
    return (
        _sureness(told.evidence),
        _guesses(told),
        *(() if audit.secret else _worst_leaf(exposure, audit)),
        _smallest_leaf(exposure),
        *(() if audit.secret else _own_part(exposure)),
    )


def _sureness(evidence: Evidence) -> Lesson:
    estimate = evidence.estimate
    what = f"people have a value that can be inferred with at least {SURE:.0%} confidence".replace(
        "%", " %"
    )
    if isinstance(estimate, Undetermined):
        return _unknown(f"How many {what}.", estimate)
    everyone = evidence.population.records
    sure, right = sure_records(evidence, estimate, SURE)
    known = (
        "" if right is None or not sure else f"The inference is correct for {count(right)} of them."
    )
    return Lesson(
        figure=f"{count(sure)} of {count(everyone)}",
        text=f"{what} ({percent(sure / everyone)}).",
        detail=known,
    )


def _exactness(evidence: Evidence) -> Lesson:
    """Return of how many people a model of numbers determines the number."""
    numbers, what = evidence.numbers, "people have a number that follows exactly from the file"
    if isinstance(numbers, Undetermined):
        return _unknown(f"How many {what}.", numbers)
    everyone, exact = numbers.counts.sum(), numbers.counts[numbers.is_exact].sum()
    rest = numbers.width[(numbers.counts > 0) & ~numbers.is_exact]
    narrowest = ""
    if len(rest):
        whose = "of the others " if exact else ""
        narrowest = f"The narrowest interval {whose}is {brief(float(rest.min()))} wide; "
        narrowest += f"the table’s values lie within {brief(numbers.span)}."
    return Lesson(
        figure=f"{count(float(exact))} of {count(float(everyone))}",
        text=f"{what} ({percent(float(exact / everyone))}).",
        detail=narrowest,
    )


def _guesses(exposure: Exposure) -> Lesson:
    reading = exposure.measured("guess_accuracy").reading
    gain = exposure.measured("guess_accuracy", {"over": "marginal"}).reading
    if isinstance(reading, Undetermined) or isinstance(gain, Undetermined):
        problem = reading if isinstance(reading, Undetermined) else gain
        assert isinstance(problem, Undetermined)
        return _unknown("How many people’s value is inferred correctly.", problem)
    whole = "model" if exposure.evidence.forest.is_ensemble else "tree"
    without = percent(max(reading.low - gain.low, 0.0))
    detail = f"The most common value is right for {without} (majority class): the {whole} adds {_points(gain)}."
    if not reading.is_exact:
        detail += (
            " It is a range because in some groups several values are equally likely, and the adversary must "
            "pick one."
        )
    return Lesson(
        figure=_shares(reading),
        text="of people’s values are inferred correctly.",
        detail=detail,
    )


def _worst_leaf(exposure: Exposure, audit: Audit) -> Iterator[Lesson]:
    evidence, measured = exposure.evidence, exposure.measured("label_disclosure")
    if isinstance(measured.reading, Undetermined):
        yield _unknown("Largest share of a leaf with the predicted value.", measured.reading)
    elif measured.spots:
        worst = [spot for spot in measured.spots if spot.high == measured.spots[0].high]
        spot = max(worst, key=evidence.records_at)
        tree, size = evidence.tree_of(spot), evidence.records_at(spot)
        node = tree.nodes[spot.index]
        others = len(worst) - 1
        more = f" {counted(others, 'other leaf is', 'other leaves are')} as bad." if others else ""
        figure, who = (
            f"{count(round(size * spot.high, 6))} of {count(size)}",
            "people in the worst leaf",
        )
        if spot.low != spot.high:  # a share of people and another of their sampling weights
            figure = f"{percent(spot.low)} to {percent(spot.high)}"
            who = "of the people in the worst leaf, or of their weights,"
        label = quoted_value(audit, evidence.target, node_label(tree, node))
        yield Lesson(
            figure=figure,
            text=f"{who} have the value that the leaf predicts: {label}.",
            detail=f"Path: {path_text(tree, node.index)}.{more}",
        )


def _own_part(exposure: Exposure) -> Iterator[Lesson]:
    """Yield how much of what is known of somebody is owed to that one record, where it can be told."""
    measured = exposure.measured("own_contribution")
    if isinstance(measured.reading, Undetermined):
        return
    note = f" {sentence(measured.spots[0].note)}" if measured.spots else ""
    is_all = measured.reading.low == measured.reading.high == 1
    rest = "" if is_all else " The rest is due to other people’s records."
    yield Lesson(
        figure=_shares(measured.reading),
        text="of what the adversary believes about a person is due to that person’s own record, in the worst "
        f"case.{rest}",
        detail=note.strip(),
    )


def _smallest_leaf(exposure: Exposure) -> Lesson:
    evidence, measured = exposure.evidence, exposure.measured("k_anonymity")
    if isinstance(measured.reading, Undetermined):
        return _unknown("How many people are in the smallest leaf.", measured.reading)
    spot = measured.spots[0] if measured.spots else None
    detail = f"Path: {path_text(evidence.tree_of(spot), spot.index)}." if spot else ""
    return Lesson(
        figure=span(measured.reading, "records"),
        text="in the smallest leaf.",
        detail=detail,
    )


def _unknown(question: str, reading: Undetermined) -> Lesson:
    reason = reading.reason.rstrip(".")
    return Lesson(figure=UNKNOWN, text=question, detail=f"Not available: {reason}.", is_known=False)


def _shares(reading: Interval) -> str:
    if reading.is_exact:
        return span(reading, "share")
    return f"{100 * reading.low:.1f} to {100 * reading.high:.1f} %"


def _points(gain: Interval) -> str:
    low, high = (f"{100 * end:.1f}" for end in (gain.low, gain.high))
    return f"{low if low == high else f'between {low} and {high}'} percentage points"
