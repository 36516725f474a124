"""Runs the judges of doors on drawn cases.

    python -m tests.judges.run_doors --cases 500 --seed 0

Every seed is tried as every kind (`--kinds` for some). A miss prints its kind, its seed and the claim that failed; the
exit code is 1 where there is one. The last lines count per kind.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter
from itertools import product

from tests.judges import doors
from tests.judges.doors import Judge, Trial
from tests.judges.spread import ask_where, imported, in_order
from treewarden.ppdm_models.plugins import discover

JUDGES = discover(doors, "JUDGE", Judge)


def trial(kind: str, seed: int) -> Trial:
    """Return the trial of one seed as one kind; an error that the product lets through is a miss."""
    try:
        return JUDGES[kind].judge(seed)
    except Exception as error:  # one case that ends in an error must not hide the others
        return Trial([f"{type(error).__name__}: {error}"])


def main() -> int:
    """Judge as many cases as the command line says."""
    parser = argparse.ArgumentParser(prog="python -m tests.judges.run_doors", description=__doc__)
    parser.add_argument("--cases", type=int, default=500, help="per kind")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=JUDGES, default=list(JUDGES))
    ask_where(parser)
    options = parser.parse_args()
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    began = time.perf_counter()
    counts = {kind: Counter[str]() for kind in options.kinds}
    cases = list(product(options.kinds, range(options.seed, options.seed + options.cases)))
    trials = in_order(trial, cases, options.jobs, options.cluster)
    for (kind, seed), outcome in zip(cases, trials, strict=True):
        counts[kind].update(outcome.counts)
        counts[kind].update(cases=1, misses=bool(outcome.misses))
        if outcome.misses:
            print(f"{kind}, seed {seed}: {'; '.join(outcome.misses)}", flush=True)
    for kind, counted in counts.items():
        print(
            f"{kind}: " + ", ".join(f"{number} {what}" for what, number in sorted(counted.items()))
        )
    print(f"seeds from {options.seed}; {time.perf_counter() - began:.0f} s")
    return 1 if any(counted["misses"] for counted in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(imported(__spec__).main())
