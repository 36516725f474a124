"""All models of a configuration, start to end: what the command line and a program both call."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import treewarden
from treewarden.audit.stages import Step, silent
from treewarden.jobs.gate.changed import changes_since
from treewarden.jobs.gate.config import Configuration, ConfigurationError
from treewarden.jobs.gate.known import Run
from treewarden.jobs.gate.models import chosen, models_of
from treewarden.jobs.gate.waived import Held, left_over
from treewarden.jobs.gate.wish import Wish
from treewarden.policies.severity import SEVERITIES
from treewarden.reports.building.entry import gate_of
from treewarden.reports.document.gate import Entry, Gate

UNNEEDED = "treewarden.jobs.gate.unneeded"
BASELINES = "treewarden.policies.waiving.baseline"
"""Loaded when they are needed, as all libraries come with them."""


@dataclass(frozen=True, slots=True)
class Gated:
    """What a gate says; the names of the models that did not change and have no verdict; deleted ones, by file.

    ``reports`` are bytes by name of the model and form, ``baseline`` those of a new one. ``notes`` say what is worth
    knowing beside.
    """

    gate: Gate
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    reports: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    baseline: bytes | None = None
    notes: tuple[str, ...] = ()


def gate(
    configuration: Configuration,
    wish: Wish | None = None,
    step: Step = silent,
    tell: Callable[[str], object] = lambda text: None,
) -> Gated:
    """Audit what a configuration asks for and is not known yet; ``tell`` hears how many models are done.

    What is wrong with one model is a result of its own.

    Raises:
        TreewardenError: the configuration does not fit the files there are, or git cannot say what changed.
    """
    wish = wish or Wish()
    if wish.baseline is not None and not wish.baseline.is_file():
        problem = "there is no such file; write it: treewarden gate --write-baseline FILE"
        raise ConfigurationError(str(wish.baseline), problem)
    for each in (*wish.attestations, *wish.trust):
        if not each.is_file():
            raise ConfigurationError(str(each), "there is no such file; see docs/attest.md")
    models = chosen(configuration, models_of(configuration, wish.new_baseline), wish.paths)
    since = wish.changed_since
    changes = None if since is None else changes_since(configuration, since)
    wanted = [wish.applied(each) for each in models if changes is None or changes.touches(each)]
    run = Run(wish, step, tell)
    held = list(zip(wanted, run.answers(wanted), strict=True))
    entries = [answer.entry for _, answer in held]
    if wish.is_of_all:
        entries += _of_waivers(configuration, wish, held)
    names = {model.name for model in wanted}
    # One severity has to stand for all: with the mildest, no form hides what stops a model.
    mildest = [model.fail_on for model in wanted] or [configuration.said.fail_on]
    return Gated(
        gate_of(entries, min(mildest, key=SEVERITIES.index), treewarden.__version__),
        tuple(model.name for model in models if model.name not in names),
        changes.gone if changes is not None else (),
        {
            (model.name, form): data
            for model, answer in held
            for form, data in answer.reports.items()
        },
        _baseline(held) if wish.new_baseline is not None else None,
        (*run.notes, *_left_out(wish, held)),
    )


def _of_waivers(configuration: Configuration, wish: Wish, held: Sequence[Held]) -> Iterator[Entry]:
    """Yield what is wrong with waivers that none of the models needed; only all models together can tell."""
    for path, those in left_over(held):
        entry = importlib.import_module(UNNEEDED).entry_of_waivers(
            path, _shown(configuration, path), those, wish.today
        )
        if entry is not None:
            yield entry


def _shown(configuration: Configuration, path: Path) -> str:
    is_inside = path.is_relative_to(configuration.root)
    return (path.relative_to(configuration.root) if is_inside else path).as_posix()


def _baseline(held: Sequence[Held]) -> bytes:
    found = {model.name: answer.baseline for model, answer in held if answer.baseline is not None}
    data: bytes = importlib.import_module(BASELINES).write_baseline(found)
    return data


def _left_out(wish: Wish, held: Sequence[Held]) -> Iterator[str]:
    if wish.new_baseline is not None:
        for model, answer in held:
            if answer.baseline is None:
                yield f"{model.name} has no audit, so the baseline does not know it"
