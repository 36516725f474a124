"""Ray: each seat is an actor, a process that does one job at a time; where that dies, the next seat is another one."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import socket
import threading
import warnings
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from treewarden.audit.workers.clusters import ClusterEngine, ClusterGoneError, Seat
from treewarden.audit.workers.clusters.cluster import carried, check_same, versions
from treewarden.audit.workers.pool import Parcel
from treewarden.ppdm_models.errors import ClusterError

LOGGERS = ("ray", "ray.util.client.logsclient")
AUTO = "ray://auto"
"""The cluster that this machine is part of."""
CLIENT_PORT = 10001
"""Where Ray's client server listens if nobody says otherwise."""
CONNECT_SECONDS = 5.0
CONNECT_TRIES = 4
"""How often to ask a head whose server for this client does not start: Ray forks it among threads, and it may die."""
LOOK_SECONDS = 0.25
"""How often to look whether somebody still waits for an answer."""


def connect(address: str) -> ClusterEngine:
    """Connect to a cluster; one that this process is connected to already is used as it is.

    Raises:
        ClusterGoneError: none is there.
        ClusterError: Ray is not installed here, or another version than there.
    """
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        problem = "Ray is not installed; run: pip install 'treewarden[ray]'"
        raise ClusterError("--cluster", problem) from error
    return Ray(ray, "auto" if address == AUTO else address)


class Hand:
    """What runs on the cluster."""

    def ready(self) -> bool:
        """Return that it runs."""
        return True

    def carry(
        self,
        ticket: str,
        expected_versions: Mapping[str, str],
        job: bytes,
        keys: Sequence[str],
        *common: bytes,
    ) -> tuple[Any, ...]:
        """Do a job: see ``carried``."""
        return carried(ticket, expected_versions, job, keys, *common)


class Ray:
    """A cluster, and what jobs share of what lies on it."""

    def __init__(self, ray: Any, address: str) -> None:  # noqa: ANN401  # loaded when asked for
        self.ray = ray
        self.lock = threading.Lock()
        self.common: dict[str, Any] = {}
        self.loud = {each: each.level for each in map(logging.getLogger, LOGGERS)}
        self.is_ours = not ray.is_initialized()
        if self.is_ours:
            self._be_quiet()
            try:
                self._connect(address)
                self._be_quiet()  # it has set a level of its own by then
            except BaseException:
                self._quiet_no_more()
                raise
        self.hand = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Hand)

    def there(self) -> Any:  # noqa: ANN401  # loaded when asked for
        """Return Ray while it is connected: asked for anything later, it would start a cluster of its own here.

        Raises:
            ClusterGoneError: the connection is lost.
        """
        if not self.ray.is_initialized():
            raise ClusterGoneError("the connection is lost")
        return self.ray

    def size(self) -> int:
        try:
            return max(int(self.there().cluster_resources().get("CPU", 1)), 1)
        except ClusterGoneError:
            raise
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            raise ClusterGoneError(f"it does not answer ({type(error).__name__})") from error

    def seat(self) -> Seat:
        return Actor(self)

    def close(self) -> None:
        self.common.clear()
        if self.is_ours:
            with contextlib.suppress(Exception):  # it may be gone
                self.ray.shutdown()
            self._quiet_no_more()

    def shared(self, parcel: Parcel) -> list[Any]:
        """Return what jobs share as it lies on the cluster, sent there once."""
        with self.lock:
            for key in self.common.keys() - parcel.common.keys():
                del self.common[key]
            for key, data in parcel.common.items():
                if key not in self.common:
                    self.common[key] = self.there().put(data)
            return [self.common[key] for key in parcel.common]

    def _connect(self, address: str) -> None:
        if address != "auto":
            _check_answers(address)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self._init(address)
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            said = " ".join(str(error).split())
            if "ray[client]" in said:
                problem = "Ray's client is not installed; run: pip install 'treewarden[ray]'"
                raise ClusterError("--cluster", problem) from error
            if "ersion mismatch" in said:
                problem = f"versions differ ({said}); install the same on both"
                raise ClusterError("the cluster", problem) from error
            or_else = "" if address == "auto" else ", or it wants a token (RAY_AUTH_TOKEN)"
            problem = f"there is no Ray cluster{or_else} ({type(error).__name__})"
            raise ClusterGoneError(problem) from error

    def _init(self, address: str) -> None:
        for tries_left in reversed(range(CONNECT_TRIES)):
            try:
                self.ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL)
                return
            except ConnectionAbortedError:
                if not tries_left:
                    raise

    def _be_quiet(self) -> None:
        for each in self.loud:  # whatever goes wrong there is told here, in one line
            each.setLevel(logging.CRITICAL)

    def _quiet_no_more(self) -> None:
        for each, level in self.loud.items():
            each.setLevel(level)


def _check_answers(address: str) -> None:
    """Raise ClusterGoneError at once where nobody listens at an address: Ray itself would try for half a minute."""
    where = urlsplit(address)
    try:
        port = where.port or CLIENT_PORT
        socket.create_connection((where.hostname or "", port), CONNECT_SECONDS).close()
    except (OSError, ValueError) as error:
        raise ClusterGoneError(f"there is no Ray cluster ({type(error).__name__})") from error


class Actor:
    """A process on the cluster, asked for once and free for the next job when it is done with one."""

    def __init__(self, engine: Ray) -> None:
        self.engine, self.ray = engine, engine.ray
        self.is_stopped = False
        self._actor: Any = None
        self._born: Any = None
        self._is_ready = False

    def is_ready(self) -> bool:
        if self.is_stopped or self._is_ready:
            return self._is_ready
        try:
            ray = self.engine.there()
            if self._actor is None:
                self._actor = self.engine.hand.remote()
                self._born = self._actor.ready.remote()
            self._is_ready = bool(ray.wait([self._born], timeout=0)[0])
        except ClusterGoneError:
            raise
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            raise ClusterGoneError(f"it does not answer ({type(error).__name__})") from error
        return self._is_ready

    def send(self, parcel: Parcel) -> Any:  # noqa: ANN401  # what the job returns
        while not self.is_stopped and not self.is_ready():
            threading.Event().wait(LOOK_SECONDS)
        if self.is_stopped:
            return None
        try:
            found = self._done(parcel)
        except self.ray.exceptions.RayActorError:
            return None
        except self.ray.exceptions.RayTaskError as error:
            said = f"cannot run a job ({type(error.cause).__name__}: {error.cause})"
            raise ClusterError("the cluster", said) from error
        except ClusterGoneError:
            raise
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            if self.is_stopped:
                return None
            raise ClusterGoneError(f"it does not answer ({type(error).__name__})") from error
        if len(found) == 2:
            check_same([found[1]])
        return found[0] if found else None

    def stop(self) -> None:
        self.is_stopped = True
        if self._actor is not None:
            with contextlib.suppress(Exception):  # whoever is gone needs no end
                self.engine.there().kill(self._actor)

    def _done(self, parcel: Parcel) -> tuple[Any, ...]:
        shared, ray = self.engine.shared(parcel), self.engine.there()
        answer = self._actor.carry.remote(
            os.urandom(16).hex(), dict(versions()), parcel.job, list(parcel.common), *shared
        )
        while not ray.wait([answer], timeout=LOOK_SECONDS)[0]:
            if self.is_stopped:
                return ()
            ray = self.engine.there()
        found: tuple[Any, ...] = self.engine.there().get(answer)
        return found
