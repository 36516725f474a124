"""How an estimate was found, and how good it is."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class SolverReport:
    """How the estimate was found, and how good it is. Entropies in nats per record.

    ``status`` is "closed form", "optimal", "stalled" or "not run"; ``entropy_bound`` is the best proved upper bound on
    the entropy and ``bound_argument`` what proves it: "closed form", "convex", "elastic" or "relaxation";
    ``entropy_relaxed`` is the entropy without the split rows; ``max_violation`` the largest relative violation over all
    rows, re-checked outside the solver. ``is_unique`` is true where the optimum is proved to be the only one;
    ``blocks_flat`` counts the blocks where other estimates beside it are as good, ``blocks_several`` those where others
    apart from it are, ``blocks_symmetric_broken`` those where classes that no row tells apart had to differ,
    ``blocks_saddle`` those where letting them differ would raise the entropy.
    ``split_rows`` is "integer" where split rows are statements about whole records, "real" otherwise;
    ``profiles_fixed`` counts the profiles of which whole records prove everything. ``signatures`` is how many kinds of
    profiles the estimate tells apart, which is what it costs: those of a kind have a leaf in common and, where it has
    blocks, the side in each of their rows.
    """

    status: str
    entropy: float | None = None
    entropy_bound: float | None = None
    entropy_relaxed: float | None = None
    bound_argument: str = ""
    max_violation: float | None = None
    kkt_error: float | None = None
    iterations: int = 0
    seconds: float = field(default=0.0, compare=False)
    rows: int = 0
    rows_active: int = 0
    blocks: int = 0
    blocks_stalled: int = 0
    blocks_flat: int = 0
    blocks_several: int = 0
    blocks_symmetric_broken: int = 0
    blocks_saddle: int = 0
    profiles_fixed: int = 0
    signatures: int = 0
    split_rows: str = "real"
    is_convex: bool = True
    is_unique: bool = False
    door: str = "none"
    reason: str = ""
