"""When to stop: once whoever asked knows enough, no more single questions are put.

What an audit is for is a verdict, and a verdict often hangs on the first who is certain. Proofs and worlds only ever
narrow what is open, so what was decided stays decided.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from treewarden.audit.worlds.outcome import so_far
from treewarden.audit.worlds.state import Enough, Run

DECIDED = "the policy's verdict was decided without it"


@dataclass(eq=False)
class Watch:
    """Asks whether what is known by now is enough, whenever more is known than when it was asked last."""

    run: Run
    enough: Enough
    is_over: bool = False
    seen: tuple[int, int] = field(default=(-1, -1))

    def is_enough(self) -> bool:
        """Return whether nothing that is still open is needed."""
        now = self.run.pool.size, self.run.bounds.moves
        if not self.is_over and now != self.seen:
            self.seen, self.is_over = now, self.enough(so_far(self.run))
        return self.is_over
