"""How a column is hidden: noise of a kind and a level, over the domain of its values."""

from __future__ import annotations

from dataclasses import dataclass

from treewarden.ppdm_models.errors import DomainError
from treewarden.ppdm_models.randomised.domains import LARGEST, Domain
from treewarden.ppdm_models.randomised.manifest import Hidden
from treewarden.ppdm_models.randomised.noise import Classes, Hiding, Uniform, hiding


@dataclass(frozen=True, slots=True)
class Plan:
    """How one column is hidden."""

    domain: Domain
    level: float
    confidence: float
    how: Hiding

    @property
    def hidden(self) -> Hidden:
        """What a manifest says of it."""
        own, how = self.domain, self.how
        return Hidden.model_validate(
            {
                "name": own.name,
                "noise": how.kind,
                "level": self.level,
                "confidence": self.confidence,
                "parameter": _parameter(how),
                "low": own.low,
                "high": own.high,
                "is_whole": own.is_whole,
                "values": own.values,
                "domain": own.origin,
            }
        )


def planned(domain: Domain, kind: str, level: float, confidence: float) -> Plan:
    """Return how a column is hidden by noise of a kind and a level.

    Raises:
        ValueError: there is no such kind, level or confidence.
        DomainError: the noise is larger than can be reckoned with.
    """
    how = hiding(kind, level, domain.low, domain.high, confidence)
    reach = 0.0 if isinstance(how, Classes) else how.limit
    if not reach + max(abs(domain.low), abs(domain.high)) < LARGEST:
        problem = f"column {domain.name!r}: noise of level {level:g} is larger than numbers can be"
        raise DomainError("the domain", f"{problem}; give the column in another unit")
    return Plan(domain, level, confidence, how)


def _parameter(how: Hiding) -> float:
    if isinstance(how, Uniform):
        return how.alpha
    return how.wide if isinstance(how, Classes) else how.sigma
