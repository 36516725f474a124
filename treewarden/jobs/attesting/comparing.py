"""Compares what two reports of the same files say: verdicts, findings, readings, adversaries, and all other sections.

Whole records are reasoned over for a time, so two runs may prove more or less: readings agree where they overlap, and
what one run could not tell is open, neither agreement nor contradiction.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from treewarden.jobs.attesting.alike import Compared, Outcome, missing, same, values, verdicts
from treewarden.jobs.attesting.sections import sections
from treewarden.reports.document.document import Document
from treewarden.reports.document.parts import Adversary, Finding, Reading

SAME = ("knowledge", "population", "policy", "model", "fail_on", "basis")
"""Parts of a report that say what was audited and how; they must come out to the letter."""
ASKED = ("measure", "parameters", "rule", "limit", "severity")
"""What of a finding its clause asks for."""
TOLD_BY_NUMBERS = ("value", "verdict", "message", "where", "parts")
"""What of a finding follows from what was read; all else says what was asked, and why."""
LACK = ("certain", "confidence", "guess_accuracy")


def compared(old: Document, new: Document) -> Iterator[Compared]:
    """Yield how each thing that a report says compares with another report of the same files."""
    for name in SAME:
        yield same(name, getattr(old, name) == getattr(new, name))
    yield Compared("verdict", *verdicts(old.verdict, new.verdict))
    if old.verdict == new.verdict:
        yield same("headline", (old.title, old.headline) == (new.title, new.headline))
    yield from _findings(old.findings, new.findings)
    # Another version may take other readings.
    is_version = old.provenance.version == new.provenance.version
    absent = Outcome.DIFFERS if is_version else Outcome.OPEN
    yield from _readings("", old.readings, new.readings, absent)
    yield from _adversaries(old.adversaries, new.adversaries)
    yield from sections(old, new)


def _findings(old: tuple[Finding, ...], new: tuple[Finding, ...]) -> Iterator[Compared]:
    left = {_called(each): each for each in new}
    for said in old:
        found, name = left.pop(_called(said), None), f"clause {_called(said)}"
        if found is None:
            yield missing(name, in_report=True)
        elif any(getattr(said, each) != getattr(found, each) for each in ASKED):
            problem = "it asks for something else than the policy does"
            yield Compared(name, Outcome.DIFFERS, problem)
        else:
            yield Compared(name, *verdicts(said.verdict, found.verdict))
            yield Compared(f"{name}, its reading", *values(said.value, found.value))
            yield from _told(name, said, found)
    for each in left:
        yield missing(f"clause {each}", in_report=False)


def _called(found: Finding) -> str:
    return f"{found.clause} of {found.of}" if found.of else found.clause


def _told(name: str, said: Finding, found: Finding) -> Iterator[Compared]:
    """Yield whether a finding is told in other words, or of other places though its numbers are the same."""
    is_same_number = (said.verdict, said.value) == (found.verdict, found.value)
    apart = ("where",) if is_same_number else TOLD_BY_NUMBERS
    if said.model_copy(update={each: getattr(found, each) for each in apart}) != found:
        yield same(f"{name}, its words", is_same=False)
    elif is_same_number and said.where != found.where:
        yield Compared(f"{name}, its places", Outcome.OPEN, "the report names others")


def _readings(
    of: str, old: Mapping[str, Reading], new: Mapping[str, Reading], absent: Outcome
) -> Iterator[Compared]:
    """Yield how readings compare, by measure; ``absent`` is what it is where only one of two has one."""
    for name, said in old.items():
        found, called = new.get(name), f"reading {name}{of}"
        if found is None:
            yield missing(called, in_report=True, outcome=absent)
            continue
        yield Compared(called, *values(said, found))
        read = {each: getattr(found, each) for each in ("low", "high", "text", "reason")}
        if said.model_copy(update=read) != found:
            yield same(f"{called}, its words", is_same=False)
    for name in new:
        if name not in old:
            yield missing(f"reading {name}{of}", in_report=False, outcome=absent)


def _adversaries(old: tuple[Adversary, ...], new: tuple[Adversary, ...]) -> Iterator[Compared]:
    left = {each.name: each for each in new}
    for said in old:
        found = left.pop(said.name, None)
        if found is None:
            yield missing(f"adversary {said.name}", in_report=True)
        else:
            yield from _adversary(f"adversary {said.name}", said, found)
    for each in left:
        yield missing(f"adversary {each}", in_report=False)


def _adversary(name: str, old: Adversary, new: Adversary) -> Iterator[Compared]:
    asked = [(each.knows, each.target_known, each.secret) for each in (old, new)]
    if asked[0] != asked[1]:
        yield same(f"{name}, what is known and what is secret", is_same=False)
    yield Compared(name, *verdicts(old.verdict, new.verdict))
    yield from _readings(f" of the {name}", old.readings, new.readings, Outcome.DIFFERS)
    is_same_number = old.readings == new.readings
    if old.worst != new.worst and is_same_number:
        yield same(f"{name}, of whom most can be told", is_same=False)
    if old.shown != new.shown or old.worst != new.worst:
        yield Compared(f"{name}, its people", Outcome.OPEN, "the report names others")
    if [each.column for each in old.lacking] != [each.column for each in new.lacking]:
        yield same(f"{name}, what each column is worth", is_same=False)
        return
    for said, found in zip(old.lacking, new.lacking, strict=True):
        for each in LACK:
            without = f"reading {each} of the {name} without {said.column}"
            yield Compared(without, *values(getattr(said, each), getattr(found, each)))
