"""Dask: each seat gives one job at a time to one worker, and takes the answer away at once.

A job is bound to the worker it was given to: Dask itself would run it again elsewhere when that dies, and so would
count deaths in a place of its own.
"""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from treewarden.audit.workers.clusters import ClusterEngine, ClusterGoneError, Seat
from treewarden.audit.workers.clusters.cluster import (
    begin,
    carried,
    check_same,
    keep_shared,
    leave,
    stop,
    versions,
)
from treewarden.audit.workers.pool import Parcel
from treewarden.ppdm_models.errors import ClusterError

Result = TypeVar("Result")

LOGGERS = ("distributed", "asyncio")
NO_ANSWER = "the Dask scheduler no longer answers"
SECURED = ("tls://", "wss://")
CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 20.0
"""How long the scheduler may take over a question before it counts as gone."""
STOP_SECONDS = 2.0
"""How long to wait until a worker has ended what nobody waits for any more."""
LOOK_SECONDS = 0.25
"""How often to look whether a job's worker still lives."""
NO_WORKER_SECONDS = 60.0
"""How long there may be no worker for a job that waits before the cluster counts as gone."""


def connect(address: str) -> ClusterEngine:
    """Connect to a scheduler, as Dask's own configuration says (TLS, time-outs).

    Raises:
        ClusterGoneError: none is there.
        ClusterError: Dask is not installed here, or a worker has other versions.
    """
    try:
        distributed = importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        problem = "Dask is not installed; run: pip install 'treewarden[dask]'"
        raise ClusterError("--cluster", problem) from error
    return Dask(distributed, address)


class Dask:
    """A scheduler, and which of its workers' threads are taken."""

    def __init__(self, distributed: Any, address: str) -> None:  # noqa: ANN401  # loaded when asked for
        names = [name for name in logging.root.manager.loggerDict if name.startswith(LOGGERS)]
        self.loud = {logging.getLogger(name): logging.getLogger(name).level for name in names}
        for each in self.loud:  # whatever goes wrong there is told here, in one line
            each.setLevel(logging.CRITICAL)
        self.settings = importlib.import_module("dask.config").set(
            {"distributed.admin.large-graph-warning-threshold": "1TB"}
        )
        self.lock = threading.Lock()
        self.taken: dict[str, int] = {}
        self.waiting = 0
        self.alone_since: float | None = None
        self.common: dict[str, Any] = {}
        self._seen: tuple[float, Mapping[str, int]] = (-1.0, {})
        try:
            if address.startswith("tls://"):
                _try_certificates(distributed, address)
            self.client = distributed.Client(
                address, timeout=CONNECT_SECONDS, set_as_default=False, name="treewarden"
            )
        except TypeError as error:  # what Dask says of TLS without certificates
            self._quiet_no_more()
            problem = (
                "certificates are missing; name them in Dask's configuration (distributed.comm.tls)"
            )
            raise ClusterError(f"--cluster {address.partition(':')[0]}://", problem) from error
        except (OSError, ValueError, TimeoutError, RuntimeError, AssertionError) as error:
            # The last is what Dask raises where its own thread does not start in ten seconds.
            self._quiet_no_more()
            or_else = ", or the certificates do not fit" if address.startswith(SECURED) else ""
            problem = f"no scheduler answers at this address{or_else}"
            raise ClusterGoneError(problem) from error
        self.client.loop.asyncio_loop.set_exception_handler(_unheard)
        try:
            self._check()
        except BaseException:
            self.close()
            raise

    def size(self) -> int:
        return max(sum(self.workers().values()), 1)

    def seat(self) -> Seat:
        return DaskSeat(self)

    def close(self) -> None:
        with contextlib.suppress(Exception):  # the scheduler may be gone
            if self.client.status == "running":  # else it would be waited for
                self.client.run(leave, callback_timeout=STOP_SECONDS)
        with contextlib.suppress(Exception):
            self.client.close(timeout=2)
        self._quiet_no_more()

    def workers(self) -> Mapping[str, int]:
        """Return how many threads each worker has that lives, as of a moment ago.

        Raises:
            ClusterGoneError: the scheduler does not say.
        """
        with self.lock:
            when, seen = self._seen
            if time.monotonic() - when > LOOK_SECONDS:
                seen = self.ask_scheduler(self.client.nthreads)
                self._seen = (time.monotonic(), seen)
            return seen

    def has_room(self) -> bool:
        """Return whether a worker has a thread for a job, beside those for jobs that wait for one.

        Raises:
            ClusterGoneError: there has been no worker for long.
        """
        seen = self._there()
        with self.lock:
            return sum(self._left(seen).values()) > self.waiting

    def taken_thread(self) -> str | None:
        """Return the worker with the most threads that no job has, one of which is taken from now on; None for none.

        Raises:
            ClusterGoneError: there has been no worker for long.
        """
        seen = self._there()
        with self.lock:
            left = self._left(seen)
            best = max(left, key=lambda worker: (left[worker], worker), default=None)
            if best is None or left[best] < 1:
                return None
            self.taken[best] = self.taken.get(best, 0) + 1
            return best

    def let_go(self, address: str) -> None:
        """Let another job have the thread of a worker."""
        with self.lock:
            self.taken[address] -= 1

    def _there(self) -> Mapping[str, int]:
        """Return how many threads each worker has, for a job that waits for one."""
        seen, now = self.workers(), time.monotonic()
        with self.lock:
            if seen:
                self.alone_since = None
            elif self.alone_since is None:
                self.alone_since = now
            elif now - self.alone_since > NO_WORKER_SECONDS:
                raise ClusterGoneError(f"it has had no worker for {NO_WORKER_SECONDS:g} s")
        return seen

    def _left(self, seen: Mapping[str, int]) -> dict[str, int]:
        return {each: max(seen[each] - self.taken.get(each, 0), 0) for each in seen}

    def shared(self, parcel: Parcel) -> list[Any]:
        """Return what jobs share as it lies on the cluster, sent once; should all die who hold it, Dask has it."""
        with self.lock:
            for key in self.common.keys() - parcel.common.keys():
                del self.common[key]
            for key, data in parcel.common.items():
                if key not in self.common:
                    name = f"treewarden-common-{key}"
                    self.common[key] = self.client.submit(keep_shared, data, key=name, pure=False)
            return [self.common[key] for key in parcel.common]

    def ask_scheduler(
        self, question: Callable[..., Result], *what: object, **how: object
    ) -> Result:
        """Return what the scheduler says.

        Raises:
            ClusterGoneError: it does not answer.
        """
        if self.client.status != "running":
            raise ClusterGoneError(NO_ANSWER)
        try:
            return question(*what, **how, callback_timeout=ANSWER_SECONDS)
        except (OSError, TimeoutError, RuntimeError, ValueError) as error:
            raise ClusterGoneError(f"{NO_ANSWER} ({type(error).__name__})") from error

    def _check(self) -> None:
        found = self.ask_scheduler(self.client.run, versions, on_error="return")
        wrong = [each for each in found.values() if isinstance(each, BaseException)]
        if wrong:
            problem = (
                f"cannot run treewarden ({wrong[0]}); install the same version on all its workers"
            )
            raise ClusterError("the cluster", problem)
        check_same(found.values())
        self.ask_scheduler(self.client.run, begin, on_error="ignore")

    def _quiet_no_more(self) -> None:
        for each, level in self.loud.items():
            each.setLevel(level)
        self.settings.__exit__(None, None, None)


def _try_certificates(distributed: Any, address: str) -> None:  # noqa: ANN401  # loaded when asked for
    """Shake hands with a scheduler before Dask does, which tries again in threads of its own until its time is over.

    Raises:
        OSError: nobody listens there, or one side does not take the other's certificate.
    """
    host, port = distributed.comm.get_address_host_port(address)
    context = distributed.security.Security().get_connection_args("client")["ssl_context"]
    if context is None:
        return  # no certificates: Dask says which are missing
    with (
        socket.create_connection((host, port), CONNECT_SECONDS) as plain,
        context.wrap_socket(plain) as secured,
        contextlib.suppress(TimeoutError),
    ):
        secured.recv(
            1
        )  # with TLS 1.3 a refused certificate is told of after the client's own handshake


def _unheard(loop: object, context: object) -> None:
    """Say nothing of what went wrong in Dask's own tasks: it would tell later of answers that dead workers had."""


class DaskSeat:
    """A turn at a thread of whichever worker is free: each job may go to another one."""

    def __init__(self, dask: Dask) -> None:
        self.dask = dask
        self.ticket, self.address = "", ""
        self.is_stopped = False

    def is_ready(self) -> bool:
        return self.dask.has_room()

    def send(self, parcel: Parcel) -> Any:  # noqa: ANN401  # what the job returns
        address = self._free_worker()
        if address is None:
            return None
        self.address, self.ticket = address, f"treewarden-{os.urandom(16).hex()}"
        try:
            return self._done(parcel, self.ticket, address)
        finally:
            self.ticket = ""
            self.dask.let_go(address)

    def stop(self) -> None:
        self.is_stopped = True
        ticket = self.ticket
        if ticket:
            with contextlib.suppress(Exception):  # whoever is gone needs no end
                how = {"workers": [self.address], "callback_timeout": STOP_SECONDS}
                self.dask.client.run(stop, ticket, **how)

    def _free_worker(self) -> str | None:
        """Return a worker, having waited for one; None once stopped."""
        with self.dask.lock:
            self.dask.waiting += 1
        try:
            while not self.is_stopped:
                address = self.dask.taken_thread()
                if address is not None:
                    return address
                time.sleep(LOOK_SECONDS)
            return None
        finally:
            with self.dask.lock:
                self.dask.waiting -= 1

    def _done(self, parcel: Parcel, ticket: str, address: str) -> Any:  # noqa: ANN401  # what the job returns
        try:
            future = self.dask.client.submit(
                carried,
                ticket,
                dict(versions()),
                parcel.job,
                list(parcel.common),
                *self.dask.shared(parcel),
                key=ticket,
                pure=False,
                workers=[address],
                allow_other_workers=False,
            )
        except (OSError, RuntimeError, ValueError) as error:
            raise ClusterGoneError(f"{NO_ANSWER} ({type(error).__name__})") from error
        try:
            return self._answer(future, address)
        finally:
            with contextlib.suppress(Exception):  # the scheduler may be gone
                if future.status == "finished":
                    future.release()  # asks less of all than the other, and waits for nobody
                else:
                    future.cancel()

    def _answer(self, future: Any, address: str) -> Any:  # noqa: ANN401  # Dask's, and what the job returns
        ended = threading.Event()
        future.add_done_callback(lambda future: ended.set())
        # Whoever is told of the end is told by a thread of Dask's; the status itself is there without it.
        while not ended.wait(LOOK_SECONDS) and future.status == "pending":
            if self.is_stopped or address not in self.dask.workers():
                return None
        if future.status == "finished":
            return self._opened(future, address)
        if self.dask.client.status != "running":
            raise ClusterGoneError(NO_ANSWER)
        if future.status != "error":
            return None
        problem = future.exception(timeout=ANSWER_SECONDS)
        if type(problem).__name__ == "KilledWorker":
            return None
        advice = "check that all workers have this version of treewarden, or leave out --cluster"
        raise ClusterError(
            "the cluster", f"cannot run a job ({type(problem).__name__}: {problem}); {advice}"
        )

    def _opened(self, future: Any, address: str) -> Any:  # noqa: ANN401  # Dask's, and what the job returns
        try:
            found = future.result(timeout=ANSWER_SECONDS)
        except Exception as error:  # it lies on its worker until it is here
            if address not in self.dask.workers():
                return None
            raise ClusterGoneError(f"an answer did not arrive ({type(error).__name__})") from error
        if len(found) == 2:
            check_same([found[1]])
        return found[0] if found else None
