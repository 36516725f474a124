"""What an audit rests on: facts of the solver, the table and the model, and what the adversary is assumed to know.

What columns and values mean is shown beside their names, never instead of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treewarden.audit.entropy.posterior import SolverReport
from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge as Known
from treewarden.audit.knowledge.levels import LeafLevel, RowOrder
from treewarden.audit.knowledge.statement import FACT
from treewarden.audit.population.forest import Forest
from treewarden.audit.population.table_counts import Weights
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import AssumedColumns, Audit, Exposure, ProvedColumn, assumed_columns
from treewarden.audit.system.system import kinds_of_facts
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.tables.table import ColumnMeaning, bounded
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.ppdm_models.tree.tree import WORST_LAST, Tree
from treewarden.reports.document.document import (
    MOST_IN_A_LINE,
    Document,
    Knowledge,
    Model,
    Population,
    Solver,
    one_line,
)
from treewarden.reports.document.parts import AssumedKnown, Number, ProvedBySizes, Row, number
from treewarden.reports.document.parts import ColumnMeaning as ColumnPart
from treewarden.reports.document.words import count, counted, listed, percent

if TYPE_CHECKING:
    from treewarden.audit.regression.result import ValueBounds


WEIGHTS = {
    Weights.FREQUENCIES: "frequencies: how many people each row stands for",
    Weights.SAMPLING: (
        "survey weights: each row is one person, and the model’s numbers are weighted"
    ),
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
        ("Constraints used (rows)", f"{report.rows:,}"),
        ("Split choices that changed the inference", f"{report.rows_active:,}"),
        ("Distance from a stationary point", _small(report.run.kkt_error)),
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
    shares = [
        ("People", count(people.records)),
        ("Groups with equal quasi-identifiers", count(len(people.counts))),
    ]
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
            all_labelled=meaning.all_labelled,
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
            part.all_labelled,
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


# What the adversary is assumed to know, which columns no verdict covers, and what was accepted, in plain sentences.

UNLESS = ", except where the table contradicts it"


def knowledge(evidence: Evidence, dropped: Sequence[DroppedRow] = ()) -> Knowledge:
    """Return the knowledge of an audit, as values and in sentences, without facts that the table contradicts."""
    evidence = replace(evidence, knowledge=_true(evidence.knowledge, dropped))
    known = evidence.knowledge
    return Knowledge(
        leaf=known.leaf.value,
        split=known.split.value,
        marginal=known.marginal,
        accuracy=known.accuracy,
        strict_labels=known.strict_labels,
        min_leaf=known.min_leaf,
        facts=tuple(fact.sentence for fact in known.facts),
        sentences=tuple(_sentences(evidence, {dropped_row.constraint for dropped_row in dropped})),
    )


def untold(audit: Audit) -> str:
    """Return in a sentence how much of what the adversary was to know the table contradicts; "" where nothing."""
    number = sum(not dropped_row.is_published for dropped_row in audit.dropped)
    if not number:
        return ""
    said = counted(number, "statement", "statements")
    was = "it was" if number == 1 else "they were"
    return (
        f" The table contradicts {said} of the assumed knowledge, so {was} not used (see "
        "“Not assumed”)."
    )


def _true(knowledge: Known, dropped: Sequence[DroppedRow]) -> Known:
    """Return what is known without the facts from elsewhere that the table contradicts."""
    untrue = {dropped_row.where for dropped_row in dropped if dropped_row.constraint == FACT}
    facts = tuple(fact for fact in knowledge.facts if fact.words not in untrue)
    return knowledge.model_copy(update={"facts": facts})


def _sentences(evidence: Evidence, contradicted: Collection[str]) -> Iterator[str]:
    known, qi = evidence.knowledge, evidence.population.qi
    if evidence.population.is_absent:
        yield "No knowledge about people was assumed, because no table was given."
    else:
        yield f"Everyone in the table, by {counted(len(qi), 'quasi-identifier', 'quasi-identifiers')}: {', '.join(qi)}."
    if evidence.population.weight is not None:
        yield "The sampling weight of everyone in the table, as it follows from the survey’s design."
    if evidence.others:
        models = "model" if len(evidence.others) == 1 else "models"
        names = listed(list(evidence.others))
        yield f"The {models} {names}, published beside this one, and which people each release holds."
    what = "The tree" if not evidence.forest.is_ensemble else "Each tree"
    yield f"{what} as published: its tests, its labels and how it sends records to leaves."
    yield f"For each leaf: {_leaf(known, evidence.forest.drawn)}."
    target = f"“{evidence.target}”" if evidence.target else "the target"
    for name, kind in kinds_of_facts().items():
        but = UNLESS if name in contradicted else ""
        yield from (f"{words}{but}." for words in kind.words(known, target))
    if known.min_leaf is not None:
        yield f"That training allowed no leaf with fewer than {counted(known.min_leaf, 'person', 'people')}."
    if known.learner is not None:
        yield f"That {known.learner.value} trained the tree, and therefore which splits were compared."
    if known.row_order is RowOrder.UNKNOWN:
        yield "Not the order of the records in the table."
    elif not isinstance(evidence.together, Undetermined) and evidence.together.is_replayed:
        yield "The order of the records in the table, so that a bootstrap sample can be repeated from its seed."
    if known.seeds:
        yield f"That samples may have been drawn with {counted(len(known.seeds), 'seed', 'seeds')}."
    if known.training:
        said = listed([f"{name} {value:g}" for name, value in known.training.items()])
        yield f"How the model was trained: {said}."
    if evidence.records.coverage is not None:
        covered = evidence.records.coverage.words
        yield f"For records rebuilt from the file alone, the public domain of the columns, {covered}."
    if not isinstance(evidence.together, Undetermined):
        yield (
            "How the library computes the values of leaves, so that they can be inverted into the number of people "
            "with each value."
        )
    if not isinstance(evidence.numbers, Undetermined):
        yield from _of_numbers(evidence, evidence.numbers)
    for fact in known.facts:
        yield f"Besides: {fact.sentence}."


def _of_numbers(evidence: Evidence, numbers: ValueBounds) -> Iterator[str]:
    """Yield what is taken as known where leaves are inverted into sums of people's numbers."""
    if evidence.forest.is_ensemble:
        yield (
            "How the library computes the values of leaves, so that they can be inverted into sums of people’s "
            "numbers."
        )
    target = f"“{evidence.target}”" if evidence.target else "the target"
    table = "each release’s table" if evidence.others else "the table"
    yield f"The smallest and the largest value of {target} in {table}, and that at least one person has each of them."
    if numbers.step:
        yield (
            f"That all values of {target} are whole multiples of one step above the smallest, and the "
            "size of this step."
        )


def _leaf(knowledge: Known, tree: Tree) -> str:
    if knowledge.leaf is LeafLevel.LABELS:
        return "its label and no numbers"
    if knowledge.leaf is LeafLevel.RATES:
        return "its label and its error rate"
    if knowledge.leaf is LeafLevel.COUNTS:
        return "how many people with each value are in it"
    return f"everything that the file publishes about it ({listed(_published(tree))})"


def _published(tree: Tree) -> list[str]:
    leaves = tree.leaves
    parts = {
        "labels": any(leaf.score is not None for leaf in leaves),
        "record counts": any(leaf.records is not None for leaf in leaves),
        "class counts": any(leaf.class_counts is not None for leaf in leaves),
        "class counts in bands": any(leaf.bands is not None for leaf in leaves),
        "class shares": any(leaf.class_shares is not None for leaf in leaves),
    }
    return [name for name, is_there in parts.items() if is_there] or ["nothing"]


# The columns that a model tests and that were assumed known, as documents name them.


def assumed_known(audit: Audit) -> AssumedKnown:
    """Return what an audit assumed known and did not judge, in full and in one line."""
    found = assumed_columns(audit)
    return AssumedKnown(
        columns=found.names,
        proved=tuple(_proved(proved_column, found) for proved_column in found.proved),
        incomplete=found.incomplete if found.names else (),
        summary=one_line(
            found.names,
            [
                f"{proved_column.column} ({_people(proved_column)})"
                for proved_column in found.proved
            ],
        ),
    )


def secret_steps(assumed: AssumedKnown) -> tuple[str, ...]:
    """Return what to do where sizes prove something of columns that were assumed known; nothing elsewhere."""
    names = list(dict.fromkeys(proved_by_sizes.column for proved_by_sizes in assumed.proved))
    if not names:
        return ()
    more = len(names) - MOST_IN_A_LINE
    said = listed(
        [
            *names[:MOST_IN_A_LINE],
            *([counted(more, "more column", "more columns")] if more > 0 else []),
        ]
    )
    is_one = len(names) == 1
    secret = f"--secret {names[0]}" if is_one else "--secret COLUMN"
    columns = "that column" if is_one else "each of these columns"
    return (
        (
            f"The leaf sizes disclose {said} for some people. Decide whether that is "
            f"acceptable. If not, check {columns} too: audit again with {secret}."
        ),
    )


def _people(proof: ProvedColumn) -> str:
    return counted(proof.people, "person", "people")


def _proved(proof: ProvedColumn, columns: AssumedColumns) -> ProvedBySizes:
    release = (
        f" of {proof.release}"
        if len({proved_column.release for proved_column in columns.proved}) > 1
        else ""
    )
    tree = f"tree {proof.tree + 1}, " if proof.is_of_several else ""
    where = f"{tree}node {proof.node}{release} ({proof.path})"
    return ProvedBySizes(
        column=proof.column,
        people=number(proof.people),
        release=proof.release,
        tree=proof.tree,
        node=proof.node,
        path=proof.path,
        text=(
            f"{proof.column} for {_people(proof)}. An adversary who knows the person's other columns can prove on "
            "which side of a split the value is, for example for "
            f"{counted(proof.people_of_node, 'person', 'people')} in {where}"
        ),
    )


# What a report says of waivers and baselines: findings about them, and how much was accepted.

ABOUT_WAIVERS = "whether waivers and baseline files are valid"


def accepted_words(decision: Decision) -> str:
    """Return how many findings were accepted, in words; "" where none was."""
    some = sum(finding.accepted is not None for finding in decision.findings)
    if not some:
        return ""
    they = "is" if some == 1 else "are"
    return f"{counted(some, 'finding', 'findings')} {they} accepted and {'does' if some == 1 else 'do'} not count"
