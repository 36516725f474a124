"""What pages say in words of what others found out: a model's file, the stages of an audit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from treewarden.jobs.inspecting import facts
from treewarden.service.schemas.models import Version

HEADS = {
    "what": "Model",
    "predicts": "Predicts",
    "size": "Size",
    "tests": "Asks about",
    "publishes": "Publishes",
    "people": "People",
    "smallest leaf": "Smallest leaf",
    "trees": "Trees",
    "grown by": "Grown by",
    "also leaks": "Also gives away",
    "notes": "Notes",
}


BEGINNINGS = ("Broken by", "Needs", "Only for", "Serves", "Source:", "Why:")
"""With what sentences about a clause begin."""


def facts_of(version: Version | None) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return what a version publishes, as heads with their lines; nothing where it was not read."""
    if version is None or version.summary is None:
        return ()
    found: list[tuple[str, list[str]]] = []
    for head, text in facts(version.summary):
        if head or not found:
            found.append((HEADS.get(head, head.capitalize()), []))
        found[-1][1].append(text.removeprefix("- "))
    return tuple((head, tuple(lines)) for head, lines in found)


def paragraphs(lines: Iterable[str]) -> tuple[tuple[str, str], ...]:
    """Return a policy in sentences as heads with what follows each; empty lines part them, others are wrapped."""
    found: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            text = line.strip()
            if (
                len(found[-1]) > 1
                and text.startswith(BEGINNINGS)
                and found[-1][-1][-1] not in ".:;"
            ):
                found[-1][-1] += "."
            found[-1].append(text)
        elif found[-1]:
            found.append([])
    return tuple((head, " ".join(rest)) for head, *rest in filter(None, found))


def asked_columns(summary: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the columns that a model asks about."""
    if summary is None:
        return ()
    return tuple(str(each["name"]) for each in summary.get("features", ()) if each.get("tested"))


def target_of(summary: Mapping[str, Any] | None) -> str:
    """Return the column that a model predicts; "" where its file does not say."""
    return str((summary or {}).get("target") or "")
