"""What the adversary is assumed to know, which columns no verdict covers, and what was accepted, in plain sentences."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from treewarden.audit.evidence import Evidence
from treewarden.audit.facts.rows import DroppedRow
from treewarden.audit.knowledge.knowledge import Knowledge as Known
from treewarden.audit.knowledge.levels import LeafLevel, RowOrder
from treewarden.audit.knowledge.statement import FACT
from treewarden.audit.reading import Undetermined
from treewarden.audit.result import AssumedColumns, Audit, ProvedColumn, assumed_columns
from treewarden.audit.system.system import kinds_of_facts
from treewarden.policies.judging.decision import Decision
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.document.document import Knowledge
from treewarden.reports.document.names import MOST_IN_A_LINE, one_line
from treewarden.reports.document.parts import AssumedKnown, ProvedBySizes, number
from treewarden.reports.document.words import counted, listed

if TYPE_CHECKING:  # of models that predict a number
    from treewarden.audit.regression.result import ValueBounds

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
        f" The table contradicts {said} of what an adversary was to know, so {was} not used: see "
        "“Not assumed”."
    )


def _true(known: Known, dropped: Sequence[DroppedRow]) -> Known:
    """Return what is known without the facts from elsewhere that the table contradicts."""
    untrue = {dropped_row.where for dropped_row in dropped if dropped_row.constraint == FACT}
    facts = tuple(fact for fact in known.facts if fact.words not in untrue)
    return known.model_copy(update={"facts": facts})


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
        yield f"That the learner allowed no leaf under {counted(known.min_leaf, 'record', 'records')}."
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


def _leaf(known: Known, tree: Tree) -> str:
    if known.leaf is LeafLevel.LABELS:
        return "its label and no numbers"
    if known.leaf is LeafLevel.RATES:
        return "its label and its error rate"
    if known.leaf is LeafLevel.COUNTS:
        return "how many records of each value it holds"
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
                f"{proved_column.column} of {_people(proved_column)}"
                for proved_column in found.proved
            ],
        ),
    )


def secret_steps(found: AssumedKnown) -> tuple[str, ...]:
    """Return what to do where sizes prove something of columns that were assumed known; nothing elsewhere."""
    names = list(dict.fromkeys(proved_by_sizes.column for proved_by_sizes in found.proved))
    if not names:
        return ()
    more = len(names) - MOST_IN_A_LINE
    said = listed([*names[:MOST_IN_A_LINE], *([f"{more:,} more"] if more > 0 else [])])
    secret = f"--secret {names[0]}" if len(names) == 1 else "--secret COLUMN"
    return (
        (
            f"The sizes of leaves disclose {said} for some people. Decide whether that is "
            f"acceptable. If not, protect the column: audit again with {secret}."
        ),
    )


def _people(each: ProvedColumn) -> str:
    return counted(each.people, "person", "people")


def _proved(each: ProvedColumn, found: AssumedColumns) -> ProvedBySizes:
    release = (
        f" of {each.release}"
        if len({proved_column.release for proved_column in found.proved}) > 1
        else ""
    )
    tree = f"tree {each.tree + 1}, " if each.is_of_several else ""
    where = f"{tree}node {each.node}{release} ({each.path})"
    return ProvedBySizes(
        column=each.column,
        people=number(each.people),
        release=each.release,
        tree=each.tree,
        node=each.node,
        path=each.path,
        text=(
            f"{each.column} of {_people(each)}: an adversary who knows the other tested columns can "
            "prove on which side of a split it is, for "
            f"{counted(each.people_of_node, 'person', 'people')} in {where}"
        ),
    )


# What a report says of waivers and baselines: findings about them, and how much was accepted.

ABOUT_WAIVERS = "whether what is accepted is accepted in order"


def accepted_words(decision: Decision) -> str:
    """Return how many findings were accepted, in words; "" where none was."""
    some = sum(finding.accepted is not None for finding in decision.findings)
    if not some:
        return ""
    they = "is" if some == 1 else "are"
    return f"{counted(some, 'finding', 'findings')} {they} accepted and {'does' if some == 1 else 'do'} not count"
