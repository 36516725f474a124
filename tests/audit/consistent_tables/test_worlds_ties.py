"""Ties: knowing more of how a learner breaks them never proves less, and no table shows what it would not grow."""

from dataclasses import replace

import numpy as np
import pytest

from tests.judges.doors._refits import Drawn, Published, draw_table, regrown
from tests.kit.cases import multiway_tree, random_table
from tests.kit.rows import rows
from tests.kit.tiers import cases, few, seeds
from treewarden.audit.consistent_tables.engine import reason, reason_in_doubt
from treewarden.audit.consistent_tables.facts.exact import SLACK_SHARE, part_alike
from treewarden.audit.consistent_tables.facts.facts import facts_of
from treewarden.audit.consistent_tables.facts.intervals import with_intervals
from treewarden.audit.consistent_tables.facts.splits import TIE_SHARE
from treewarden.audit.consistent_tables.queries import Asker
from treewarden.audit.consistent_tables.result import UNSURE_TIES, ConsistentTables, Tiers
from treewarden.audit.consistent_tables.witnesses.change_checker import ChangeChecker
from treewarden.audit.consistent_tables.witnesses.sample import GaveUpError, Sampler
from treewarden.audit.consistent_tables.witnesses.witness_pool import (
    Swap,
    TableChanges,
    facts_of_witnesses,
    first_broken,
    node_holds,
    without_false_splits,
)
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge, resolved
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.progress import FOREVER, clock
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tool import Tool
from treewarden.ppdm_models.tree.tree import Criterion


def case_of(seed: int) -> Case:
    """Return a case whose learner took the last of equally good attributes, not the first."""
    table = random_table(seed, features=4, classes=2, records=9 + seed % 5, values=2)
    names = [name for name in table.columns if name != "class"]
    backwards = replace(table, columns={n: table.columns[n] for n in [*names[::-1], "class"]})
    criterion = (Criterion.ENTROPY, Criterion.GINI)[seed % 2]
    tree = multiway_tree(backwards, criterion, min_records=4)
    tree = replace(tree, features=tree.features[::-1])
    people = build_population(tree, table, sensitive="class")
    knowledge = Knowledge(leaf=("counts", "labels")[seed % 3 == 0], split=criterion.value)
    return Case(tree, people, members(tree, people.leaf), knowledge)


@pytest.mark.parametrize("first", cases(range(0, 120, 30), quick=1))
def test_what_is_certain_without_strict_ties_stays_certain_with_them(first):

    for seed in range(first, first + 30):
        system = build_system(case_of(seed))
        plain, strict = (reason(system, strict_ties=how) for how in (False, True))
        assert isinstance(plain, ConsistentTables)
        assert isinstance(strict, ConsistentTables)
        assert not (plain.certain & ~strict.certain).any(), f"seed {seed}"
        assert (strict.low >= plain.low).all(), f"seed {seed}"
        assert (strict.high <= plain.high).all(), f"seed {seed}"


@pytest.mark.in_both
def test_a_candidate_that_the_truth_only_ties_still_cannot_be_better():
    proved = 0
    for seed in few(range(60), 20):
        system = build_system(case_of(seed))
        without = replace(
            system, rows=tuple(row for row in system.rows if row not in system.families)
        )
        strict, blind = reason(system, strict_ties=True), reason(without)
        assert isinstance(strict, ConsistentTables)
        assert isinstance(blind, ConsistentTables)
        assert not any("left out" in note for note in strict.notes), f"seed {seed}"
        proved += int((strict.certain & ~blind.certain).sum())
    assert proved > 0


# Tables that show what is possible: the learner comes to the published tree on each of them, or may.


NOTHING_MORE = Knowledge()


def published(drawn: Drawn, known: Knowledge = NOTHING_MORE, **learner) -> Case:
    """Return the case of the tree that scikit-learn grows on a table, as if another ``learner`` had grown it."""
    model = drawn.fit(drawn.labels)
    names = [str(klass) for klass in range(int(drawn.labels.max()) + 1)]
    tree = from_sklearn(model, feature_names=list(drawn.columns), class_names=names)
    tree = replace(tree, learner=replace(tree.learner, **learner))
    rows = {name: values.tolist() for name, values in drawn.columns.items()}
    rows["class"] = [names[label] for label in drawn.labels]
    people = build_population(tree, table_of(rows), sensitive="class", qi=tuple(drawn.columns))
    return Case(tree, people, members(tree, people.leaf), resolved(known, tree)[0])


def grown_ends(
    drawn: Drawn, case: Case, *, is_patient: bool = False
) -> tuple[np.ndarray, np.ndarray]:
    """Return the ends (P, m) over all tables on which scikit-learn grows the same tree with some random state."""
    people, classes = case.population, int(drawn.labels.max()) + 1
    numbers = np.stack([people.columns[name].numbers for name in drawn.columns], axis=1)
    profile = [int((numbers == row).all(axis=1).argmax()) for row in drawn.matrix]
    tables = regrown(drawn, Published("as-published", classes), is_patient=is_patient)
    counts = np.zeros((len(tables), len(numbers), classes), dtype=np.int64)
    for count, labels in zip(counts, tables, strict=True):
        np.add.at(count, (profile, labels), 1)
    return counts.min(axis=0), counts.max(axis=0)


def by_column(case: Case, values: np.ndarray, name: str) -> dict[float, list]:
    """Return a row per value of a column that tells all profiles apart."""
    numbers = case.population.columns[name].numbers.tolist()
    return dict(zip(numbers, values.tolist(), strict=True))


TWO_OF_EACH = np.repeat([0.0, 1.0, 2.0], 2)


def test_a_later_cut_of_the_same_column_that_is_as_good_leaves_a_table_possible():
    # With both of a = 2 of class 0 the cut above 1 parts as the published one below 1 does; that one comes first.
    drawn = Drawn({"a": TWO_OF_EACH}, np.array([0, 0, 0, 1, 0, 1]), {"max_depth": 1})
    case = published(drawn)
    assert [node.name for node in case.tree.leaves] == ["1", "2"]
    found = reason_in_doubt(build_system(case))
    assert by_column(case, found.reached_high, "a")[2.0] == [2, 1]
    assert by_column(case, found.high, "a")[2.0] == [2, 1]
    assert not found.not_decided


def test_an_earlier_cut_of_the_same_column_that_is_as_good_leaves_a_table_undecided():
    drawn = Drawn({"a": TWO_OF_EACH}, np.array([0, 1, 0, 1, 0, 0]), {"max_depth": 1})
    case = published(drawn)
    found = reason_in_doubt(build_system(case))
    least, most = grown_ends(drawn, case)
    assert by_column(case, most, "a")[0.0] == [1, 1]
    assert by_column(case, found.reached_high, "a")[0.0] == [1, 1]
    # It proves nothing that scikit-learn takes the first: the proof takes either as possible.
    assert by_column(case, found.high, "a")[0.0] == [2, 1]
    assert (found.low <= least).all()
    assert UNSURE_TIES in found.left


COLUMNS = {"a": np.array([2, 2, 3, 0, 1, 1, 2.0]), "b": np.array([2, 2, 1, 2, 2, 2, 0.0])}


def test_a_tie_that_rounding_always_resolves_against_a_table_shows_nothing():
    # 3 ln 3 + 4 ln 2 by two cuts of a, from other counts: scikit-learn's logarithms find the other one better.
    drawn = Drawn(
        COLUMNS, np.array([1, 1, 2, 0, 0, 2, 0]), {"criterion": "entropy", "max_depth": 1}
    )
    case = published(drawn)
    least, most = grown_ends(drawn, case)
    forced = (least == case.population.counts[:, None]).any(axis=1)
    found = reason_in_doubt(build_system(case))
    assert forced.sum() == 2
    assert (found.certain | found.open_profiles)[forced].all()
    assert found.not_decided == () or UNSURE_TIES in " ".join(found.not_decided)


SQUARE = {"a": np.array([0, 0, 0, 1, 1, 1.0]), "b": np.array([0, 0, 1, 0, 1, 1.0])}
CROSSED = np.array([0, 1, 0, 1, 0, 1])
"""Both columns part six records in 2 of one class and 1 of the other, each the other way round."""
LEARNERS = [
    (("a", "b"), {}, NOTHING_MORE, True),
    (("a", "b"), {"tool": Tool.TREEWARDEN}, NOTHING_MORE, True),
    (("b", "a"), {"tool": Tool.TREEWARDEN}, NOTHING_MORE, False),
    (("a", "b"), {"tool": Tool.RPART}, NOTHING_MORE, False),
    (("a", "b"), {"tool": Tool.SPARK}, NOTHING_MORE, False),
    (("a", "b"), {"tool": Tool.UNKNOWN, "criterion": None}, Knowledge(split="gini"), False),
]


@rows("names, learner, known, is_shown", LEARNERS)
def test_a_tie_of_two_columns_shows_something_where_the_program_may_have_taken_either(
    names, learner, known, is_shown
):
    for seed in range(20):
        settings = {"max_depth": 1, "random_state": seed}
        drawn = Drawn({name: SQUARE[name] for name in names}, CROSSED, settings)
        case = published(drawn, known, stopping=None, **learner)
        if case.tree.features[drawn.fit(CROSSED).tree_.feature[0]].name == "a":
            break
    found = reason_in_doubt(build_system(case))
    single = case.population.counts == 1
    assert single.sum() == 2
    assert found.open_profiles[single].tolist() == [not is_shown] * 2
    assert not found.certain.any()


def drawn_case(seed: int) -> tuple[Drawn, Case] | None:
    """Return a small random table with scikit-learn's tree; None where it is a leaf."""
    draw = np.random.default_rng([seed, 77])
    settings = {
        "criterion": str(draw.choice(["gini", "entropy"])),
        "max_depth": int(draw.integers(1, 4)),
        "min_samples_leaf": int(draw.choice([1, 1, 2])),
        "random_state": int(draw.integers(100)),
    }
    drawn = draw_table(draw, settings, most=8)
    return (drawn, published(drawn)) if drawn.fit(drawn.labels).tree_.node_count > 1 else None


BY_SEARCH = [Tiers(enumerate=None), Tiers(enumerate=None, swaps=False, draws=0, most_draws=0)]


@pytest.mark.parametrize("first", cases([1114, 1124, 1151, 0, 20], quick=2))
def test_nothing_is_shown_but_by_tables_on_which_the_learner_grows_the_tree(first, monkeypatch):
    real, untied = Asker._find_untied, []
    monkeypatch.setattr(Asker, "_find_untied", lambda *of: untied.append(real(*of)) or untied[-1])
    moved = 0
    for seed in range(first, first + 5):
        drawn_here = drawn_case(seed)
        if drawn_here is None:
            continue
        drawn, case = drawn_here
        system, (least, most) = build_system(case), grown_ends(drawn, case, is_patient=True)
        answers = [reason_in_doubt(system)]
        if not system.left_out:
            answers += [reason(system, tiers=tiers) for tiers in BY_SEARCH]
        for found in answers:
            assert isinstance(found, ConsistentTables)
            assert (found.reached_low >= least).all(), seed
            assert (found.reached_high <= most).all(), seed
            assert (found.low <= least).all(), seed
            assert (found.high >= most).all(), seed
            moved += int((found.reached_low < found.reached_high).sum())
        forced = (least == case.population.counts[:, None]).any(axis=1)
        assert not (answers[0].open_profiles & ~forced).any(), seed
    assert moved, len(untied)
    print("UNTIED", untied)


def test_where_a_solver_finds_a_table_with_a_tie_it_is_asked_for_one_without(monkeypatch):
    real, answers = Asker._find_untied, []

    def find_untied(asker, scope, question, table):
        is_found = real(asker, scope, question, table)
        answers.append(is_found)
        assert not is_found or first_broken(asker.pool.facts, table) is None
        return is_found

    monkeypatch.setattr(Asker, "_find_untied", find_untied)
    for seed, criterion in ((80, "gini"), (86, "entropy")):
        draw = np.random.default_rng([seed, 5])
        size = int(draw.integers(12, 40))
        columns = {name: draw.integers(3, size=size) * 1.0 for name in "abc"}
        labels = np.concatenate([[0, 1], draw.integers(2, size=size - 2)])
        settings = {"max_depth": 2, "criterion": criterion, "random_state": seed}
        case = published(Drawn(columns, labels, settings))
        reason(build_system(case), tiers=BY_SEARCH[1])
    assert any(answers)


def facts_of_both(case: Case):
    """Return the facts for proofs and those for tables that show, and the true table."""
    system = build_system(case)
    facts = with_intervals(facts_of(system))
    truth = facts.arranged(case.population.truth)
    facts = without_false_splits(facts, truth)
    return facts, facts_of_witnesses(facts, truth), truth


@pytest.mark.parametrize("seed", seeds(24, quick=6))
def test_intervals_leave_out_the_same_ties_as_the_rule_does_table_by_table(seed):
    drawn = draw_table(np.random.default_rng([seed, 9]), {"max_depth": 2, "random_state": seed})
    drawn = replace(drawn, labels=np.minimum(drawn.labels, 1))
    if drawn.fit(drawn.labels).tree_.node_count == 1:
        return
    facts, shown, truth = facts_of_both(published(drawn))
    assert (shown is facts) or shown.splits.keys() == facts.splits.keys()
    draw = np.random.default_rng(seed)
    for node, splits in shown.splits.items():
        for split, wide in zip(splits, facts.splits[node], strict=True):
            if split is wide:
                continue
            here = np.repeat(truth[None, split.start : split.end], 60, axis=0)
            for place in facts.places.values():
                if split.start <= place.start < split.end:
                    inside = slice(place.start - split.start, place.end - split.start)
                    for table in here:
                        part = table[inside]
                        classes = draw.permutation(np.repeat([0, 1], part.sum(axis=0)))
                        owner = np.repeat(np.arange(len(part)), part.sum(axis=1))
                        part[:] = 0
                        np.add.at(part, (owner, classes), 1)
            by_rule = replace(split, low=None, high=None)
            assert (split.holds(here) == by_rule.holds(here)).all()
            assert (split.holds(here) <= wide.holds(here)).all()
            good, shows = wide.hold_and_show(split, here)
            assert (good == wide.holds(here)).all()
            assert (shows == split.holds(here)).all()
            assert all(
                (not split.broken(table)) == is_good
                for table, is_good in zip(here, shows, strict=True)
            )


def three_classes(seed: int) -> Case:
    """Return a tree of scikit-learn on few values and three classes, so that many splits tie."""
    draw = np.random.default_rng([seed, 10])
    columns = {name: draw.integers(3, size=24) * 1.0 for name in "ab"}
    labels = np.concatenate([[0, 1, 2], draw.integers(3, size=21)])
    criterion = ("gini", "entropy")[seed % 2]
    return published(Drawn(columns, labels, {"max_depth": 2, "criterion": criterion}))


@pytest.mark.parametrize("seed", seeds(12, quick=4))
def test_a_change_and_a_draw_show_something_where_the_table_obeys_the_rule(seed):
    facts, shown, truth = facts_of_both(three_classes(seed))
    checker = ChangeChecker(shown, truth)
    every = [
        (first, own, second, other)
        for place in facts.places.values()
        for first in range(place.start, place.end)
        for second in range(place.start, place.end)
        for own, other in [(0, 1), (1, 2), (0, 2)]
        if first != second and truth[first, own] and truth[second, other]
    ]
    trades = np.array(every).T
    changes = TableChanges(*trades, to=trades[3])
    allowed = set(checker.allowed(changes, FOREVER).tolist())
    for number, trade in enumerate(every):
        table = Swap(*trade).applied(truth)[None]
        is_world = all(node_holds(shown, at, table[:, shown.span(at)])[0] for at in shown.splits)
        assert (number in allowed) == is_world
    sampler = Sampler(facts, clock(100), seed, 1.0, shown)
    try:
        tables = sampler.tables(40)
    except GaveUpError:
        return
    shows = [
        all(node_holds(shown, at, table[None, shown.span(at)])[0] for at in shown.splits)
        for table in tables
    ]
    assert sampler.shows.tolist() == shows


def test_floats_find_splits_equal_that_are_computed_from_the_same_numbers():
    chosen = np.array([[[4, 1, 0], [0, 3, 2]]])
    alike = [[[4, 1, 0], [0, 3, 2]], [[0, 3, 2], [4, 1, 0]], [[1, 4, 0], [0, 2, 3]]]
    for branches in alike:
        assert part_alike(Criterion.ENTROPY, np.array([branches]), chosen).all()
    assert not part_alike(Criterion.GINI, np.array([[[4, 0, 0], [0, 4, 2]]]), chosen).any()
    assert not part_alike(Criterion.GINI, np.array([[[4, 1], [0, 3]]]), np.ones((1, 3, 2))).any()
    three, other = np.array([[[4, 1, 2], [0, 3, 2]]]), np.array([[[1, 4, 2], [0, 3, 2]]])
    assert part_alike(Criterion.GINI, three, other).all()
    assert not part_alike(Criterion.ENTROPY, three, other).any()
    many = np.array([[[1, 0], [2, 3], [0, 1]]])
    assert part_alike(Criterion.GAIN_RATIO, many, many[:, ::-1]).all()
    assert float(SLACK_SHARE) < TIE_SHARE
