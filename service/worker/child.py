"""The process of one job: confined first, then asked, and gone when it has answered."""

from __future__ import annotations

import os
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection

from treewarden.ppdm_models.errors import TreewardenError
from treewarden.reports.building.redacted import problem_of
from treewarden.service.errors import ServiceError
from treewarden.service.worker.auditing import audited, compared, inspected_model, inspected_table
from treewarden.service.worker.orders import READ, JobAnswer, JobOrder, receive, send
from treewarden.service.worker.sandbox import ProcessLimits, confine

TOO_LITTLE = (
    "needs more memory than one audit has here; try fewer quasi-identifiers or a smaller tree"
)
SELDOM_SECONDS = 0.3
PLAIN: dict[str, Callable[[JobOrder], JobAnswer]] = {
    "inspect_model": inspected_model,
    "inspect_table": inspected_table,
    "compare": compared,
}


def run(connection: Connection, limits: ProcessLimits) -> None:
    """Do the one job that is asked over a connection, and answer there; started in a process of its own."""
    confine(limits)
    order = JobOrder.model_validate(receive(connection).said)
    answer, files = _answered(order, connection)
    send(connection, {"answer": answer.model_dump(mode="json")}, files)
    connection.close()
    os._exit(0)  # nothing is left to do, and tidying up large results takes its time


def _answered(order: JobOrder, connection: Connection) -> tuple[JobAnswer, tuple[bytes, ...]]:
    told = [0.0]

    @contextmanager
    def step(doing: str) -> Iterator[None]:
        if time.monotonic() - told[0] >= SELDOM_SECONDS:
            told[0] = time.monotonic()
            send(connection, {"stage": doing})
        yield

    try:
        if order.kind in PLAIN:
            return PLAIN[order.kind](order), ()
        return audited(order, step, lambda: send(connection, {"stage": READ}))
    except MemoryError:
        return JobAnswer(problem=TOO_LITTLE), ()
    except ServiceError as error:
        return JobAnswer(problem=str(error)), ()
    except TreewardenError as error:
        return JobAnswer(problem=problem_of(error)), ()
    except Exception as error:  # whatever a stranger's file did here, it ends with this process
        if os.environ.get("TREEWARDEN_TRACEBACK"):
            traceback.print_exc()
        return JobAnswer(problem=problem_of(error)), ()
