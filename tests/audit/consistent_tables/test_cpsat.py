"""Every answer of CP-SAT, on its own: compared with all worlds of cases small enough to list them."""

from __future__ import annotations

import itertools
from functools import cache

import numpy as np
import pytest

from tests.audit.consistent_tables.test_worlds_against_brute_force import hidden, judged, small_case
from tests.judges.worlds_by_hand import brute_force, system_of
from tests.kit.tiers import few, seeds
from treewarden.audit.consistent_tables.facts.facts import SPLIT, facts_of
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.proofs import cpsat
from treewarden.audit.consistent_tables.proofs.bounds import closed_form
from treewarden.audit.consistent_tables.proofs.relax import Scope
from treewarden.audit.consistent_tables.proofs.rows import CellRow
from treewarden.audit.consistent_tables.queries import Asker, CellQuestion, QuestionEffort
from treewarden.audit.consistent_tables.witnesses.witness_pool import WitnessPool, first_broken
from treewarden.audit.progress import FOREVER, clock

SEEDS = seeds(5, quick=(1,))
KINDS = tuple(itertools.product(("counts", "rates", "labels"), ("gini", "entropy")))
AMPLE = 10.0
FEW, MORE = 23, 53
"""So many questions of a case are asked in the quick and the second tier: odd, so that all kinds are among them."""
TIED = ([1, 1, 1, 1], [[0, 1], [2, 3]], [(1, 1), (1, 1)], [(0, "0101")])
IMPOSSIBLE = (
    [1, 1, 1, 1],
    [[0, 1], [2, 3]],
    [(1, 1), (1, 1)],
    [(0, "0110"), (0, "0101"), (0, "0123")],
)
THREE_CLASSES = ([2, 2, 2, 2], [[0, 1], [2, 3]], [(2, 1, 1), (1, 3, 0)], [(0, "0101")])


def facts_and_worlds(system, worlds):
    facts = with_intervals(facts_of(system))
    found = [facts.arranged(table) for table, *_ in worlds]
    return facts, np.array(found, dtype=int).reshape(-1, len(facts.counts), facts.classes)


@cache
def listed(seed, level, criterion):
    """Return the facts of a random case and all its worlds (K, P, m) by position."""
    system, worlds = judged(small_case(seed, level, criterion))
    return facts_and_worlds(hidden(system), worlds)


def by_hand(parts, **options):
    system = system_of(*parts, **options)
    return facts_and_worlds(system, brute_force(system)[0])


def scope_of(facts, node=0):
    return Scope(facts, closed_form(facts), node)


def questions_of(worlds):
    """Yield questions about each cell: the end that all worlds have, the next number and one far off, both ways."""
    for cell in itertools.product(*map(range, worlds.shape[1:])):
        values = worlds[:, cell[0], cell[1]]
        for sign in (1, -1):
            end = int((sign * values).min())
            yield from ((cell, sign, target) for target in (end - 1, end, end + 1, end + 3))


def is_true(worlds, question):
    cell, sign, target = question
    return bool((sign * worlds[:, cell[0], cell[1]] >= target).all())


def answers_no(table, question):
    cell, sign, target = question
    return sign * table[cell] < target


def is_among(table, worlds):
    return bool((worlds == table).all(axis=(1, 2)).any())


@pytest.mark.parametrize(("level", "criterion"), KINDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.in_both
def test_a_question_is_answered_as_all_worlds_answer_it(seed, level, criterion):
    facts, worlds = listed(seed, level, criterion)
    scope = scope_of(facts)
    for question in few(questions_of(worlds), FEW, MORE):
        answer = cpsat.ask(scope, [question], clock(60), AMPLE)
        assert answer is not None
        assert (answer.point is None) == is_true(worlds, question)
        if answer.point is not None:
            table = np.rint(answer.point).astype(int)
            assert first_broken(facts, table) is None
            assert is_among(table, worlds)
            assert answers_no(table, question)


@pytest.mark.parametrize(("level", "criterion"), KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_many_questions_are_proved_together_only_where_all_are_true(seed, level, criterion):
    facts, worlds = listed(seed, level, criterion)
    scope, draw = scope_of(facts), np.random.default_rng(seed)
    every = list(questions_of(worlds))
    for size in (2, 5, 20):
        some = [every[k] for k in draw.choice(len(every), min(size, len(every)), replace=False)]
        for asked in (some, [each for each in every if is_true(worlds, each)][:size]):
            answer = cpsat.ask(scope, asked, clock(60), AMPLE)
            assert answer is not None
            assert (answer.point is None) == all(is_true(worlds, each) for each in asked)
            if answer.point is not None:
                assert is_among(np.rint(answer.point).astype(int), worlds)
                assert any(answers_no(np.rint(answer.point), each) for each in asked)


@pytest.mark.parametrize(("level", "criterion"), KINDS)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.in_both
def test_what_is_proved_below_a_node_is_true_in_every_world(seed, level, criterion):
    facts, worlds = listed(seed, level, criterion)
    for node in facts.tree.nodes[1:]:
        span = facts.span(node.index)
        scope = scope_of(facts, node.index)
        for question in few(questions_of(worlds[:, span]), FEW, MORE):
            (position, klass), sign, target = question
            asked = ((position + span.start, klass), sign, target)
            answer = cpsat.ask(scope, [asked], clock(60), AMPLE)
            assert answer is not None
            assert answer.point is not None or is_true(worlds, asked)


@pytest.mark.parametrize("level", ["counts", "rates"])
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.in_both
def test_no_answer_draws_the_ends_in_further_than_all_worlds_go(seed, level):
    facts, worlds = listed(seed, level, "gini")
    for cell, sign, target in few(questions_of(worlds), FEW, MORE):
        bounds, pool = closed_form(facts), WitnessPool(facts)
        pool.add(worlds[:1])
        asker, question = Asker(facts, bounds, pool, clock(60)), CellQuestion(cell, sign, target)
        for answer in asker._answers(asker.scope(0), question, QuestionEffort(10, 30, AMPLE)):
            asker._take(asker.scope(0), question, answer)
        assert (bounds.low <= worlds.min(axis=0)).all()
        assert (bounds.high >= worlds.max(axis=0)).all()


def test_of_two_classes_a_table_comes_first_or_a_proof_in_exact_arithmetic():
    facts, worlds = by_hand(TIED)
    for cell, sign, target in questions_of(worlds):
        asker, question = (
            Asker(facts, closed_form(facts), WitnessPool(facts), clock(60)),
            CellQuestion(cell, sign, target),
        )
        answers = asker._answers(asker.scope(0), question, QuestionEffort(10, 30, AMPLE))
        first, linear = next(answers), scope_of(facts).least(cell, sign, target, FOREVER)
        if is_true(worlds, question.parts):
            assert first.says == linear.says
            assert next(answers).bound == target
        else:
            assert (first.point == np.rint(first.point)).all()


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_a_split_that_is_just_as_good_is_allowed(criterion):
    facts, worlds = by_hand(TIED, criterion=criterion)
    assert len(worlds) == 2
    for question in questions_of(worlds):
        answer = cpsat.ask(scope_of(facts), [question], clock(60), AMPLE)
        assert (answer.point is None) == is_true(worlds, question)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_ties_of_three_classes_are_looked_up_on_the_safe_side(criterion):
    facts, worlds = by_hand(THREE_CLASSES, classes=3, criterion=criterion)
    assert len(worlds) == 6
    for question in questions_of(worlds):
        answer = cpsat.ask(scope_of(facts), [question], clock(60), AMPLE)
        assert (answer.point is None) == is_true(worlds, question)


@pytest.mark.parametrize("criterion", ["gini", "entropy"])
def test_where_no_world_is_left_everything_is_proved(criterion):
    facts, worlds = by_hand(IMPOSSIBLE, criterion=criterion)
    assert not len(worlds)
    for sign, target in itertools.product((1, -1), (-5, 0, 1, 5)):
        answer = cpsat.ask(scope_of(facts), [((0, 0), sign, target)], clock(60), AMPLE)
        assert answer.point is None


@pytest.mark.parametrize(("level", "criterion"), KINDS)
@pytest.mark.parametrize("seed", SEEDS)
def test_without_time_an_answer_is_none_or_true(seed, level, criterion):
    facts, worlds = listed(seed, level, criterion)
    for question in questions_of(worlds):
        answer = cpsat.ask(scope_of(facts), [question], clock(0), 0.0)
        assert answer is None or (answer.point is None) == is_true(worlds, question)


def test_what_the_solver_cannot_tell_in_time_stays_open():
    facts, worlds = listed(1, "rates", "gini")
    bounds, pool = closed_form(facts), WitnessPool(facts)
    pool.add(worlds[:1])
    before = bounds.low.copy(), bounds.high.copy()
    asker = Asker(facts, bounds, pool, clock(0))
    for cell, sign, target in questions_of(worlds):
        assert not asker.settle(CellQuestion(cell, sign, target), QuestionEffort(10, 10, 10, 0.0))
    assert (bounds.low == before[0]).all()
    assert (bounds.high == before[1]).all()


def test_cuts_that_come_near_the_splits_of_three_classes_are_not_asked_again():
    facts, worlds = by_hand(THREE_CLASSES, classes=3)
    for question in questions_of(worlds):
        scope = scope_of(facts)
        scope.rows.add([CellRow(np.array([0]), np.array([1]), 9, None, f"{SPLIT} x0")])
        answer = cpsat.ask(scope, [question], clock(60), AMPLE)
        assert (answer.point is None) == is_true(worlds, question)
        assert not any("x0" in each for each in answer.says)
