"""All models of a configuration, start to end: what the command line and a program both call."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path

import treewarden
from audit.solver.pool import default_jobs
from audit.stages import Step, silent
from ppdm_models.errors import TreewardenError
from reports.building.entry import gate_of
from reports.document.gate import Entry, Gate
from reports.document.parts import Severity
from treewarden.jobs.gate.cache import Cache
from treewarden.jobs.gate.changed import Changes, changes_since
from treewarden.jobs.gate.config import Configuration
from treewarden.jobs.gate.digests import Digests, key_of
from treewarden.jobs.gate.memory import free
from treewarden.jobs.gate.models import GateModel, chosen, models_of
from treewarden.jobs.gate.order import Order
from treewarden.jobs.gate.running import answers


@dataclass(frozen=True, slots=True)
class Wish:
    """What is asked of one run of a gate, beside its configuration.

    ``paths`` are the models or folders that are wanted, all where there are none. ``forms`` are reports that each model
    has of its own: for them a model is audited though nothing changed.
    """

    paths: tuple[Path, ...] = ()
    fail_on: Severity | None = None
    changed_since: str | None = None
    jobs: int | None = None
    cache: Path | None = None
    forms: tuple[str, ...] = ()
    today: date = field(default_factory=date.today)


@dataclass(frozen=True, slots=True)
class Gated:
    """What a gate says; the names of the models that did not change and have no verdict; deleted ones, by file.

    ``reports`` are bytes by name of the model and form. ``notes`` say what is worth knowing beside.
    """

    gate: Gate
    unchanged: tuple[str, ...] = ()
    deleted: tuple[str, ...] = ()
    reports: Mapping[tuple[str, str], bytes] = field(default_factory=dict)
    notes: tuple[str, ...] = ()


def gate(
    configuration: Configuration,
    wish: Wish = Wish(),
    step: Step = silent,
    tell: Callable[[str], object] = lambda text: None,
) -> Gated:
    """Audit what a configuration asks for and is not known yet; ``tell`` hears how many models are done.

    What is wrong with one model is a result of its own.

    Raises:
        TreewardenError: the configuration does not fit the files there are, or git cannot say what changed.
    """
    models = chosen(configuration, models_of(configuration), wish.paths)
    if wish.fail_on is not None:
        models = tuple(replace(model, fail_on=wish.fail_on) for model in models)
    changes = _changes(configuration, wish)
    wanted = [model for model in models if changes is None or changes.touches(model)]
    run = _Run(configuration, wish, step, tell)
    entries = run.entries(wanted)
    kept = {model.name for model in wanted}
    fail_on = wish.fail_on or configuration.said.fail_on
    return Gated(
        gate_of(entries, fail_on, treewarden.__version__),
        tuple(model.name for model in models if model.name not in kept),
        changes.gone if changes is not None else (),
        run.reports,
        tuple(run.notes),
    )


class _Run:
    """One run: which entries are known, and the audits of all others."""

    def __init__(
        self,
        configuration: Configuration,
        wish: Wish,
        step: Step,
        tell: Callable[[str], object],
    ) -> None:
        self.configuration, self.wish, self.step, self.tell = configuration, wish, step, tell
        self.digests = Digests()
        self.cache = Cache(wish.cache) if wish.cache is not None else None
        self.reports: dict[tuple[str, str], bytes] = {}
        self.notes: list[str] = []

    def entries(self, models: Sequence[GateModel]) -> list[Entry]:
        """Return the entry of each model, in their order."""
        with self.step("looking for what changed"):
            keys = [self._key(model) for model in models]
        found: dict[int, Entry] = {}
        if self.cache is not None and not self.wish.forms:
            for number, (model, key) in enumerate(zip(models, keys, strict=True)):
                entry = self.cache.get(key, model) if key else None
                if entry is not None:
                    found[number] = entry
        if found:
            self.tell(f"{len(found)} of {len(models)} models are unchanged since an earlier gate")
        left = [number for number in range(len(models)) if number not in found]
        found |= self._audited(models, left, len(found))
        self._keep(models, keys, {number: found[number] for number in left})
        return [found[number] for number in range(len(models))]

    def _audited(
        self, models: Sequence[GateModel], numbers: Sequence[int], known: int
    ) -> dict[int, Entry]:
        orders = [self._order(models[number]) for number in numbers]
        found: dict[int, Entry] = {}
        if not orders:
            return found
        processes = self.wish.jobs or default_jobs()
        with contextlib.closing(answers(orders, processes, free(), self.step)) as done:
            for place, answer in done:
                number = numbers[place]
                found[number] = answer.entry
                name = models[number].name
                self.reports |= {(name, form): said for form, said in answer.reports.items()}
                self.tell(
                    f"{known + len(found)} of {len(models)} models: {name}: {answer.entry.outcome}"
                )
        return found

    def _order(self, model: GateModel) -> Order:
        digests = {"model": "", "table": ""}
        for name, path in (("model", model.path), ("table", model.table)):
            with contextlib.suppress(OSError, TreewardenError):  # then reading it says why
                digests[name] = self.digests.of(path) if path is not None else ""
        return Order(
            model,
            self.wish.forms,
            model_digest=digests["model"],
            table_digest=digests["table"],
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )

    def _key(self, model: GateModel) -> str:
        """Return what the result of a model is kept under; "" where a file cannot be read, which its audit will say."""
        try:
            return key_of(model, self.digests, treewarden.__version__, self.wish.today)
        except (OSError, TreewardenError):
            return ""

    def _keep(
        self, models: Sequence[GateModel], keys: Sequence[str], audited: Mapping[int, Entry]
    ) -> None:
        """Keep what was found out, unless a file changed while it was."""
        if self.cache is None:
            return
        new = {
            keys[number]: entry
            for number, entry in audited.items()
            if keys[number] and self._key(models[number]) == keys[number]
        }
        problem = self.cache.put(new) if new else ""
        if problem:
            self.notes.append(f"{self.cache.folder}: results are not kept there ({problem})")
        self.cache.forget_old()


def _changes(configuration: Configuration, wish: Wish) -> Changes | None:
    if wish.changed_since is None:
        return None
    return changes_since(configuration, wish.changed_since)
