"""The command that repairs a model which an audit was asked of: as it is typed where the audit was."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path

from treewarden.audit.options import DEFAULT, KNOWLEDGE
from treewarden.jobs.subject import Request, Subject
from treewarden.ppdm_models.tables.counting.addresses import Address
from treewarden.reports.building.advice import repair_target

REPAIRED = "-repaired"
SUFFIXES = {"pmml": ".pmml", "treewarden_json": ".json"}
OF_WHOLE_REPAIR = ("time_limit",)
"""Options that a repair has too, where they mean another thing."""


def repair_command(request: Request, subject: Subject) -> str:
    """Return the command; "" where the files are not on disk, or no format says the model."""
    target = repair_target(subject.tree)
    files = (request.model, request.data, request.knowledge)
    if target is None or not all(
        each is None or isinstance(each, Path | Address) for each in files
    ):
        return ""
    if not isinstance(request.policy, str) or request.data is None:
        return ""
    words = ["treewarden", "repair", *_words(request, target)]
    return " ".join(shlex.quote(word) for word in words)


def _words(request: Request, target: str) -> Iterator[str]:
    assert isinstance(request.model, Path)
    yield _typed(request.model)
    yield from ("--data", str(request.data))
    yield from _options(request)
    if request.knowledge is not None:
        yield from ("--knowledge", str(request.knowledge))
    for path in request.adversaries:
        yield from ("--adversary", str(path))
    yield from ("--policy", str(request.policy))
    if request.fail_on is not None and request.fail_on != "error":
        yield from ("--fail-on", request.fail_on)
    if target:
        yield from ("--to", target)
    yield from ("-o", _typed(_free(request.model, SUFFIXES.get(target, request.model.suffix))))


def _options(request: Request) -> Iterator[str]:
    """Yield what was said beside the files, where it is not what holds by itself."""
    left_out = {*OF_WHOLE_REPAIR, *(KNOWLEDGE if request.knowledge is not None else ())}
    for each in fields(request.options):
        value, flag = getattr(request.options, each.name), f"--{each.name.replace('_', '-')}"
        if value == getattr(DEFAULT, each.name) or each.name in left_out:
            continue
        if isinstance(value, bool):
            yield flag if value else f"--no-{flag[2:]}"
        elif isinstance(value, tuple):
            for name in value:
                yield from (flag, _as_csv(name))
        else:
            yield from (flag, str(value))


def _as_csv(name: str) -> str:
    if not any(sign in name for sign in ',"\n\r') and name == name.strip():
        return name
    doubled = name.replace('"', '""')
    return f'"{doubled}"'


def _free(model: Path, suffix: str) -> Path:
    """Return a file that is not there yet, where the command is typed."""
    number, end = 1, ""
    while (found := Path(f"{model.stem}{REPAIRED}{end}{suffix}")).exists():
        number += 1
        end = f"-{number}"
    return found


def _typed(path: Path) -> str:
    return f"./{path}" if str(path).startswith("-") else str(path)
