"""The audit of several trees, by classes or by numbers: the leaves of each, and what all of them prove together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from treewarden.audit.claims.judge_claim import knows_labels_alone, noisy_posterior
from treewarden.audit.claims.several_trees import tables_under_noise
from treewarden.audit.consistent_tables.result import ConsistentTables, with_what_is_open
from treewarden.audit.engine.time_budget import budget_of
from treewarden.audit.entropy.posterior import Posterior, SolverReport
from treewarden.audit.evidence import NOT_RUN, SEE_NUMBERS, Evidence
from treewarden.audit.exposures import not_run, prior_of_all
from treewarden.audit.facts.kinds import contradicted_facts
from treewarden.audit.joint.draws import LabelTies
from treewarden.audit.joint.ensemble_inference import JoinedTrees, join_trees
from treewarden.audit.joint.known_facts import (
    KnownRows,
    joined_rows,
    known_rows,
    prior_of_facts,
    rows_beside,
)
from treewarden.audit.joint.profiles import (
    Where,
    in_trees,
    posterior_of,
    report_of,
    worlds_of,
)
from treewarden.audit.joint.result import noise_alone
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.knowledge.levels import RowOrder, SplitLevel
from treewarden.audit.options import AuditOptions
from treewarden.audit.outputs.whole_row import WholeRow
from treewarden.audit.reading import Undetermined
from treewarden.audit.regression.inference import cells_of_tables, values_of
from treewarden.audit.regression.result import CellRanges
from treewarden.audit.regression.totals import known_numbers
from treewarden.audit.run_inputs import (
    NOT_ESTIMATED,
    NOT_JOINED,
    ProvedModel,
    RunInputs,
    not_a_setting,
)
from treewarden.ppdm_models.tree.tree import Tree

TOTALS_KNOWN = "with other outputs, the class totals are assumed to be known"
UNUSED = "not used, though it may prove more"
AGREE = "other published numbers were used only to check consistent tables"
LABELS_AGREE = "tables count only where the label of each leaf without counts leads in any case"


def prove_ensemble(inputs: RunInputs) -> ProvedModel:
    """Return what several trees prove of their people together."""
    knowledge = inputs.knowledge.model_copy(update={"split": SplitLevel.NONE})
    evidence, report = _joined_evidence(replace(inputs, knowledge=knowledge))
    notes = () if isinstance(evidence.together, Undetermined) else evidence.together.said
    notes = notes if inputs.beside is None else (*notes, TOTALS_KNOWN)
    untrue = contradicted_facts(knowledge, inputs.forest.model.classes, inputs.population)
    return ProvedModel(evidence, report, untrue, (*inputs.forest.warnings, *notes))


def _joined_evidence(inputs: RunInputs) -> tuple[Evidence, SolverReport]:
    """Return what all trees of an ensemble say together, and how the estimate was found."""
    forest, population, knowledge = inputs.forest, inputs.population, inputs.knowledge
    is_noisy = all(tree.learner.has_known_noise for tree in forest.trees)
    if is_noisy and knows_labels_alone(knowledge):
        return _noisy_evidence(inputs)
    facts, beside = known_rows(knowledge, forest.model.classes, population), inputs.beside
    published = () if beside is None else beside.rows
    background = _with_rows(inputs, facts, published)
    joined = _joined(inputs, background)
    if isinstance(joined, Undetermined):
        unknown = Undetermined(f"{NOT_JOINED}: {joined.reason}")
        return replace(inputs.unsolved(unknown), together=unknown), not_run(unknown)
    where = in_trees(forest.trees, background)
    evidence = joined_evidence(inputs.unsolved(NOT_ESTIMATED), joined, where, facts, inputs.options)
    if isinstance(evidence.worlds, ConsistentTables):
        worlds = _agreeing(inputs, facts, evidence.worlds, reads_labels=joined.reads_labels)
        evidence = replace(evidence, worlds=worlds)
    return evidence, report_of(joined, population.records)


def joined_evidence(
    bare: Evidence,
    joined: JoinedTrees,
    where: Where,
    facts: KnownRows | None,
    options: AuditOptions,
) -> Evidence:
    """Return evidence with what all trees say together of its people, of one model or of several releases.

    ``where`` names the rows, ``facts`` are known of the people from elsewhere.
    """
    population, classes = bare.population, bare.model.classes
    worlds: ConsistentTables | Undetermined = NOT_RUN
    if options.worlds:
        worlds = worlds_of(joined, population, where, classes)
    prior = prior_of_all(population, bare.knowledge, len(classes))
    if bare.knowledge.facts and facts is not None:
        prior = prior_of_facts(facts, population, len(classes), budget_of(options))
    return replace(
        bare,
        prior=prior,
        posterior=posterior_of(joined),
        worlds=worlds,
        together=joined.inference,
    )


def _noisy_evidence(inputs: RunInputs) -> tuple[Evidence, SolverReport]:
    """Return what labels tell of people that were drawn at random, as a claim says that is relied on."""
    forest, population, claim = inputs.forest, inputs.population, inputs.claim
    truth = population.truth
    assert not isinstance(truth, Undetermined)
    assert not isinstance(claim, Undetermined)
    assert not isinstance(claim.labels, Undetermined)
    until = budget_of(inputs.options).until
    posterior = noisy_posterior(claim, population, inputs.knowledge, until)
    worlds = tables_under_noise(claim.labels, population.counts, truth)
    sizes = len(forest.trees), sum(tree.leaf_count for tree in forest.trees)
    bare = inputs.unsolved(NOT_ESTIMATED)
    evidence = noisy_evidence(bare, posterior, worlds, sizes, inputs.options)
    if isinstance(posterior, Undetermined):
        return evidence, not_run(posterior)
    return evidence, SolverReport("closed form")


def noisy_evidence(
    bare: Evidence,
    posterior: Posterior | Undetermined,
    worlds: ConsistentTables,
    sizes: tuple[int, int],
    options: AuditOptions,
) -> Evidence:
    """Return evidence with what labels tell that are noise; ``sizes`` are how many trees and leaves have them."""
    people = bare.population
    return replace(
        bare,
        prior=prior_of_all(people, bare.knowledge, len(bare.model.classes)),
        posterior=posterior,
        worlds=worlds if options.worlds else NOT_RUN,
        together=noise_alone(*sizes, len(people.counts)),
    )


def _with_rows(
    inputs: RunInputs, facts: KnownRows | None, rows: Sequence[WholeRow]
) -> KnownRows | None:
    """Return what is known from elsewhere and what rows of published numbers say, together."""
    beside = inputs.beside
    if beside is None:
        return facts
    return joined_rows([facts, rows_beside(rows, inputs.population, beside.words)])


def _agreeing(
    inputs: RunInputs, facts: KnownRows | None, worlds: ConsistentTables, *, reads_labels: bool
) -> ConsistentTables:
    """Return what was proved, with those tables alone that agree with all that is published beyond rows.

    That is what numbers beside the model say, and labels of leaves without counts, however ties are broken.
    """
    beside, population = inputs.beside, inputs.population
    is_rounded = beside is not None and bool(beside.stronger or beside.open_entries)
    if not is_rounded and not reads_labels:
        return worlds
    assert not isinstance(population.truth, Undetermined)
    true = np.rint(population.truth).astype(np.int64)
    unused = () if beside is None else beside.unused
    left = (
        *worlds.left,
        *((AGREE,) if is_rounded else ()),
        *((LABELS_AGREE,) if reads_labels else ()),
        *(f"{UNUSED}: {words}" for words in unused),
    )
    only_true = replace(worlds, reached_low=true, reached_high=true, left=left)
    if beside is not None and beside.open_entries:
        return with_what_is_open(only_true)
    rows = () if beside is None else (*beside.rows, *beside.stronger)
    background = _with_rows(inputs, facts, rows)
    joined = _joined(inputs, background, LabelTies.ANY_RULE)
    if isinstance(joined, Undetermined):
        return with_what_is_open(only_true)
    trees, classes = inputs.forest.trees, inputs.forest.model.classes
    found = worlds_of(joined, population, in_trees(trees, background), classes)
    agreeing = replace(only_true, reached_low=found.reached_low, reached_high=found.reached_high)
    return with_what_is_open(agreeing)


def _joined(
    inputs: RunInputs, background: KnownRows | None, ties: LabelTies = LabelTies.EITHER
) -> JoinedTrees | Undetermined:
    """Return what the leaves of all trees say together, and with what is known of the people beside."""
    forest, population, knowledge = inputs.forest, inputs.population, inputs.knowledge
    options = inputs.options
    if knowledge.strict_labels and ties is LabelTies.EITHER:
        ties = LabelTies.OPEN
    try:
        return join_trees(
            forest,
            population,
            budget_of(options),
            inputs.step,
            training=knowledge.training,
            seeds=knowledge.seeds if knowledge.row_order is RowOrder.KNOWN else None,
            background=background,
            ties=ties,
            over_trees=options.levels,
            should_stop=inputs.should_stop(inputs.unsolved(NOT_ESTIMATED)),
        )
    except KeyError as error:
        raise not_a_setting(forest.model, error) from error


def prove_numbers(inputs: RunInputs) -> ProvedModel:
    """Return what a model that predicts a number proves, one tree or many: its leaves, and all of them together.

    Raises:
        KnowledgeError: the adversary is said to know a setting of the training that leaf values do not depend on.
    """
    forest, population, options = inputs.forest, inputs.population, inputs.options
    model, notes = forest.model, forest.warnings
    if isinstance(model, Tree):
        knowledge, notes = resolved(inputs.knowledge, model)
    else:
        knowledge = inputs.knowledge.model_copy(update={"split": SplitLevel.NONE})
    evidence = replace(inputs, knowledge=knowledge).unsolved(SEE_NUMBERS)
    background = known_numbers(knowledge, population)
    try:
        numbers = values_of(
            forest,
            population,
            budget_of(options),
            inputs.step,
            training=knowledge.training,
            background=background,
            totals=inputs.totals,
        )
    except KeyError as error:
        raise not_a_setting(model, error) from error
    if not isinstance(numbers, Undetermined):
        notes = (*notes, *numbers.said)
    evidence = replace(evidence, numbers=numbers)
    if inputs.totals is not None:
        cells = numbers if isinstance(numbers, Undetermined) else _cells(inputs, knowledge)
        evidence = replace(evidence, records=replace(evidence.records, cells=cells))
    if forest.is_ensemble:
        evidence = replace(evidence, together=SEE_NUMBERS)
    untrue = () if background is None else background.dropped
    return ProvedModel(evidence, not_run(SEE_NUMBERS), untrue, notes)


def _cells(inputs: RunInputs, knowledge: Knowledge) -> CellRanges | Undetermined:
    """Return how closely leaves and tables of totals together tell the totals of cells."""
    assert inputs.totals is not None
    with inputs.step("attacking the cells of tables with all totals") as share:
        return cells_of_tables(
            inputs.forest,
            inputs.population,
            inputs.totals,
            budget_of(inputs.options),
            training=knowledge.training,
            background=known_numbers(knowledge, inputs.population),
            share=share,
        )
