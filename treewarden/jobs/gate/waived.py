"""Which files of waivers hold one that no model of a gate needed: known from numbers, before anything is loaded."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from treewarden.jobs.gate.models import GateModel
from treewarden.jobs.gate.order import Answer

Held = tuple[GateModel, Answer]


def left_over(found: Sequence[Held]) -> Iterator[tuple[Path, tuple[Held, ...]]]:
    """Yield each file of waivers with the models that it is held against, where none needed all of it.

    Where one of these models has no audit, its waivers may be what is left: then nothing is told.
    """
    files: dict[Path, list[Held]] = {}
    for model, answer in found:
        if model.waivers is not None:
            files.setdefault(model.waivers, []).append((model, answer))
    for path, held in files.items():
        if any(answer.entry.outcome == "NO AUDIT" for _, answer in held):
            continue
        known = {number for _, each in held for number in (*each.needed, *each.told)}
        if len(known) < _number(path):
            yield path, tuple(held)


def _number(path: Path) -> int:
    try:
        said = tomllib.loads(path.read_text("utf-8-sig")).get("waiver", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return 0  # what cannot be read is no reason of its own: no audit went through with it
    return len(said) if isinstance(said, list) else 0
