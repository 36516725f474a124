"""One run of a gate: what is known of its models from earlier runs, and the audits of all others."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime

import treewarden
from treewarden.audit.solver.pool import WORKERS, default_jobs
from treewarden.audit.stages import Step
from treewarden.jobs.gate.cache import Cache
from treewarden.jobs.gate.digests import Digests, key_of
from treewarden.jobs.gate.memory import free
from treewarden.jobs.gate.models import GateModel
from treewarden.jobs.gate.order import Answer, Order
from treewarden.jobs.gate.running import answers
from treewarden.jobs.gate.wish import Wish
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.terminal.progress import lasting

WORTH_SECONDS = 10.0
"""Less than this is not said of what is left."""


class Run:
    """Answers for models, from the cache or from audits; ``notes`` say what is worth knowing beside."""

    def __init__(self, wish: Wish, step: Step, tell: Callable[[str], object]) -> None:
        self.wish, self.step, self.tell = wish, step, tell
        self.digests = Digests()
        self.cache = Cache(wish.cache) if wish.cache is not None else None
        self.notes: list[str] = []

    def answers(self, models: Sequence[GateModel]) -> list[Answer]:
        """Return what came of each model, in their order."""
        with self.step("looking for what changed"):
            keys = [self._key(model) for model in models]
        found = self._kept(models, keys)
        if found:
            self.tell(f"{len(found)} of {len(models)} models: unchanged since an earlier gate")
        left = [number for number in range(len(models)) if number not in found]
        found |= self._audited(models, keys, left, len(found))
        if self.cache is not None:
            self.cache.forget_old()
        return [found[number] for number in range(len(models))]

    def _kept(self, models: Sequence[GateModel], keys: Sequence[str]) -> dict[int, Answer]:
        if self.cache is None or self.wish.needs_audits:
            return {}
        found = (
            None if model.is_on_server else self.cache.get(key, model)
            for key, model in zip(keys, models, strict=True)
        )
        return {number: answer for number, answer in enumerate(found) if answer is not None}

    def _audited(
        self,
        models: Sequence[GateModel],
        keys: Sequence[str],
        numbers: Sequence[int],
        known: int,
    ) -> dict[int, Answer]:
        """Return what comes of audits; each is kept at once, so that an interrupted gate need not repeat it."""
        found: dict[int, Answer] = {}
        if not numbers:
            return found
        orders = [self._order(models[number], keys[number]) for number in numbers]
        processes, begun = self.wish.jobs or default_jobs(), time.monotonic()
        memory = None if WORKERS.is_elsewhere else free()  # what a cluster has is its own matter
        with contextlib.closing(answers(orders, processes, memory, self.step)) as coming:
            for place, answer in coming:
                found[numbers[place]] = answer
                self._keep(models, keys, {numbers[place]: answer})
                done = f"{known + len(found)} of {len(models)} models"
                rest = _rest(time.monotonic() - begun, len(found), len(numbers))
                self.tell(f"{done}: {answer.entry.name}: {answer.entry.outcome}{rest}")
        return found

    def _order(self, model: GateModel, key: str) -> Order:
        digests = {"model": "", "table": ""}
        with contextlib.suppress(OSError, TreewardenError):  # then reading it says why
            digests["model"] = self.digests.of(model.path)
        with contextlib.suppress(OSError, TreewardenError):
            digests["table"] = "" if model.table is None else self.digests.of_table(model.table)
        return Order(
            model.wherever() if WORKERS.is_elsewhere else model,
            self.wish.forms,
            model_digest=digests["model"],
            table_digest=digests["table"],
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            today=self.wish.today,
            wants_baseline=self.wish.new_baseline is not None,
            rests_on=key if WORKERS.is_elsewhere else "",
            kept=self.wish.kept,
        )

    def _key(self, model: GateModel) -> str:
        """Return what the result of a model is kept under; "" where a file cannot be read, which its audit will say."""
        try:
            return key_of(model, self.digests, treewarden.__version__, self.wish.today)
        except (OSError, TreewardenError):
            return ""

    def _keep(
        self, models: Sequence[GateModel], keys: Sequence[str], audited: Mapping[int, Answer]
    ) -> None:
        """Keep what was found out, unless a file changed while it was."""
        if self.cache is None:
            return
        new = {
            keys[number]: answer
            for number, answer in audited.items()
            if keys[number]
            and not models[number].is_on_server
            and self._key(models[number]) == keys[number]
        }
        if self.wish.fresh:  # an older result must not come back
            new = {key: answer for key, answer in new.items() if self.cache.has(key)}
        problem = self.cache.put(new) if new else ""
        note = f"{self.cache.folder}: results are not kept there ({problem})"
        if problem and note not in self.notes:
            self.notes.append(note)


def _rest(seconds: float, done: int, of: int) -> str:
    """Return about how long the other audits take at this pace, where that is worth a word."""
    rest = seconds * (of - done) / done
    return f" (about {lasting(rest)} left)" if rest >= WORTH_SECONDS else ""
