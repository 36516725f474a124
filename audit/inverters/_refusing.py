"""Says why leaf values of other losses than those of classes are not turned back into numbers of people."""

from __future__ import annotations

from treewarden.audit.reading import Undetermined

FAMILIES: tuple[tuple[tuple[str, ...], str], ...] = (
    (
        ("rank", "pairlogit", "query", "lambda_mart", "lambdamart", "stochastic"),
        "it ranks records within groups, so that what a record adds to a leaf hangs on other records",
    ),
    (
        ("poisson", "tweedie", "gamma"),
        "its targets are amounts, and sums of amounts are no numbers of people",
    ),
    (("cox", "aft", "survival"), "its targets are times until an event, some of them cut off"),
    (
        ("quantile", "absolute", "l1", "mae", "mape", "median"),
        "its leaves hold quantiles of residuals, not sums over their records",
    ),
    (
        ("hinge", "focal", "exponential"),
        "what a record adds to a leaf is not its label less a probability",
    ),
    (
        ("custom", "python", "userper", "userquery", "none"),
        "the loss was one of its grower's own, and what it adds to a leaf is not known",
    ),
    (
        ("entropy", "xentropy"),
        "its labels may be shares of a class, which are no numbers of people",
    ),
)
"""Parts of the names of losses, in small letters, and why they are not turned back; the first that fits is said."""


def not_turned_back(kind: str, name: str) -> Undetermined:
    """Return that leaf values of a loss (by the library's own word for it) are not turned back, and why."""
    if not name:
        return Undetermined(f"the file names no {kind}: it may have been one of its grower's own")
    lowered = name.lower()
    why = next((why for parts, why in FAMILIES if any(part in lowered for part in parts)), "")
    said = f"leaf values of the {kind} {name!r} are not turned back"
    return Undetermined(f"{said}: {why}" if why else said)
