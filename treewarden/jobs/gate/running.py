"""Does the audits of a gate over processes: side by side where memory allows it, each alone where it does not."""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import replace

from treewarden.audit.solver.pool import WORKERS
from treewarden.audit.solver.stream import each_done
from treewarden.audit.stages import Step, silent
from treewarden.jobs.gate.memory import needed
from treewarden.jobs.gate.order import Answer, Order
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.reports.building.entry import unaudited

DIED = (
    "the process that audited it was ended from outside, three times, as the system does where memory runs out; "
    "give it more memory, or audit the model by itself"
)


def answers(
    orders: Sequence[Order], processes: int, free: int | None, step: Step = silent
) -> Generator[tuple[int, Answer], None, None]:
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
    orders: Sequence[Order], numbers: Sequence[int], processes: int
) -> Generator[tuple[int, Answer], None, None]:
    jobs = (replace(orders[number], jobs=1) for number in numbers)
    for place, found in each_done(jobs, processes, lambda: math.inf, ahead=len(numbers)):
        number = numbers[place]
        yield number, found if isinstance(found, Answer) else _unanswered(orders[number], found)


def _is_large(order: Order, processes: int, free: int | None) -> bool:
    """Return whether an audit may need more than its equal share of what is free."""
    return free is not None and needed(order.model) > free / processes


def _unanswered(order: Order, found: TreewardenError | None) -> Answer:
    problem = DIED if found is None else str(found)
    return Answer(unaudited(order.model.name, order.model.file, problem))
