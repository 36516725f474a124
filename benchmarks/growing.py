"""How long trees from noisy records take, beside scikit-learn growing a tree on the true ones in the same run.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python -m benchmarks.growing [--rounds 5] [--records 100000]

For each function of Agrawal & Srikant (2000) and each noise at a level of 100 %: the time of scikit-learn's
DecisionTreeClassifier with its defaults on the nine true attributes ("original"), and each method's time as a multiple
of it. Times are processor seconds; given are the least and the median of the rounds' ratios. The last line adds up the
medians of all functions, so that a tree of three leaves does not count as much as one of hundreds. Needs scikit-learn.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.machine import machine
from treewarden.ppdm_models.methods.randomised.generating import ATTRIBUTES, people
from treewarden.ppdm_models.methods.randomised.learning import Method, Noisy, learn
from treewarden.ppdm_models.methods.randomised.noise import Gaussian, Hiding, Uniform, hiding, noisy

FUNCTIONS = (1, 2, 3, 4, 5)
NOISES = (Gaussian.kind, Uniform.kind)
LEVEL = 1.0
ORIGINAL = "original"


def seconds(work: Callable[[], object]) -> float:
    """Return the processor time of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


def timed(function: int, noise: str, records: int, rounds: int) -> dict[str, list[float]]:
    """Return the seconds of each round, by method and of the original."""
    random = np.random.default_rng(function)
    made = people(records, function, random)
    true = np.stack([made.columns[each.name] for each in ATTRIBUTES], axis=1)
    noises: dict[str, Hiding | None] = {}
    columns = {}
    for each in ATTRIBUTES:
        own = hiding(noise, LEVEL, each.low, each.high)
        noises[each.name] = own
        columns[each.name] = noisy(made.columns[each.name], own, random)
    given = Noisy(ATTRIBUTES, columns, noises, made.in_group_a.astype(np.int64), 2)
    found: dict[str, list[float]] = {ORIGINAL: [], **{str(method): [] for method in Method}}
    for _ in range(rounds):
        original = DecisionTreeClassifier(random_state=0)
        found[ORIGINAL].append(seconds(lambda: original.fit(true, made.in_group_a)))  # noqa: B023  # called at once
        for method in Method:
            found[str(method)].append(seconds(lambda: learn(given, method)))  # noqa: B023  # called at once
    return found


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--records", type=int, default=100_000)
    asked = parser.parse_args()
    print(machine())
    print("| function | noise | original, s | " + " | ".join(f"{m}, times" for m in Method) + " |")
    print("|---|---|---|" + "---|" * len(Method))
    totals = dict.fromkeys([ORIGINAL, *map(str, Method)], 0.0)
    for noise in NOISES:
        for function in FUNCTIONS:
            found = timed(function, noise, asked.records, asked.rounds)
            cells = [f"{statistics.median(found[ORIGINAL]):.2f}"]
            for method in Method:
                pairs = zip(found[str(method)], found[ORIGINAL], strict=True)
                ratios = [own / original for own, original in pairs]
                cells.append(f"{min(ratios):.1f} / {statistics.median(ratios):.1f}")
            for name, rounds in found.items():
                totals[name] += statistics.median(rounds)
            print(f"| F{function} | {noise} | " + " | ".join(cells) + " |", flush=True)
    whole = [f"{totals[ORIGINAL]:.2f}"]
    whole += [f"{totals[str(method)] / totals[ORIGINAL]:.1f}" for method in Method]
    print("| all | both | " + " | ".join(whole) + " |")


if __name__ == "__main__":
    main()
