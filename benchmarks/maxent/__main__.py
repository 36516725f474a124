"""Measures the maximum-entropy estimate: against other ways to the same answer, and as the problem grows.

    python -m benchmarks.maxent --data FOLDER [--out docs/engineering/benchmarks.md] [--limit SECONDS] [--quick]

Every solve runs in a process of its own, one after the other; ratios are taken within one run.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.adult import CRITERIA, MIN_RECORDS, QUASI_IDENTIFIERS
from benchmarks.machine import machine
from benchmarks.measured import Task, everything, measure
from benchmarks.tables import number, table

Figures = dict[str, Any]

STUDY = {
    ("gini", 1000): (0.9, 2.2170997, 2.2347373),
    ("gini", 300): (2.5, 2.1565202, 2.1776908),
    ("gini", 100): (3.9, 2.1345329, 2.1500835),
    ("gini", 30): (10.5, 2.0893950, 2.1087275),
    ("gini", 2): (39.0, 1.8969703, 1.9217802),
    ("entropy", 1000): (2.5, 2.2225081, 2.2225198),
    ("entropy", 300): (4.6, 2.1817345, 2.1831029),
    ("entropy", 100): (7.9, 2.1458873, 2.1484429),
    ("entropy", 30): (21.5, 2.1006853, 2.1057002),
    ("entropy", 2): (54.5, 1.9085880, 1.9136312),
}
"""An earlier prototype on these trees: CPU seconds, entropy, upper bound. The floor to beat."""
LADDER = ((250, 2), (250, 4), (500, 4), (500, 6), (1000, 6), (1000, 16), (4000, 16))
"""Records and classes of the trees that the unreduced problem is tried on; nodes of a tenth of the records are split.
A method that fails to solve one of them in time is not tried on larger ones."""
METHODS = ("product", "direct", "opti")
NOT_TRIED: Figures = {"status": "not tried", "seconds": float("nan")}
ORDINARY = (("workclass", "occupation", "relationship", "race", "sex", "income"), (4, 6), (30, 60))
"""Attributes, classes and leaves of an ordinary tree: a few thousand profiles at most."""


class Bench:
    """Runs tasks and keeps what they found."""

    def __init__(self, data: Path, limit_seconds: float) -> None:
        self.base = Task(str(data), limit_seconds=limit_seconds)

    def run(self, **changes: Any) -> Figures:
        """Run the base task with some fields changed."""
        task = replace(self.base, **changes)
        found = measure(task)
        print(
            f"{changes}: {found['status']}, {found['seconds']:.2f} s", file=sys.stderr, flush=True
        )
        return found


def adult_trees(bench: Bench, sizes: Sequence[int]) -> str:
    """Return the table of the multiway trees on all of Adult, beside the prototype's figures."""
    rows = []
    for criterion in CRITERIA:
        for size in sizes:
            one = bench.run(criterion=criterion, min_records=size)
            seconds, entropy, bound = STUDY[criterion, size]
            rows.append(
                (
                    f"{criterion} {size}",
                    one.get("leaves_found", "–"),
                    one.get("candidates", "–"),
                    one.get("rows_active", "–"),
                    one.get("blocks", "–"),
                    number(one["seconds"], 2),
                    number(seconds, 1),
                    number(_memory(one), 0),
                    number(one.get("entropy"), 6),
                    number(entropy, 6),
                    number(one.get("entropy_bound"), 6),
                    number(bound, 6),
                    _closed(one, one.get("entropy"), one.get("entropy_bound")),
                    _closed(one, entropy, bound),
                    one["status"],
                )
            )
    head = ("Tree", "leaves", "candidates", "active", "blocks", "s", "prototype s", "MB", "H")
    bounds = ("prototype H", "U", "prototype U", "closed", "prototype closed")
    return table((*head, *bounds, "status"), rows)


def _closed(one: Figures, entropy: float | None, bound: float | None) -> str:
    """Return how much of the gap between an entropy and the relaxation's a bound closes."""
    if entropy is None or bound is None:
        return "–"
    relaxed = one["entropy_relaxed"]
    return f"{(relaxed - bound) / (relaxed - entropy):.0%}"


def against(bench: Bench, ladder: Sequence[tuple[int, int]]) -> str:
    """Return the table of ratios: the unreduced problem in Pyomo and in CasADi's Opti, against the product."""
    rows = []
    for criterion in CRITERIA:
        given_up: set[str] = set()
        for records, classes in ladder:
            size = {"criterion": criterion, "records": records, "classes": classes}
            found = [
                NOT_TRIED
                if method in given_up
                else bench.run(**size, min_records=records / 10, method=method)
                for method in METHODS
            ]
            given_up |= {
                method
                for method, one in zip(METHODS, found, strict=True)
                if one["status"] == "out of time"
            }
            rows.append(
                (
                    f"{criterion}, {records} records, {classes} classes",
                    found[0].get("profiles", "–"),
                    found[0].get("candidates", "–"),
                    *(_time(one) for one in found),
                    *(_ratio(one, found[0]) for one in found[1:]),
                    *(number(_memory(one), 0) for one in found),
                    *(number(one.get("entropy"), 5) for one in found),
                )
            )
    head = ("Tree", "profiles", "candidates", "product s", "Pyomo s", "Opti s", "Pyomo ×", "Opti ×")
    memory = ("product MB", "Pyomo MB", "Opti MB")
    return table((*head, *memory, "product H", "Pyomo H", "Opti H"), rows)


def ordinary(bench: Bench) -> str:
    """Return the table of ordinary binary trees, and of one whose every record is a profile of its own."""
    names, classes, leaves = ORDINARY
    tasks = [
        {"criterion": criterion, "classes": m, "leaves": size, "names": names}
        for criterion in CRITERIA
        for m in classes
        for size in leaves
    ]
    tasks += [
        {"criterion": criterion, "leaves": 60, "names": everything(), "classes": m}
        for criterion in CRITERIA
        for m in (6, 16)
    ]
    rows = []
    for task in tasks:
        one = bench.run(**task)
        rows.append(
            (
                f"{task['criterion']}, {task['leaves']} leaves, {task['classes']} classes",
                one.get("profiles", "–"),
                one.get("candidates", "–"),
                one.get("rows_active", "–"),
                _time(one),
                number(_memory(one), 0),
                number(one.get("entropy"), 5),
                number(one.get("entropy_bound"), 5),
            )
        )
    return table(("Tree", "profiles", "candidates", "active", "s", "MB", "H", "U"), rows)


def growth(bench: Bench, sizes: Sequence[int]) -> str:
    """Return the table of time and memory as records and classes grow, at one node size in a hundred records."""
    rows = []
    for criterion in CRITERIA:
        for records in sizes:
            for classes in (2, 6, 16):
                one = bench.run(
                    criterion=criterion,
                    records=records,
                    classes=classes,
                    min_records=records / 100,
                )
                rows.append(
                    (
                        f"{criterion}, {records} records",
                        one.get("profiles", "–"),
                        classes,
                        one.get("leaves_found", "–"),
                        one.get("rows_active", "–"),
                        _time(one),
                        number(_memory(one), 0),
                    )
                )
    return table(("Tree", "profiles", "classes", "leaves", "active", "s", "MB"), rows)


def shares(bench: Bench, sizes: Sequence[int]) -> str:
    """Return the table of how the time is shared over stages, in one process."""
    rows = []
    stages: list[str] = []
    for criterion in CRITERIA:
        for size in sizes:
            one = bench.run(criterion=criterion, min_records=size, stages=True)
            spent = one.get("stages", {})
            stages = stages or list(spent)
            rest = one["seconds"] - sum(spent.values())
            cells = [*(spent.get(stage, float("nan")) for stage in stages), rest]
            rows.append(
                (
                    f"{criterion} {size}",
                    number(one["seconds"], 2),
                    *(f"{cell / one['seconds']:.0%}" for cell in cells),
                )
            )
    return table(("Tree", "s", *stages, "rest"), rows)


def _memory(one: Figures) -> float:
    return float(one.get("peak_mb", "nan")) + float(one.get("workers_mb", "nan"))


def _time(one: Figures) -> str:
    if one["status"] in ("optimal", "closed form"):
        return number(one["seconds"], 2)
    status = one["status"].partition(":")[0]
    return status if one is NOT_TRIED else f"{number(one['seconds'], 1)} ({status})"


def _ratio(one: Figures, product: Figures) -> str:
    if one is NOT_TRIED:
        return "–"
    ratio = one["seconds"] / product["seconds"]
    return f"{ratio:,.0f}" if one["status"] == "optimal" else f"> {ratio:,.0f}, not solved"


def document(bench: Bench, quick: bool) -> str:
    """Measure everything and return the report as Markdown."""
    trees = MIN_RECORDS[:2] if quick else MIN_RECORDS
    ladder = LADDER[:2] if quick else LADDER
    sizes = (1000,) if quick else (3000, 10000, 30162)
    return f"""# Time and memory of the estimate

Written by `make bench DATA=FOLDER` (see `benchmarks/maxent`). Machine: {machine()}.

Each solve runs in a process of its own, one after the other. "s" is wall time of the whole solve with its certificate,
from Python, without reading the table and forming the candidates; workers get ready in that time, as in an audit.
"MB" is the peak resident memory of all processes together, pages that they share counted once, Python and its packages
included (about 300 MB before anything is solved). The adversary knows error rates and how splits were chosen. Data: UCI
Adult without missing values, education as the sensitive class.

## Multiway trees on all of Adult

30,162 records, 4,480 profiles of 8 quasi-identifiers, 16 classes; nodes below so many records are not split. H and U
are the estimate's entropy and its best upper bound, nats per record; "closed" is the part of the gap between H and the
problem without split rows that the bound closes; "prototype" is the study that the method started from (CPU seconds of
one core).

{adult_trees(bench, trees)}

## Against other ways to the same answer

The unreduced problem (every profile, class and candidate split at once) in Pyomo and IPOPT
(`tests.judges.estimate.direct`), and by hand in CasADi's Opti with IPOPT and exact derivatives;
{bench.base.limit_seconds:g} seconds at most for each.
× is their time over the product's, within this run. A method that ran out of time is not tried on larger trees.

{against(bench, ladder)}

## Ordinary binary trees, and one profile per record

scikit-learn trees on {len(ORDINARY[0])} coded attributes; in the last rows on {len(everything())} attributes,
age, hours and capital gain among them.

{ordinary(bench)}

## As the problem grows

Every k-th record of Adult, {len(QUASI_IDENTIFIERS)} quasi-identifiers, education as it is or coarsened; nodes
below a hundredth of the records are not split.

{growth(bench, sizes)}

## Where the time goes

One process, so that stages can be told apart: lumping and pooling (reduce), the Pyomo model (model), writing it for the
solver (.nl), reading and deriving it (load), and IPOPT.

{shares(bench, trees)}
"""


def main() -> None:
    """Measure as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.maxent", description=__doc__)
    ask.add_argument("--data", type=Path, required=True, help="folder with adult_train.csv")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/benchmarks.md"))
    ask.add_argument("--limit", type=float, default=120, help="seconds per solve")
    ask.add_argument("--quick", action="store_true", help="a few small sizes only")
    given = ask.parse_args()
    said = document(Bench(given.data, given.limit), given.quick)
    given.out.parent.mkdir(parents=True, exist_ok=True)
    given.out.write_text(said, encoding="utf-8")
    print(given.out)


if __name__ == "__main__":
    main()
