"""The facts of an audit that need no telling: the solver's, the table's and the model's."""

from __future__ import annotations

from audit.evidence import Evidence
from audit.leaves import real_classes
from audit.reading import Undetermined
from audit.run import Audit
from reports.document import Model, Population, Solver
from reports.parts import Row, number
from reports.words import count, percent


def solver(audit: Audit) -> Solver:
    """Return how the estimate was found."""
    report = audit.solver
    entropy, bound, violation = (
        None if each is None else number(each)
        for each in (report.entropy, report.entropy_bound, report.max_violation)
    )
    said = (
        ("Status", report.status),
        ("Solver", report.door),
        ("Entropy of the estimate", _nats(report.entropy)),
        ("Upper bound on it (without split choices)", _nats(report.entropy_bound)),
        ("Largest relative violation, re-checked outside the solver", _small(report.max_violation)),
        ("Iterations", f"{report.iterations:,}"),
        ("Seconds", f"{report.seconds:.2f}"),
        ("Statements used (rows)", f"{report.rows:,}"),
        ("Split choices that had to join", f"{report.rows_active:,}"),
        ("Independent blocks", f"{report.blocks:,}"),
    )
    return Solver(
        status=report.status,
        reason=report.reason,
        entropy=entropy,
        entropy_bound=bound,
        max_violation=violation,
        iterations=report.iterations,
        seconds=number(report.seconds),
        rows=report.rows,
        rows_active=report.rows_active,
        dropped=len(audit.dropped),
        blocks=report.blocks,
        door=report.door,
        rows_text=tuple(Row(name=name, text=text) for name, text in said),
    )


def population(evidence: Evidence) -> Population:
    """Return who the table holds."""
    people, classes = evidence.population, evidence.tree.classes
    truth = real_classes(evidence.tree, people)
    shares = [("Records", count(people.records)), ("Distinct profiles", count(len(people.counts)))]
    if not isinstance(truth, Undetermined):
        for name, records in zip(classes, truth.sum(axis=0), strict=True):
            shares.append((f"“{name}”", f"{count(records)} ({percent(records / people.records)})"))
    return Population(
        records=number(people.records),
        profiles=len(people.counts),
        classes=len(classes),
        quasi_identifiers=people.qi,
        shares=tuple(Row(name=name, text=text) for name, text in shares),
    )


def model(evidence: Evidence) -> Model:
    """Return what was read from the model file."""
    tree = evidence.tree
    return Model(
        file=tree.source,
        format=tree.format,
        task=tree.task.value,
        target=tree.target,
        classes=tree.classes,
        nodes=len(tree.nodes),
        leaves=len(tree.leaves),
        depth=tree.depth,
        quality=tree.quality.value,
        notes=tree.notes,
    )


def _nats(entropy: float | None) -> str:
    return "none" if entropy is None else f"{entropy:.6f} nats per record"


def _small(violation: float | None) -> str:
    return "none" if violation is None else f"{violation:.1e}"
