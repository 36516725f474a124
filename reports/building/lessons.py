"""What an adversary could learn, in sentences with figures: for readers who do not know the measures."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.evidence import Evidence
from treewarden.audit.reading import Interval, Undetermined
from treewarden.audit.result import Audit, Exposure
from treewarden.policies.judging.figures import span
from treewarden.ppdm_models.tree.column import brief
from treewarden.ppdm_models.tree.paths import path_text
from treewarden.ppdm_models.tree.tree import Task
from treewarden.reports.building.nodes import node_label
from treewarden.reports.building.series import SURE, sure_records
from treewarden.reports.document.parts import Lesson
from treewarden.reports.document.words import count, counted, percent, sentence

UNKNOWN = "Not known"


def lessons(audit: Audit) -> tuple[Lesson, ...]:
    """Return the lessons of an audit, those on the estimate first."""
    exposure, told = audit.full, audit.told
    if exposure.evidence.task is Task.REGRESSION:
        return (_exactness(exposure.evidence), _smallest_leaf(exposure))
    return (
        _sureness(told.evidence),
        _guesses(told),
        *(() if audit.secret else _worst_leaf(exposure)),
        _smallest_leaf(exposure),
        *(() if audit.secret else _own_part(exposure)),
    )


def _sureness(evidence: Evidence) -> Lesson:
    estimate = evidence.estimate
    what = f"people can be guessed with at least {SURE:.0%} certainty".replace("%", " %")
    if isinstance(estimate, Undetermined):
        return _unknown(f"How many {what}.", estimate)
    everyone = evidence.population.records
    sure, right = sure_records(evidence, estimate, SURE)
    known = "" if right is None or not sure else f"The guess is right for {count(right)} of them."
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
        return _unknown("How many people’s value is guessed right.", problem)
    whole = "model" if exposure.evidence.forest.is_ensemble else "tree"
    without = percent(max(reading.low - gain.low, 0.0))
    detail = f"Always guessing the commonest value is right for {without}: the {whole} adds {_points(gain)}."
    if not reading.is_exact:
        detail += (
            " Where several values are equally likely any may be picked, the label among them."
        )
    return Lesson(
        figure=_shares(reading),
        text="of the people have their value guessed right.",
        detail=detail,
    )


def _worst_leaf(exposure: Exposure) -> Iterator[Lesson]:
    evidence, measured = exposure.evidence, exposure.measured("label_disclosure")
    if isinstance(measured.reading, Undetermined):
        yield _unknown(
            "What share of a leaf’s people its label is true of, at worst.", measured.reading
        )
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
        yield Lesson(
            figure=figure,
            text=f"{who} really are “{node_label(tree, node)}”, as its label says.",
            detail=f"Path: {path_text(tree, node.index)}.{more}",
        )


def _own_part(exposure: Exposure) -> Iterator[Lesson]:
    """Yield how much of what is known of somebody is owed to that one record, where it can be told."""
    measured = exposure.measured("own_contribution")
    if isinstance(measured.reading, Undetermined):
        return
    note = f" {sentence(measured.spots[0].note)}" if measured.spots else ""
    yield Lesson(
        figure=_shares(measured.reading),
        text="of certainty about somebody is owed to that person's own record, at worst; the rest the others tell.",
        detail=f"Facts about a group are known with or without any one of its people.{note}",
    )


def _smallest_leaf(exposure: Exposure) -> Lesson:
    evidence, measured = exposure.evidence, exposure.measured("k_anonymity")
    if isinstance(measured.reading, Undetermined):
        return _unknown("How few people a path can single out.", measured.reading)
    spot = measured.spots[0] if measured.spots else None
    detail = f"Path: {path_text(evidence.tree_of(spot), spot.index)}." if spot else ""
    return Lesson(
        figure=span(measured.reading, "records"),
        text="in the smallest leaf: so few people share that path.",
        detail=detail,
    )


def _unknown(question: str, reading: Undetermined) -> Lesson:
    reason = reading.reason.rstrip(".")
    return Lesson(
        figure=UNKNOWN, text=question, detail=f"Could not tell: {reason}.", is_known=False
    )


def _shares(reading: Interval) -> str:
    if reading.is_exact:
        return span(reading, "share")
    return f"{100 * reading.low:.1f} to {100 * reading.high:.1f} %"


def _points(gain: Interval) -> str:
    low, high = (f"{100 * end:.1f}" for end in (gain.low, gain.high))
    return f"{low if low == high else f'between {low} and {high}'} percentage points"
