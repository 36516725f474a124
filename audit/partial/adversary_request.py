"""Which adversaries an audit asks about beside the one who knows every quasi-identifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from treewarden.audit.knowledge.adversaries import Adversary
    from treewarden.audit.partial.secret_column import Secret


@dataclass(frozen=True, slots=True)
class AdversaryRequest:
    """Who is asked about beside who knows all, and what they are after: the target, where ``secret`` is None."""

    everyone: tuple[Adversary, ...] = ()
    secret: Secret | None = None

    @property
    def partial(self) -> tuple[Adversary, ...]:
        """Those who are not the one that every audit asks about."""
        if self.secret is not None:
            return self.everyone
        return tuple(adversary for adversary in self.everyone if adversary.knows is not None)
