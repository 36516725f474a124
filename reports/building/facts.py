"""The facts of an audit that need no explanation: the solver's, the table's and the model's.

What columns and values mean is shown beside their names, never instead of them.
"""

from __future__ import annotations

from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import Evidence
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.table_counts import Weights
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import Audit, Exposure
from treewarden.ppdm_models.tables.table import ColumnMeaning, bounded
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import WORST_LAST
from treewarden.reports.document.document import Document, Model, Population, Solver
from treewarden.reports.document.parts import ColumnMeaning as ColumnPart
from treewarden.reports.document.parts import Number, Row, number
from treewarden.reports.document.words import count, percent

WEIGHTS = {
    Weights.FREQUENCIES: "frequencies: how many people each row stands for",
    Weights.SAMPLING: "of a survey: each row is one person, and the model’s numbers are weighed",
}


def solver(exposure: Exposure, dropped: int) -> Solver:
    """Return how the estimate was found."""
    report = exposure.solver
    return Solver(
        status=report.status,
        reason=report.reason,
        entropy=_number(report.entropy),
        entropy_bound=_number(report.entropy_bound),
        entropy_relaxed=_number(report.entropy_relaxed),
        bound_argument=report.bound_argument,
        max_violation=_number(report.run.max_violation),
        kkt_error=_number(report.run.kkt_error),
        iterations=report.run.iterations,
        seconds=number(report.run.seconds),
        rows=report.rows,
        rows_active=report.rows_active,
        dropped=dropped,
        blocks=report.blocks.total,
        blocks_stalled=report.blocks.stalled,
        blocks_flat=report.blocks.flat,
        blocks_several=report.blocks.several,
        blocks_symmetric_broken=report.blocks.symmetric_broken,
        blocks_saddle=report.blocks.saddle,
        split_rows=report.split_rows,
        profiles_fixed=report.profiles_fixed,
        signatures=report.signatures,
        is_unique=report.is_unique,
        door=report.run.door,
        rows_text=tuple(Row(name=name, text=text) for name, text in _solver_texts(report)),
    )


def _number(value: float | None) -> Number | None:
    return None if value is None else number(value)


def _solver_texts(report: SolverReport) -> tuple[tuple[str, str], ...]:
    """Return how the estimate was found in words: what each figure is, and what it came to."""
    return (
        ("Status", report.status),
        ("Solver", report.run.door),
        ("Entropy of the inference", _nats(report.entropy)),
        ("Upper bound of the entropy (proved)", _nats(report.entropy_bound)),
        ("Proved by", report.bound_argument or "nothing"),
        ("Entropy without the split choices", _nats(report.entropy_relaxed)),
        ("The inference is unique", "yes, proved" if report.is_unique else "not proved"),
        (
            "Largest relative violation, re-checked outside the solver",
            _small(report.run.max_violation),
        ),
        ("Iterations", f"{report.run.iterations:,}"),
        ("Statements used (rows)", f"{report.rows:,}"),
        ("Split choices that changed the inference", f"{report.rows_active:,}"),
        ("Distance from stationary", _small(report.run.kkt_error)),
        ("Independent blocks", f"{report.blocks.total:,}"),
        ("Blocks that were not solved", f"{report.blocks.stalled:,}"),
        ("Blocks with several equally good inferences", f"{report.blocks.flat:,}"),
        (
            "Blocks where searches ended at different, equally good inferences",
            f"{report.blocks.several:,}",
        ),
        ("Blocks where equivalent classes had to differ", f"{report.blocks.symmetric_broken:,}"),
        (
            "Split choices modelled over",
            "whole records" if report.split_rows == "integer" else "shares",
        ),
        ("Groups with a proved value", f"{report.profiles_fixed:,}"),
        ("Kinds of groups with different constraints", f"{report.signatures:,}"),
        ("Blocks where separating them would raise the entropy", f"{report.blocks.saddle:,}"),
    )


def population(evidence: Evidence) -> Population:
    """Return who the table holds."""
    people, classes = evidence.population, evidence.classes
    if people.is_absent:
        return _nobody(len(classes))
    truth = people.truth
    shares = [("Records", count(people.records)), ("Distinct profiles", count(len(people.counts)))]
    if people.weights is not Weights.NONE:
        shares.append(("Weights of the rows", WEIGHTS[people.weights]))
    if people.weight is not None:
        shares.append(("Sum of the sampling weights", count(float(people.weighed_counts.sum()))))
    if not isinstance(truth, Undetermined):
        for name, records in zip(classes, truth.sum(axis=0), strict=True):
            shares.append((f"“{name}”", f"{count(records)} ({percent(records / people.records)})"))
    if evidence.forest.is_ensemble:
        shares.append(("Predicted right by all trees together", _accuracy(evidence.forest)))
    return Population(
        records=number(people.records),
        profiles=len(people.counts),
        classes=len(classes),
        quasi_identifiers=people.qi,
        weights=people.weights.value,
        shares=tuple(Row(name=name, text=text) for name, text in shares),
    )


def _nobody(classes: int) -> Population:
    """Return what is said of the people where there is no table."""
    shares = (Row(name="Records", text="no table was given"),)
    return Population(records=0, profiles=0, classes=classes, quasi_identifiers=(), shares=shares)


def model(evidence: Evidence) -> Model:
    """Return what was read from the model file."""
    forest, trees, whole = evidence.forest, evidence.trees, evidence.model
    said = (
        f"The picture shows tree {evidence.forest.shown + 1} of {len(trees):,}, the one with "
        "the smallest leaf."
    )
    return Model(
        file=whole.source,
        format=whole.format,
        task=whole.task.value,
        target=evidence.target,
        classes=whole.classes,
        nodes=sum(len(tree.nodes) for tree in trees),
        leaves=sum(tree.leaf_count for tree in trees),
        depth=max(tree.depth for tree in trees),
        quality=max((tree.quality for tree in trees), key=WORST_LAST.index).value,
        notes=whole.notes,
        trees=len(trees),
        combination=whole.combination.value if isinstance(whole, Ensemble) else "",
        drawn=said if forest.is_ensemble else "",
    )


def _accuracy(forest: Forest) -> str:
    if isinstance(forest.accuracy, Undetermined):
        return f"not decided: {forest.accuracy.reason}"
    return percent(forest.accuracy.low)


def _nats(entropy: float | None) -> str:
    return "none" if entropy is None else f"{entropy:.6f} nats per record"


def _small(violation: float | None) -> str:
    return "none" if violation is None else f"{violation:.1e}"


MOST_IN_SENTENCE = 80
"""Characters of a label within a sentence; the table of the columns has more of it."""


def column_parts(audit: Audit) -> tuple[ColumnPart, ...]:
    """Return what the columns of an audit mean, as far as it is known."""
    secret = audit.full.evidence.secret_name
    return tuple(
        ColumnPart(
            name=meaning.name,
            label=meaning.label,
            values=tuple(Row(name=value, text=label) for value, label in meaning.values),
            values_left_out=meaning.left_out,
            is_sensitive=meaning.name == secret,
        )
        for meaning in audit.meanings
    )


def told_meanings(document: Document) -> tuple[ColumnMeaning, ...]:
    """Return what a report says that columns mean."""
    return tuple(
        ColumnMeaning(
            part.name,
            part.label,
            tuple((row.name, row.text) for row in part.values),
            part.values_left_out,
        )
        for part in document.columns
    )


def quoted_column(audit: Audit, name: str) -> str:
    """Return a column within a sentence, with its label where it has one: ``“flu” (influenza this winter)``."""
    meaning = _meaning(audit, name)
    return f"“{name}”{_in_brackets(meaning.label if meaning else '')}"


def quoted_value(audit: Audit, column: str, value: str) -> str:
    """Return a value of a column within a sentence, with its label where it has one: ``“1” (yes)``."""
    meaning = _meaning(audit, column)
    return f"“{value}”{_in_brackets(meaning.label_of(value) if meaning else '')}"


def _meaning(audit: Audit, name: str) -> ColumnMeaning | None:
    return next((meaning for meaning in audit.meanings if meaning.name == name), None)


def _in_brackets(label: str) -> str:
    return f" ({bounded(label, MOST_IN_SENTENCE)})" if label else ""
