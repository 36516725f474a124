"""Clusters that jobs can be done on: each file is one engine, loaded only when a cluster of its kind is asked for.

On a cluster's worker a process of this program does each job, as on this machine: see ``cluster``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from treewarden.audit.workers.pool import Parcel


class ClusterGoneError(Exception):
    """The cluster is not there, or not any more; the text says what is known of it, and names no address."""


class Seat(Protocol):
    """A place on a cluster where one job after the other is done."""

    def is_ready(self) -> bool:
        """Return whether it has a worker for a job.

        Raises:
            ClusterGoneError: there is no cluster any more.
        """

    def send(self, parcel: Parcel) -> Any:  # noqa: ANN401  # what the job returns
        """Return what a job returns or the error that it raises, or None where its worker died, or it was stopped.

        Raises:
            ClusterGoneError: there is no cluster any more; nothing is said of the job.
            ClusterError: the worker has other versions than this process.
        """

    def stop(self) -> None:
        """End the job that runs there, and let the place go."""


class ClusterEngine(Protocol):
    """A cluster that this process is connected to."""

    def size(self) -> int:
        """Return the number of jobs that can run side by side now.

        Raises:
            ClusterGoneError: there is no cluster any more.
        """

    def seat(self) -> Seat:
        """Return a place on it, before it is known whether a worker is free."""

    def close(self) -> None:
        """Leave the cluster as it was."""


Connect = Callable[[str], ClusterEngine]
"""Connects to the cluster at an address; raises ClusterGoneError where none is there, ClusterError where it fails."""
