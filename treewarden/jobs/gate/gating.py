"""One run of a gate over all models of a configuration, start to end: the command line and Python both call it.

It is also looked at whether the configuration covers every model file of its folder: a gate that passes has looked at
all of them.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import time
import tomllib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import treewarden
from treewarden.audit.progress import Step, silent
from treewarden.audit.workers.pool import WORKERS, default_jobs
from treewarden.audit.workers.processes import each_done
from treewarden.jobs.gate.changed import ChangedFiles, Digests, changes_since, key_of
from treewarden.jobs.gate.config import Configuration, ConfigurationError, resolved
from treewarden.jobs.gate.gate_job import Cache, GateAnswer, GateJob, Wish
from treewarden.jobs.gate.model_files import (
    MOST_FILES,
    CandidateFile,
    Identity,
    TooManyFilesError,
    identity,
    matches_pattern,
    model_files,
)
from treewarden.jobs.gate.models import GateModel, chosen, models_of
from treewarden.policies.verdict import SEVERITIES
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.tables.counting.addresses import parted
from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.document.gate import Entry, Gate
from treewarden.terminal.progress import lasting

PLACE = "treewarden.jobs.gate.extra_entries"
"""Loaded where there is something to ask the formats about."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """What of a folder no entry covers: files that may be models, and whether all files were looked at."""

    files: tuple[CandidateFile, ...] = ()
    is_complete: bool = True

    def entries(self, configuration: str) -> tuple[Entry, ...]:
        """Return an entry for each file that is a model, and one where not all files were looked at."""
        if not self.files and self.is_complete:
            return ()
        uncovered = importlib.import_module(PLACE)
        entries: tuple[Entry, ...] = uncovered.entries_of(
            uncovered.uncovered_models(self.files), configuration
        )
        if self.is_complete:
            return entries
        return (*entries, uncovered.not_all_looked_at(configuration, MOST_FILES))


def coverage_of(
    configuration: Configuration,
    models: Sequence[GateModel],
    paths: Sequence[Path] = (),
    changes: ChangedFiles | None = None,
) -> Coverage:
    """Return what no entry covers; only below ``paths``, and only what changed, where these are given."""
    wanted = [resolved(path) for path in paths]
    if wanted and not any(path.is_dir() for path in wanted):
        return Coverage()
    files: list[CandidateFile] = []
    is_complete = True
    try:
        files.extend(
            model_files(
                configuration.root,
                covered_files(configuration, models),
                lambda file: is_ignored(configuration, file),
            )
        )
    except TooManyFilesError:
        is_complete = False
    return Coverage(
        tuple(
            candidate
            for candidate in files
            if (not wanted or _is_below(candidate.path, wanted))
            and (changes is None or changes.has_changed(candidate.path))
        ),
        is_complete,
    )


def is_ignored(configuration: Configuration, file: str) -> bool:
    """Return whether the configuration says that a file, or a folder that it is in, is no model to audit."""
    return any(matches_pattern(file, pattern) for pattern in configuration.said.ignore)


def covered_files(configuration: Configuration, models: Sequence[GateModel]) -> set[Identity]:
    """Return the identities of all files that a configuration names, and of itself."""
    named = (path for model in models for path in model.inputs)
    return {identity(path) for path in (configuration.path, *named)}


def _is_below(path: Path, folders: Sequence[Path]) -> bool:
    here = resolved(path)
    return any(folder in (here, *here.parents) for folder in folders)


# Unused waivers: which files hold one that no model of a gate needed, known from numbers before anything is loaded.

Held = tuple[GateModel, GateAnswer]


def left_over(answers: Sequence[Held]) -> Iterator[tuple[Path, tuple[Held, ...]]]:
    """Yield each file of waivers with the models that it is held against, where none needed all of it.

    Where one of these models has no audit, its waivers may be what is left: then nothing is told.
    """
    files: dict[Path, list[Held]] = {}
    for model, answer in answers:
        if model.waivers is not None:
            files.setdefault(model.waivers, []).append((model, answer))
    for path, answers_held in files.items():
        if any(answer.entry.outcome == "NO AUDIT" for _, answer in answers_held):
            continue
        known = {
            number
            for _, gate_answer in answers_held
            for number in (*gate_answer.needed, *gate_answer.told)
        }
        if len(known) < _number(path):
            yield path, tuple(answers_held)


def _number(path: Path) -> int:
    try:
        said = tomllib.loads(path.read_text("utf-8-sig")).get("waiver", [])
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError):
        return 0  # what cannot be read is no reason of its own: no audit went through with it
    return len(said) if isinstance(said, list) else 0


# How much memory an audit may take, roughly: enough to decide which audits may run side by side.
#
# An audit is taken to need 400 MB, 60 times its table as CSV (200 times as Parquet or Arrow, which are packed, and 600
# times as a packed CSV) and 60 times its model's file; workbooks and SPSS's files are packed too. What is free is what
# the machine says, or the limit of its container where that is less.

BASE_BYTES = 400 * 2**20
PER_TABLE_BYTE = {
    **dict.fromkeys((".parquet", ".pq", ".arrow", ".feather", ".xlsx", ".xlsm", ".sav"), 200),
    **dict.fromkeys((".gz", ".zst", ".zsav"), 600),
}
PER_OTHER_TABLE_BYTE = 60
PER_MODEL_BYTE = 60
MEMINFO = Path("/proc/meminfo")
CGROUP = Path("/sys/fs/cgroup")


def needed(model: GateModel) -> int:
    """Return the bytes that an audit is taken to need."""
    table = parted(model.table)[0] if isinstance(model.table, Path) else None
    rate = PER_OTHER_TABLE_BYTE
    if table is not None:
        rate = PER_TABLE_BYTE.get(table.suffix.lower(), PER_OTHER_TABLE_BYTE)
    return BASE_BYTES + rate * _size(table) + PER_MODEL_BYTE * _size(model.path)


def free(meminfo: Path = MEMINFO, cgroup: Path = CGROUP) -> int | None:
    """Return the bytes that are free, None where this machine does not say."""
    found = [each for each in (_available(meminfo), _allowed(cgroup)) if each is not None]
    return min(found, default=None)


def _size(path: Path | None) -> int:
    if path is None:
        return 0
    with contextlib.suppress(OSError):
        if path.is_dir():
            return sum(each.stat().st_size for each in path.rglob("*") if each.is_file())
        return path.stat().st_size
    return 0


def _available(meminfo: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        for line in meminfo.read_text("ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def _allowed(cgroup: Path) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        most = int((cgroup / "memory.max").read_text("ascii"))
        return max(most - int((cgroup / "memory.current").read_text("ascii")), 0)
    return None


# The audits of a gate over processes: side by side where memory allows it, one by one where it does not.

DIED = (
    "the process that audited the model was ended three times, probably for lack of memory; give it more memory, or "
    "audit this model alone"
)


def answers(
    orders: Sequence[GateJob], processes: int, free: int | None, step: Step = silent
) -> Generator[tuple[int, GateAnswer], None, None]:
    """Yield each order's number with its answer, as they are done.

    One audit that fits into memory is done in this process, over all processors. Else each has a process: those side
    by side that together need no more than is ``free``, then the others one at a time. Whoever stops listening, or
    is interrupted, ends all processes.
    """
    large = [number for number, order in enumerate(orders) if _is_large(order, processes, free)]
    if len(orders) == 1 and not large:
        yield 0, replace(orders[0], jobs=processes)(step)
        return
    beside = [number for number in range(len(orders)) if number not in large]
    yield from _over(orders, beside, min(processes, len(beside)))
    if large:
        WORKERS.stop()  # what those hold of memory is needed now
        yield from _over(orders, large, 1)


def _over(
    orders: Sequence[GateJob], numbers: Sequence[int], processes: int
) -> Generator[tuple[int, GateAnswer], None, None]:
    jobs = (replace(orders[number], jobs=1) for number in numbers)
    for place, found in each_done(jobs, processes, lambda: math.inf, ahead=len(numbers)):
        number = numbers[place]
        yield number, found if isinstance(found, GateAnswer) else _unanswered(orders[number], found)


def _is_large(order: GateJob, processes: int, free: int | None) -> bool:
    """Return whether an audit may need more than its equal share of what is free."""
    return free is not None and needed(order.model) > free / processes


def _unanswered(order: GateJob, treewarden_error: TreewardenError | None) -> GateAnswer:
    problem = DIED if treewarden_error is None else str(treewarden_error)
    return GateAnswer(unaudited(order.model.name, order.model.file, problem))


# One run of a gate: what is known of its models from earlier runs, and the audits of all others.

WORTH_SECONDS = 10.0
"""Less than this is not said of what is left."""


class GateRun:
    """Answers for models, from the cache or from audits; ``notes`` say what is worth knowing beside."""

    def __init__(self, wish: Wish, step: Step, tell: Callable[[str], object]) -> None:
        self.wish, self.step, self.tell = wish, step, tell
        self.digests = Digests()
        self.cache = Cache(wish.cache) if wish.cache is not None else None
        self.notes: list[str] = []

    def answers(self, models: Sequence[GateModel]) -> list[GateAnswer]:
        """Return what came of each model, in their order."""
        with self.step("looking for what changed"):
            keys = [self._key(model) for model in models]
        gate_answers = self._cached_answers(models, keys)
        if gate_answers:
            self.tell(
                f"{len(gate_answers)} of {len(models)} models: unchanged since an earlier run"
            )
        left = [number for number in range(len(models)) if number not in gate_answers]
        gate_answers |= self._audited(models, keys, left, len(gate_answers))
        if self.cache is not None:
            self.cache.forget_old()
        return [gate_answers[number] for number in range(len(models))]

    def _cached_answers(
        self, models: Sequence[GateModel], keys: Sequence[str]
    ) -> dict[int, GateAnswer]:
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
        cached: int,
    ) -> dict[int, GateAnswer]:
        """Return what comes of audits; each is kept at once, so that an interrupted gate need not repeat it."""
        gate_answers: dict[int, GateAnswer] = {}
        if not numbers:
            return gate_answers
        orders = [self._order(models[number], keys[number]) for number in numbers]
        processes, begun = self.wish.jobs or default_jobs(), time.monotonic()
        memory = None if WORKERS.is_elsewhere else free()  # what a cluster has is its own matter
        with contextlib.closing(answers(orders, processes, memory, self.step)) as coming:
            for place, answer in coming:
                gate_answers[numbers[place]] = answer
                self._keep(models, keys, {numbers[place]: answer})
                done = f"{cached + len(gate_answers)} of {len(models)} models"
                rest = _remaining_time(time.monotonic() - begun, len(gate_answers), len(numbers))
                self.tell(f"{done}: {answer.entry.name}: {answer.entry.outcome}{rest}")
        return gate_answers

    def _order(self, model: GateModel, key: str) -> GateJob:
        digests = {"model": "", "table": ""}
        with contextlib.suppress(OSError, TreewardenError):  # then reading it says why
            digests["model"] = self.digests.digest_of(model.path)
        with contextlib.suppress(OSError, TreewardenError):
            digests["table"] = "" if model.table is None else self.digests.of_table(model.table)
        return GateJob(
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
        self, models: Sequence[GateModel], keys: Sequence[str], audited: Mapping[int, GateAnswer]
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
        note = f"{self.cache.folder}: results are not stored there ({problem})"
        if problem and note not in self.notes:
            self.notes.append(note)


def _remaining_time(seconds: float, done: int, number: int) -> str:
    """Return about how long the other audits take at this pace, where that is worth a word."""
    rest = seconds * (number - done) / done
    return f" (about {lasting(rest)} left)" if rest >= WORTH_SECONDS else ""


UNNEEDED = "treewarden.jobs.gate.extra_entries"
BASELINES = "treewarden.policies.exceptions.baseline"
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
        problem = "there is no such file; to write one, add --write-baseline FILE to the gate"
        raise ConfigurationError(str(wish.baseline), problem)
    for each in (*wish.attestations, *wish.trust):
        if not each.is_file():
            raise ConfigurationError(str(each), "there is no such file; see docs/attest.md")
    configured = models_of(configuration, wish.new_baseline)
    models = chosen(configuration, configured, wish.paths)
    since = wish.changed_since
    changes = None if since is None else changes_since(configuration, since)
    gate_models = [
        wish.applied(gate_model)
        for gate_model in models
        if changes is None or changes.touches(gate_model)
    ]
    run = GateRun(wish, step, tell)
    held = list(zip(gate_models, run.answers(gate_models), strict=True))
    entries = [answer.entry for _, answer in held]
    if wish.is_of_all:
        entries += _of_waivers(configuration, wish, held)
    with step("looking for models that are not configured"):
        coverage = coverage_of(configuration, configured, wish.paths, changes)
        entries += coverage.entries(configuration.path.name)
    names = {model.name for model in gate_models}
    # One severity has to stand for all: with the mildest, no form hides what stops a model.
    mildest = [model.fail_on for model in gate_models] or [configuration.said.fail_on]
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


def _of_waivers(
    configuration: Configuration, wish: Wish, answers: Sequence[Held]
) -> Iterator[Entry]:
    """Yield what is wrong with waivers that none of the models needed; only all models together can tell."""
    for path, those in left_over(answers):
        entry = importlib.import_module(UNNEEDED).entry_of_waivers(
            path, _display_name(configuration, path), those, wish.today
        )
        if entry is not None:
            yield entry


def _display_name(configuration: Configuration, path: Path) -> str:
    is_inside = path.is_relative_to(configuration.root)
    return (path.relative_to(configuration.root) if is_inside else path).as_posix()


def _baseline(answers: Sequence[Held]) -> bytes:
    found = {
        model.name: answer.baseline for model, answer in answers if answer.baseline is not None
    }
    data: bytes = importlib.import_module(BASELINES).write_baseline(found)
    return data


def _left_out(wish: Wish, answers: Sequence[Held]) -> Iterator[str]:
    if wish.new_baseline is not None:
        for model, answer in answers:
            if answer.baseline is None:
                yield f"{model.name} has no audit, so it is not in the baseline"
