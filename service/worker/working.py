"""A worker: slots that each do one job after the other, the chores that keep a service tidy, and when it ends."""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from multiprocessing.context import ForkServerContext
from typing import Any

import structlog
from sqlalchemy import Dialect, delete, event, insert, update
from sqlalchemy.engine.interfaces import DBAPIConnection

import treewarden
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.service.database.run_tables import worker
from treewarden.service.errors import UnavailableError, new_id
from treewarden.service.site import Site
from treewarden.service.use_cases.log import anchor
from treewarden.service.use_cases.retention import sweep
from treewarden.service.worker.delivery import deliver_due
from treewarden.service.worker.leases import claim
from treewarden.service.worker.sandbox import ALL_VARIABLES, end_idle_forkserver
from treewarden.service.worker.supervising import forking, supervise

LOG = structlog.get_logger(__name__)
SWEEP_SECONDS = 60.0


def work(site: Site, slots: int, stop: threading.Event, name: str = "") -> None:
    """Do jobs until ``stop`` is set; what is not done by then is queued again."""
    name = name or f"{socket.gethostname()}:{os.getpid()}"
    event.listen(site.engine, "do_connect", _connect)
    context = forking()
    threads = [
        threading.Thread(target=_slot, args=(site, name, context, stop), name=f"slot {number}")
        for number in range(slots)
    ]
    for thread in threads:
        thread.start()
    try:
        _chores(site, name, slots, stop)
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def _connect(
    dialect: Dialect, _: object, arguments: tuple[Any, ...], parameters: dict[str, Any]
) -> DBAPIConnection:
    """Connect while this process has all its variables: a password may be among them."""
    with ALL_VARIABLES:
        return dialect.connect(*arguments, **parameters)


def _slot(site: Site, name: str, context: ForkServerContext, stop: threading.Event) -> None:
    while not stop.is_set():
        job_claim = None
        try:
            with site.unit() as unit:
                job_claim = claim(unit, name, site.settings.lease_seconds)
            if job_claim is not None:
                supervise(site, job_claim, context, stop)
        except UnavailableError as error:
            LOG.warning("waiting for the database", why=str(error))
        except (
            Exception
        ):  # one job's trouble must not end the slot: the lease runs out, and others see to it
            LOG.exception("a bug in treewarden", job=job_claim.id if job_claim else None)
        if job_claim is None:
            stop.wait(site.settings.poll_seconds)


def _chores(site: Site, name: str, slots: int, stop: threading.Event) -> None:
    """Say that the worker is alive, sweep, say where logs end, and send what webhooks are owed."""
    own, swept, looked, anchored = new_id(), 0.0, 0.0, dict[str, int]()
    _seldom(lambda: _enrol(site, own, name, slots))
    while not stop.wait(site.settings.poll_seconds):
        _seldom(lambda: _seen(site, own, name, slots))
        _seldom(lambda: deliver_due(site))
        end_idle_forkserver(site.settings.idle_seconds)
        if time.monotonic() - swept > SWEEP_SECONDS:
            swept = time.monotonic()
            looks = swept - looked >= site.vault.store.look_seconds
            looked = swept if looks else looked
            _seldom(partial(sweep, site, looks_through=looks))
            _seldom(lambda: anchor(site, anchored))
    with suppress(TreewardenError), site.unit() as unit:
        unit.connection.execute(delete(worker).where(worker.c.id == own))


def _seldom(chore: Callable[[], object]) -> None:
    try:
        chore()
    except UnavailableError as error:
        LOG.warning("waiting for the database", why=str(error))
    except Exception:  # a chore's trouble must not end the worker
        LOG.exception("a bug in treewarden")


def _enrol(site: Site, worker_id: str, name: str, slots: int) -> None:
    with site.unit() as unit:
        unit.connection.execute(
            insert(worker).values(
                id=worker_id,
                name=name,
                slots=slots,
                version=treewarden.__version__,
                started_at=unit.now,
                seen_at=unit.now,
            )
        )


def _seen(site: Site, worker_id: str, name: str, slots: int) -> None:
    with site.unit() as unit:
        found = unit.connection.execute(
            update(worker).where(worker.c.id == worker_id).values(seen_at=unit.now)
        )
    if not found.rowcount:
        _enrol(site, worker_id, name, slots)


# When a worker ends: by a signal, or with the server that started it, in whatever way that ends.

_PR_SET_PDEATHSIG = 1


def stop_at_signals() -> threading.Event:
    """Return what is set once this process is told to stop: by SIGTERM or Ctrl-C.

    A handler runs between any two steps of the main thread. One that set an event itself would wait for ever where it
    comes while the main thread holds that event's lock; so it writes a byte, and a thread that reads it does the rest.
    """
    stop = threading.Event()
    heard, told = os.pipe()
    os.set_blocking(told, False)

    def tell(*_: object) -> None:
        with suppress(BlockingIOError):  # told often enough
            os.write(told, b".")

    def listen() -> None:
        os.read(heard, 1)
        stop.set()

    threading.Thread(target=listen, name="signals", daemon=True).start()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, tell)
    return stop


def follow(parent: int) -> bool:
    """Have this process told to stop when its parent is gone; return whether the parent is still there.

    The kernel tells it (on Linux), so that it holds for a parent that was killed too.
    """
    if sys.platform == "linux":
        library = ctypes.CDLL(None, use_errno=True)
        library.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    return os.getppid() == parent
