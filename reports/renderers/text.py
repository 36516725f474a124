"""A summary for the terminal: the verdict, what breaks and where, the readings. No colours, no control characters."""

from __future__ import annotations

from collections.abc import Iterator

from reports.document.document import Document
from reports.document.parts import Finding
from reports.document.words import printable, wrapped
from reports.figures.attempts import attempt_lines
from reports.renderers import Renderer

MOST_PLACES = 3


class TextRenderer(Renderer):
    """UTF-8 text, lines of up to 100 characters where no name is longer."""

    media_type = "text/plain; charset=utf-8"
    suffix = "txt"

    def render(self, document: Document) -> bytes:
        lines = [
            *wrapped(f"{document.verdict}: {document.headline}"),
            *wrapped(f"[{document.confidential}]", "  "),
            *wrapped(document.title, "  "),
            *wrapped(document.meaning, "  "),
            *_repair(document),
            *_findings(document),
            *_list(
                "Not judged", tuple(f"{each.name}: {each.text}" for each in document.not_judged)
            ),
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
    yield from wrapped(repair.message, "  ")
    yield from attempt_lines(repair)
    for refusal in repair.refusals:
        yield from wrapped(f"- {refusal}", "  ")


def _findings(document: Document) -> Iterator[str]:
    broken = [finding for finding in document.findings if finding.verdict != "PASS"]
    if not broken:
        return
    yield ""
    yield "Not met"
    for finding in broken:
        weight = "" if document.counts(finding) else f" ({finding.severity})"
        yield from wrapped(
            f"{finding.verdict}{weight} {finding.clause}: {finding.message}", "  ", "    "
        )
        yield from _places(finding)


def _places(finding: Finding) -> Iterator[str]:
    for place in finding.where[:MOST_PLACES]:
        if place.kind == "tree":
            yield from wrapped(f"{place.value.text} in {place.node}", "      ", "        ")
            continue
        if place.kind == "file":
            yield from wrapped(f"{place.node}, {place.path}: {place.note}", "      ", "        ")
            continue
        line = f", line {place.line}" if place.line else ""
        profile = f"; {place.profile}" if place.profile else ""
        yield from wrapped(
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
        yield from wrapped(said, "  ", " " * (width + 4))


def _list(heading: str, items: tuple[str, ...]) -> Iterator[str]:
    if not items:
        return
    yield ""
    yield heading
    for item in items:
        yield from wrapped(f"- {item}", "  ", "    ")


RENDERER = TextRenderer()
