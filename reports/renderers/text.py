"""A summary for the terminal: the verdict, what breaks and where, the readings. No colours, no control characters."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from reports.document import Document
from reports.parts import Finding
from reports.renderers import Renderer
from reports.words import printable

WIDTH = 100
MOST_PLACES = 3


class TextRenderer(Renderer):
    """UTF-8 text, lines of up to 100 characters where no name is longer."""

    media_type = "text/plain; charset=utf-8"
    suffix = "txt"

    def render(self, document: Document) -> bytes:
        lines = [
            *_wrapped(f"{document.verdict}: {document.headline}"),
            *_wrapped(document.title, "  "),
            *_wrapped(document.meaning, "  "),
            *_repair(document),
            *_findings(document),
            *_list("What an adversary could learn", _lessons(document)),
            *_list("What is certain, not only likely", _certain(document)),
            *_readings(document),
            *_list("Warnings", (*document.model.notes, *document.warnings)),
            *_list("What to do next", document.next_steps),
        ]
        return ("\n".join(lines) + "\n").encode("utf-8")


def _repair(document: Document) -> Iterator[str]:
    repair = document.repair
    if repair is None:
        return
    yield ""
    yield from _wrapped(repair.message, "  ")
    for attempt in repair.attempts:
        mark = "*" if attempt.is_recommended else "-"
        cost = f"{attempt.leaves} leaves, {attempt.predictions_changed_text} of predictions changed"
        problem = f"; {attempt.problem}" if attempt.problem else ""
        yield from _wrapped(f"{mark} {attempt.verdict}: {attempt.title} ({cost}){problem}", "  ")
    for refusal in repair.refusals:
        yield from _wrapped(f"- {refusal}", "  ")


def _findings(document: Document) -> Iterator[str]:
    broken = [finding for finding in document.findings if finding.verdict != "PASS"]
    if not broken:
        return
    yield ""
    yield "Not met"
    for finding in broken:
        weight = "" if finding.severity == "error" else " (warning)"
        yield from _wrapped(
            f"{finding.verdict}{weight} {finding.clause}: {finding.message}", "  ", "    "
        )
        yield from _places(finding)


def _places(finding: Finding) -> Iterator[str]:
    for place in finding.where[:MOST_PLACES]:
        if place.kind == "file":
            yield from _wrapped(f"{place.node}, {place.path}: {place.note}", "      ", "        ")
            continue
        line = f", line {place.line}" if place.line else ""
        profile = f"; {place.profile}" if place.profile else ""
        yield from _wrapped(
            f"{place.value.text} at node {place.node}{line}: {place.path}{profile}",
            "      ",
            "        ",
        )
    if len(finding.where) > MOST_PLACES:
        yield f"      ... and {len(finding.where) - MOST_PLACES} more places"


def _lessons(document: Document) -> tuple[str, ...]:
    return tuple(
        f"{lesson.figure} {lesson.text}" if lesson.is_known else f"{lesson.text} {lesson.detail}"
        for lesson in document.lessons
    )


def _certain(document: Document) -> tuple[str, ...]:
    worlds = document.worlds
    return (worlds.summary, *worlds.not_decided) if worlds else ()


def _readings(document: Document) -> Iterator[str]:
    if not document.readings:
        return
    yield ""
    yield "Readings"
    width = max(len(printable(name)) for name in document.readings)
    for name, reading in document.readings.items():
        reason = f": {reading.reason}" if reading.reason else ""
        said = f"{printable(name):{width}}  {reading.text}{reason}"
        yield from _wrapped(said, "  ", " " * (width + 4))


def _list(heading: str, items: tuple[str, ...]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield heading
    for item in items:
        yield from _wrapped(f"- {item}", "  ", "    ")


def _wrapped(text: str, first: str = "", rest: str | None = None) -> list[str]:
    """Return the text in lines; a name's own line breaks are escaped before, so it never starts one."""
    return textwrap.wrap(
        printable(text),
        WIDTH,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )


RENDERER = TextRenderer()
