"""What happens to a predicted number before it is given out (PMML 4.4, Targets)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from treewarden.ppdm_models.codecs.common.xml import Element
from treewarden.ppdm_models.codecs.pmml.values import Failure, number
from treewarden.ppdm_models.tree.tree import Node

CASTS: dict[str, Callable[[float], float]] = {
    "round": lambda value: float(math.floor(value + 0.5)),
    "ceiling": lambda value: float(math.ceil(value)),
    "floor": lambda value: float(math.floor(value)),
}


@dataclass(frozen=True, slots=True)
class Target:
    """Score times factor plus constant, kept between the ends, then made whole."""

    constant: float
    factor: float
    low: float
    high: float
    cast: str | None
    notes: tuple[str, ...]

    @property
    def is_linear(self) -> bool:
        """Whether nothing but factor and constant changes a score."""
        return self.cast is None and self.low == -math.inf and self.high == math.inf


def read_target(model: Element, fail: Failure) -> Target | None:
    """Return what the model's Targets do to its score; None where that is nothing.

    Raises:
        TreeFormatError: a number is none, or a cast is unknown.
    """
    targets = model.first("Targets")
    target = None if targets is None else targets.first("Target")
    if target is None:
        return None
    cast = target.get("castInteger")
    if cast is not None and cast not in CASTS:
        raise fail(target, f"unknown castInteger {cast!r}; have {', '.join(CASTS)}")
    found = Target(
        _number(target, "rescaleConstant", 0.0, fail),
        _number(target, "rescaleFactor", 1.0, fail),
        _number(target, "min", -math.inf, fail),
        _number(target, "max", math.inf, fail),
        cast,
        (),
    )
    if found.is_linear and found.constant == 0.0 and found.factor == 1.0:
        return None
    said = f"{fail.source}:{target.line}: the scores are the file's numbers after its Targets (rescaled or rounded)"
    return replace(found, notes=(said,))


def rescaled(node: Node, target: Target) -> Node:
    """Return a node with its score as it is given out (PMML 4.4: ends, then factor and constant, then the cast)."""
    if not isinstance(node.score, float):
        return node
    score = min(max(node.score, target.low), target.high)
    score = score * target.factor + target.constant
    if target.cast is not None and math.isfinite(score):
        score = CASTS[target.cast](score)
    return replace(node, score=score)


def _number(target: Element, name: str, default: float, fail: Failure) -> float:
    text = target.get(name)
    value = default if text is None else number(text)
    if value is None:
        raise fail(target, f"{name} is {(text or '')[:80]!r}, which is not a finite number")
    return value
