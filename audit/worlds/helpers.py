"""Where portions are done: in this process, or over others where there is so much to ask that it is worth it.

Answers are taken in the order of the portions, not of their arrival, and the portions are the same wherever they are
done: so it makes no difference to what is proved and found.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial

from treewarden.audit.solver.pool import WORKERS, Pool
from treewarden.audit.solver.stream import each_done
from treewarden.audit.worlds.clock import Clock
from treewarden.audit.worlds.portions import News, Portion
from treewarden.ppdm_models.errors import TreewardenError

Answers = Generator[Callable[[], News | None], None, None]
"""For each portion in turn what returns its news when called: None where three processes died over it."""
WORTH_STARTING = 12.0
"""Work that is left of a pass (1 is a full portion) from which on others are started: it takes them about a second."""
WORTH_GIVING = 1.0
"""The same of one batch, from which on they are asked once they are there."""
GRACE_SECONDS = 0.5
"""How long answers are waited for once time is up: who is asked ends by the same clock, and says what it has."""


@dataclass(frozen=True, slots=True)
class Helpers:
    """Other processes that may be asked: ``jobs`` of them side by side (None: as many as there is room for)."""

    jobs: int | None = 1
    pool: Pool = WORKERS

    @property
    def number(self) -> int:
        """How many are asked side by side."""
        return self.pool.size() if self.jobs is None else self.jobs

    def are_worth(self, portions: Sequence[Portion], left: float) -> bool:
        """Return whether a batch is given to them; ``left`` is all work of its pass from here on.

        They are started where there is much left. Nobody waits for them: until they are ready the answer is no.
        """
        is_alone = self.jobs == 1 and not self.pool.is_elsewhere
        if is_alone or len(portions) < 2:
            return False
        if self.pool.is_elsewhere:
            return left >= WORTH_STARTING
        if left >= WORTH_STARTING and self.number > 1:
            self.pool.start_ahead(self.number)
        work = sum(portion.ask.work for portion in portions)
        return work >= WORTH_GIVING and self.pool.is_ready

    def answers(self, portions: Sequence[Portion], clock: Clock) -> Answers:
        """Do portions over other processes. Those whose news nobody asked for are waited for in the end.

        Raises:
            TreewardenError: there is nobody any more who could do them.
        """
        late = replace(clock, end=clock.end + GRACE_SECONDS)
        found: dict[int, News | TreewardenError | None] = {}
        with closing(each_done(portions, self.number, lambda: late.left, self.pool)) as coming:

            def news(number: int) -> News | None:
                while number not in found:
                    arrived = next(coming, None)
                    if arrived is None:  # time is up
                        return News()
                    found[arrived[0]] = arrived[1]
                answer = found.pop(number)
                if isinstance(answer, TreewardenError):
                    raise answer
                return answer

            for number in range(len(portions)):
                yield partial(news, number)
            for _ in coming:
                pass


def done_here(portions: Sequence[Portion], clock: Clock) -> Answers:
    """Do portions in this process, each when its news is asked for, as long as there is time."""
    for portion in portions:
        if clock.is_over:
            return
        yield portion
