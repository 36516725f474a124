"""The adversaries of an audit side by side: what each knows, and what each can tell."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.audit.measures import call, measures, of_models
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit, Exposure, Lacking
from treewarden.policies.judging.decision import Decision
from treewarden.policies.judging.figures import figure
from treewarden.policies.verdict import Verdict, worst
from treewarden.reports.building.values import key, reading
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.parts import Adversary, Lack, Row

WORST = ("certain_disclosure", "disclosure", "confidence")
"""What is told of single people, the gravest first."""
MOST_WORST = 3


def adversaries(audit: Audit, decision: Decision) -> tuple[Adversary, ...]:
    """Return all who were asked about; none where that is only who knows every quasi-identifier."""
    if not audit.adversaries:
        return ()
    return tuple(_adversary(each, decision) for each in _asked(audit))


def _asked(audit: Audit) -> Iterator[Exposure]:
    if not audit.secret:
        yield audit.full
    yield from audit.adversaries


def _adversary(exposure: Exposure, decision: Decision) -> Adversary:
    evidence, who = exposure.evidence, exposure.who
    of_knowledge = [each for each in map(call, of_models()) if _is_told(each.measure)]
    own = [
        found.open_verdict
        for found in decision.findings
        if found.of == exposure.of
        and decision.counts(found)
        and any(_is_told(each.measure) for each in found.calls)
    ]
    return Adversary(
        name=exposure.adversary,
        knows=_knows(exposure),
        target_known=who is not None and who.target,
        secret=evidence.secret_name,
        verdict=word(_verdict(own, decision)),
        readings={
            key(each): reading(each, exposure.measured(each.measure).reading)
            for each in of_knowledge
        },
        worst=() if who is None else tuple(_worst(exposure)),
        shown=() if who is None else tuple(_shown(exposure)),
        lacking=tuple(map(_lack, exposure.lacking)),
    )


def _verdict(own: list[Verdict], decision: Decision) -> Verdict:
    """Return the verdict of clauses of which only those that do not pass are findings; none, where none was asked."""
    if own:
        return worst(own)
    counting = (each for each in decision.pack.counting if each.id not in dict(decision.not_judged))
    is_asked = any(_is_told(atom.call.measure) for each in counting for atom in each.atoms)
    return Verdict.PASS if is_asked else Verdict.UNDETERMINED


def _knows(exposure: Exposure) -> tuple[str, ...]:
    """Return the columns that somebody knows, first those that he was said to; the target is told apart."""
    qi, who = exposure.evidence.population.qi, exposure.who
    if who is None:
        return qi
    known = dict.fromkeys((*who.declared, *qi))
    return tuple(name for name in known if not who.target or name != exposure.evidence.target)


def _worst(exposure: Exposure) -> Iterator[Row]:
    """Yield the people of whom an adversary is certain, then those of whom he is surest, each profile once."""
    told: set[int] = set()
    for measure in WORST:
        for spot in exposure.measured(measure).spots:
            if len(told) == MOST_WORST:
                return
            if spot.index in told or spot.low <= 0:
                continue
            told.add(spot.index)
            text = f"{figure(spot.low, measures()[measure].unit)}, {spot.note}"
            profile = _profile(exposure, spot.index)
            yield Row(name=profile, text=spot.note if measure == WORST[0] else text)


def _shown(exposure: Exposure) -> Iterator[Row]:
    """Yield the people of whom a table was kept that fits and has others of their values."""
    worlds = exposure.evidence.worlds
    if not isinstance(worlds, Undetermined):
        for witness in worlds.witnesses:
            yield Row(name=_profile(exposure, witness.profile), text=witness.says)


def _profile(exposure: Exposure, index: int) -> str:
    return exposure.evidence.population.describe(index) or "everybody"


def _is_told(measure: str) -> bool:
    return measures()[measure].is_of_knowledge


def _lack(found: Lacking) -> Lack:
    return Lack(
        column=found.column,
        certain=value(found.certain_disclosure, "records"),
        confidence=value(found.confidence, "share"),
        guess_accuracy=value(found.guess_accuracy, "share"),
    )
