"""Times each form of a gate on many findings: ``python -m benchmarks.outputs --findings 10000``."""

from __future__ import annotations

import argparse
import time

from benchmarks.machine import machine
from treewarden.reports.building.entry import gate_of
from treewarden.reports.document.document import finding_id
from treewarden.reports.document.gate import ClauseOutcome, Entry, Gate, Result, Rule
from treewarden.reports.renderers import GateRenderer, names, renderer

MESSAGE = "Fewest people who share a leaf: not met; the policy asks for at least 10 records"
RULE = Rule(
    clause="smallest-leaf",
    plain="fewest people who share a leaf",
    asks="at least 10 records",
    why="A small group is easily singled out.",
    source="a handbook",
    severity="error",
    policy="ours",
    version="1",
)
TIMES = 5


def made(findings: int, models: int) -> Gate:
    """Return a gate of models that break one clause in so many leaves together."""
    each = -(-findings // models)
    sizes = [min(each, findings - each * model) for model in range(models)]
    return gate_of([_entry(model, size) for model, size in enumerate(sizes)], "error", "0")


def _entry(model: int, leaves: int) -> Entry:
    name = f"models/model-{model:04}.pmml"
    outcome = ClauseOutcome(clause=RULE.clause, verdict="FAIL", severity="error", message=MESSAGE)
    return Entry(
        name=name,
        file=name,
        outcome="FAIL",
        headline="1 clause is not met: smallest-leaf",
        policy="ours",
        rules=(RULE,),
        clauses=(outcome,),
        results=tuple(
            Result(
                id=finding_id(RULE.clause, f"leaf {leaf}"),
                clause=RULE.clause,
                verdict="FAIL",
                severity="error",
                message=MESSAGE,
                leaf=f"leaf {leaf}",
                path=f"age <= {leaf}.5, region in (north, south), income > {leaf}",
                node=str(leaf),
                line=10 + leaf,
            )
            for leaf in range(leaves)
        ),
    )


def main() -> None:
    """Print the seconds of the processor (best of five) and the bytes of each form."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--findings", type=int, default=10_000)
    parser.add_argument("--models", type=int, default=100)
    asked = parser.parse_args()
    gate = made(asked.findings, asked.models)
    print(f"{asked.findings:,} findings in {asked.models:,} models, best of {TIMES}; {machine()}")
    print(f"{'form':10} {'seconds':>8} {'bytes':>12}")
    for name in names():
        form = renderer(name)
        if isinstance(form, GateRenderer):
            seconds, size = _timed(form, gate)
            print(f"{name:10} {seconds:8.2f} {size:12,}")


def _timed(form: GateRenderer, gate: Gate) -> tuple[float, int]:
    """Return the least seconds of the processor that a form took, and how many bytes it has."""
    least, size = float("inf"), 0
    for _ in range(TIMES):
        begun = time.process_time()
        size = len(form.render_gate(gate))
        least = min(least, time.process_time() - begun)
    return least, size


if __name__ == "__main__":
    main()
