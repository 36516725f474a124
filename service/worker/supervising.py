"""One job in the hands of a worker: files fetched, process started, lease kept, answer or end committed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext, ForkServerProcess
from typing import TypeVar

import structlog
from pydantic import ValidationError
from sqlalchemy.exc import DBAPIError

from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.errors import UnavailableError
from treewarden.service.site import Site
from treewarden.service.use_cases.jobs import add_event
from treewarden.service.vault.vault import Vault
from treewarden.service.worker.leases import (
    MOST_ATTEMPTS,
    MOST_FAILURES,
    JobClaim,
    Lease,
    give_back,
    order_of,
    renew,
)
from treewarden.service.worker.orders import (
    READ,
    Frame,
    FrameError,
    FurtherFiles,
    Incoming,
    JobAnswer,
    JobOrder,
    SealedFile,
    send,
)
from treewarden.service.worker.sandbox import (
    AUDITING,
    ProcessLimits,
    job_in_hand,
    run_job,
    start_process,
)
from treewarden.service.worker.store_results import commit, finish, say_cancelled, store

# Brings the sealed files that an order names to this machine, for its process, which reaches no network.

FILES = ("model", "other", "table", "further")
"""The fields of an order that may be files of the vault."""


@contextmanager
def fetched(vault: Vault, order: JobOrder, progress: Callable[[], None]) -> Iterator[JobOrder]:
    """Give an order that says where the files are; copies are removed afterwards, and were never unsealed.

    ``progress`` is called again and again meanwhile; what it raises ends it.

    Raises:
        NotFoundError: a file was erased.
        UnavailableError: a file cannot be read just now.
    """
    with ExitStack() as copies:

        def placed(file: object) -> object:
            if isinstance(file, tuple):
                return tuple(map(placed, file))
            if isinstance(file, FurtherFiles):
                return file.model_copy(update={name: placed(kept) for name, kept in file})
            if not isinstance(file, SealedFile):
                return file
            copy = vault.sealed_file(file.blob_id, file.digest, progress)
            return file.model_copy(update={"place": str(copies.enter_context(copy))})

        places = {field: placed(getattr(order, field)) for field in FILES}
        yield order.model_copy(update=places)


LOG = structlog.get_logger(__name__)
PRELOADED = (
    AUDITING,
    "treewarden.audit.ipopt.solver_backends",
    "ortools.sat.python.cp_model",
    "treewarden.reports.figures.plots",
    "treewarden.reports.renderers.html",
    "treewarden.ppdm_models.formats.pmml.pmml",
    "sklearn.tree",
)
"""What audits need: loaded once, and before a process may no longer write. What is not installed is left out."""
DIED = "its process was ended twice, as happens when memory runs out; {}"
ADVICE = "give it more memory, or try fewer quasi-identifiers or a smaller tree"
WORE_OUT = "its worker stopped responding {} times; see the workers' logs"
TOO_LONG = (
    "took longer than the limit of {:,} seconds; try a smaller budget or fewer quasi-identifiers"
)
TOO_LONG_TO_READ = (
    "reading took longer than the limit of {:,} seconds; give a smaller file, give the "
    "table as CSV or Parquet, or ask the administrator to raise TREEWARDEN_READ_SECONDS"
)
NOT_TAKEN = (
    "its result cannot be stored; see the workers' logs, and check whether the "
    "model contains unusual characters"
)
RETRY_SECONDS = 1.0
Written = TypeVar("Written")


@dataclass(frozen=True, slots=True)
class ProcessEnd:
    """How the process of a job ended: with an answer, or ``why`` without one; ``is_lost`` where the lease is gone.

    ``is_failure``: whether that counts against the job, as it does not where its worker was stopped.
    """

    answer: JobAnswer | None = None
    files: tuple[bytes, ...] = ()
    why: str = ""
    is_cancelled: bool = False
    is_lost: bool = False
    is_final: bool = False
    is_failure: bool = True


class _EndedError(Exception):
    """A job ended before its process began."""

    def __init__(self, ended: ProcessEnd) -> None:
        super().__init__(ended.why)
        self.ended = ended


class _LeaseKeeper:
    """Renews the lease of a job where it is time for it, and tells when the job is not to go on."""

    def __init__(self, site: Site, claim: JobClaim, stop: threading.Event) -> None:
        self._site, self._of, self._stop = site, claim, stop
        self._beaten = time.monotonic()
        self._lease_ends = self._beaten + site.settings.lease_seconds

    def ended(self) -> ProcessEnd | None:
        """Return why the job is not to go on, None where it is."""
        settings, now = self._site.settings, time.monotonic()
        if self._stop.is_set():
            return ProcessEnd(why="its worker was stopped", is_failure=False)
        if now - self._beaten < min(settings.heartbeat_seconds, settings.poll_seconds):
            return None
        self._beaten = now
        try:
            with self._site.unit() as unit:
                lease = renew(unit, self._of, settings.lease_seconds)
        except UnavailableError:
            return ProcessEnd(is_lost=True) if now > self._lease_ends else None
        self._lease_ends = now + settings.lease_seconds
        if lease is Lease.KEPT:
            return None
        return ProcessEnd(is_lost=lease is Lease.LOST, is_cancelled=lease is Lease.CANCELLED)

    def check(self) -> None:
        """Check that the job is to go on.

        Raises:
            _EndedError: it is not.
        """
        process_end = self.ended()
        if process_end is not None:
            raise _EndedError(process_end)


def forking() -> ForkServerContext:
    """Return what starts processes: from one that has loaded everything, so that each begins at once.

    That one begins with the first job, with no secret in its environment, and is ended where there is none for long.
    It ends with this process, whichever way that ends, and all that it started end with it.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    return context


def supervise(
    site: Site, job_claim: JobClaim, context: ForkServerContext, stop: threading.Event
) -> None:
    """See a claimed job to its end, through lost connections to the database; the fence decides what counts.

    Where ``stop`` is set, the process is ended and the job queued again for another worker.
    """
    if job_claim.attempt > MOST_ATTEMPTS:
        _end(site, job_claim, "error", WORE_OUT.format(MOST_ATTEMPTS), stop)
        return
    try:
        ended = _done(site, job_claim, context, stop)
    except _EndedError as error:
        ended = error.ended
    except TreewardenError as error:
        is_away = isinstance(error, UnavailableError)
        ended = ProcessEnd(why=str(error), is_final=not is_away, is_failure=not is_away)
    if ended.is_lost:
        LOG.warning("lease lost", job=job_claim.id, attempt=job_claim.attempt)
        return
    if ended.answer is not None:
        _keep(site, job_claim, ended.answer, ended.files, stop)
    elif ended.is_cancelled:
        _end(site, job_claim, "cancelled", "", stop)
    elif ended.is_final:
        _end(site, job_claim, "error", ended.why, stop)
    elif ended.is_failure and job_claim.failures + 1 >= MOST_FAILURES:
        _end(site, job_claim, "error", DIED.format(ADVICE), stop)
    else:
        _insist(lambda: _give_back(site, job_claim, ended), stop)


def _keep(
    site: Site,
    job_claim: JobClaim,
    answer: JobAnswer,
    files: tuple[bytes, ...],
    stop: threading.Event,
) -> None:
    """Commit an answer; one that the database refuses, as a stranger's file led to it, is a problem instead."""
    try:
        kept = _insist(lambda: store(site, answer, files), stop)
        if kept is None:
            return
        is_kept = _insist(lambda: commit(site, job_claim, answer, kept), stop)
    except (ValidationError, DBAPIError) as error:
        LOG.warning("answer refused", job=job_claim.id, why=type(error).__name__)
        _end(site, job_claim, "error", NOT_TAKEN, stop)
        return
    if is_kept is False and _is_cancelled(site, job_claim, stop):
        _end(site, job_claim, "cancelled", "", stop)
        return
    LOG.info(
        "job done" if is_kept else "result fenced off", job=job_claim.id, attempt=job_claim.attempt
    )


def _done(
    site: Site, job_claim: JobClaim, context: ForkServerContext, stop: threading.Event
) -> ProcessEnd:
    with site.reading() as unit:
        order = order_of(unit, job_claim)
    lease = _LeaseKeeper(site, job_claim, stop)
    with fetched(site.vault, order, lease.check) as order_here, job_in_hand(lease.check):
        return _done_here(site, job_claim, order_here, context, lease)


def _done_here(
    site: Site,
    job_claim: JobClaim,
    order: JobOrder,
    context: ForkServerContext,
    lease: _LeaseKeeper,
) -> ProcessEnd:
    settings = site.settings
    ours, theirs = context.Pipe()
    limits = ProcessLimits(settings.child_memory, settings.child_seconds)
    process = context.Process(target=run_job, args=(theirs, limits), daemon=True)
    start_process(process)
    theirs.close()
    try:
        with suppress(OSError):  # a process that is gone already says so below
            send(ours, order.model_dump(mode="json"))
        return _watched(site, job_claim, process, ours, lease)
    finally:
        _stop(process)
        ours.close()


def _watched(
    site: Site,
    job_claim: JobClaim,
    process: ForkServerProcess,
    connection: Connection,
    lease: _LeaseKeeper,
) -> ProcessEnd:
    settings = site.settings
    begun = time.monotonic()
    incoming, is_read = Incoming(connection), False
    while True:
        lost = lease.ended()
        if lost is not None:
            return lost
        seconds = time.monotonic() - begun
        if seconds > settings.child_seconds:
            return ProcessEnd(why=TOO_LONG.format(settings.child_seconds), is_final=True)
        if not is_read and seconds > settings.read_seconds:
            return ProcessEnd(why=TOO_LONG_TO_READ.format(settings.read_seconds), is_final=True)
        try:
            frame = incoming.heard(min(0.2, settings.poll_seconds))
        except (EOFError, OSError):
            process.join(1.0)
            return ProcessEnd(why=f"its process ended ({_how(process.exitcode)})")
        except FrameError as error:
            return ProcessEnd(why=f"its process gave an invalid answer ({error})")
        is_read = is_read or (frame is not None and frame.said.get("stage") == READ)
        process_end = None if frame is None else _heard(site, job_claim, frame)
        if process_end is not None:
            return process_end


def _heard(site: Site, job_claim: JobClaim, frame: Frame) -> ProcessEnd | None:
    """Return the end that a frame tells of; a stage is written down."""
    stage = frame.said.get("stage")
    if isinstance(stage, str):
        with suppress(UnavailableError), site.unit() as unit:  # progress is not worth an audit
            if renew(unit, job_claim, site.settings.lease_seconds) is Lease.KEPT:
                add_event(unit, job_claim.id, job_claim.attempt, "stage", stage)
        return None
    try:
        answer = JobAnswer.model_validate(frame.said.get("answer"))
    except ValidationError:
        return ProcessEnd(why="its process gave an invalid answer")
    if len(answer.kept) != len(frame.files):
        return ProcessEnd(why="its process gave an invalid answer")
    return ProcessEnd(answer, frame.files)


def _end(site: Site, job_claim: JobClaim, state: str, problem: str, stop: threading.Event) -> None:
    """End a job without a result: cancelled, or with an error."""
    if state == "error":
        _insist(lambda: commit(site, job_claim, JobAnswer(problem=problem), ()), stop)
    else:
        _insist(
            lambda: finish(
                site, job_claim, state, problem, lambda unit: say_cancelled(unit, job_claim)
            ),
            stop,
        )


def _is_cancelled(site: Site, job_claim: JobClaim, stop: threading.Event) -> bool:
    def renewed() -> Lease:
        with site.unit() as unit:
            return renew(unit, job_claim, site.settings.lease_seconds)

    return _insist(renewed, stop) is Lease.CANCELLED


def _give_back(site: Site, job_claim: JobClaim, ended: ProcessEnd) -> bool:
    with site.unit() as unit:
        return give_back(unit, job_claim, ended.why, is_failure=ended.is_failure)


def _insist(write: Callable[[], Written], stop: threading.Event) -> Written | None:
    """Write until the database takes it; the lease may be lost meanwhile, and then the fence says no."""
    while True:
        try:
            return write()
        except UnavailableError as error:
            LOG.warning("cannot write", why=str(error))
            if stop.wait(RETRY_SECONDS):
                return None


def _stop(process: ForkServerProcess) -> None:
    if process.pid is not None and process.exitcode is None:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGKILL)
    process.join()


def _how(code: int | None) -> str:
    if code is not None and code < 0:
        return signal.Signals(-code).name
    return f"exit code {code}"
