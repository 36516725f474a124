"""Ray: each seat is an actor, a process that does one job at a time; where that dies, the next seat is another one."""

from __future__ import annotations

import contextlib
import importlib
import logging
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from audit.solver.engines import Engine, GoneError, Seat
from audit.solver.engines.carrying import carried
from audit.solver.engines.versions import check_same, versions
from audit.solver.parcel import Parcel
from ppdm_models.errors import ClusterError

AUTO = "ray://auto"
"""The cluster that this machine is part of."""
LOOK_SECONDS = 0.25
"""How often to look whether somebody still waits for an answer."""


def connect(address: str) -> Engine:
    """Connect to a cluster; one that this process is connected to already is used as it is.

    Raises:
        GoneError: none is there.
        ClusterError: Ray is not installed here, or another version than there.
    """
    try:
        ray = importlib.import_module("ray")
    except ModuleNotFoundError as error:
        problem = "Ray is not installed here; pip install 'treewarden[ray]'"
        raise ClusterError("--cluster", problem) from error
    return Ray(ray, "auto" if address == AUTO else address)


class Hand:
    """What runs on the cluster."""

    def ready(self) -> bool:
        """Return that it runs."""
        return True

    def carry(
        self, ticket: str, asked: Mapping[str, str], job: bytes, keys: Sequence[str], *common: bytes
    ) -> tuple[Any, ...]:
        """Do a job: see ``carried``."""
        return carried(ticket, asked, job, keys, *common)


class Ray:
    """A cluster, and what jobs share of what lies on it."""

    def __init__(self, ray: Any, address: str) -> None:  # noqa: ANN401  # loaded when asked for
        self.ray = ray
        self.lock = threading.Lock()
        self.common: dict[str, Any] = {}
        self.is_ours = not ray.is_initialized()
        if self.is_ours:
            self._connect(address)
        self.hand = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Hand)

    def size(self) -> int:
        try:
            return max(int(self.ray.cluster_resources().get("CPU", 1)), 1)
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            raise GoneError(f"it does not answer ({type(error).__name__})") from error

    def seat(self) -> Seat:
        return Actor(self)

    def close(self) -> None:
        self.common.clear()
        if self.is_ours:
            with contextlib.suppress(Exception):  # it may be gone
                self.ray.shutdown()

    def shared(self, parcel: Parcel) -> list[Any]:
        """Return what jobs share as it lies on the cluster, sent there once."""
        with self.lock:
            for key in self.common.keys() - parcel.common.keys():
                del self.common[key]
            for key, data in parcel.common.items():
                if key not in self.common:
                    self.common[key] = self.ray.put(data)
            return [self.common[key] for key in parcel.common]

    def _connect(self, address: str) -> None:
        try:
            self.ray.init(address, log_to_driver=False, logging_level=logging.CRITICAL)
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            said = " ".join(str(error).split())
            if "ersion mismatch" in said:
                problem = f"has other versions ({said}); install the same on both"
                raise ClusterError("the cluster", problem) from error
            raise GoneError(f"there is no Ray cluster ({type(error).__name__})") from error


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
            if self._actor is None:
                self._actor = self.engine.hand.remote()
                self._born = self._actor.ready.remote()
            self._is_ready = bool(self.ray.wait([self._born], timeout=0)[0])
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            raise GoneError(f"it does not answer ({type(error).__name__})") from error
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
        except Exception as error:  # Ray has no common class for what goes wrong underneath
            if self.is_stopped:
                return None
            raise GoneError(f"it does not answer ({type(error).__name__})") from error
        if len(found) == 2:
            check_same([found[1]])
        return found[0] if found else None

    def stop(self) -> None:
        self.is_stopped = True
        if self._actor is not None:
            with contextlib.suppress(Exception):  # whoever is gone needs no end
                self.ray.kill(self._actor)

    def _done(self, parcel: Parcel) -> tuple[Any, ...]:
        answer = self._actor.carry.remote(
            os.urandom(16).hex(),
            dict(versions()),
            parcel.job,
            list(parcel.common),
            *self.engine.shared(parcel),
        )
        while not self.ray.wait([answer], timeout=LOOK_SECONDS)[0]:
            if self.is_stopped:
                return ()
        found: tuple[Any, ...] = self.ray.get(answer)
        return found
