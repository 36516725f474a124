"""People in the trees of a forest: the same bytes for any number of processes, and whoever dies costs nothing."""

import pickle
import threading
from dataclasses import replace

import numpy as np
import pytest

from tests.audit.population.sent_over import FOREST, TREES, people, said, sent_by_others_too
from tests.kit.forests import by_sex, forest, stump
from tests.kit.tiers import cases
from treewarden.audit.population import routing
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.leaves import Crowd, crowd_of
from treewarden.audit.population.routing import Batch, refused_profiles, sent
from treewarden.audit.workers.pool import Common, Pool, Worker
from treewarden.ppdm_models.errors import TableError
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.ensemble import Member
from treewarden.ppdm_models.tree.predicate import AnyOf, CategoryTest, NumericTest, Refusal
from treewarden.ppdm_models.tree.tree import (
    Feature,
    Missing,
    Node,
    Quality,
    Tree,
)


@pytest.fixture
def batches(monkeypatch):
    """Let three trees be a batch, and give out even these few."""
    monkeypatch.setattr(routing, "WORTH_A_WORKER", 0)
    monkeypatch.setattr(routing, "WORTH_A_JOB", 0)
    monkeypatch.setattr(routing, "BATCH_STOPS", 3 * len(people().counts))


def none():
    raise AssertionError("a process was started")


@pytest.mark.parametrize("settings", cases([{"sampling_weights": "weight"}, {}], quick=1))
def test_any_number_of_processes_says_the_same(batches, pool, settings):
    crowd = people(**settings)
    one = said(sent(FOREST, crowd))
    assert one == said(sent_by_others_too(crowd, 2, pool))
    assert one == said(sent_by_others_too(crowd, 3, pool))


@pytest.mark.parametrize("settings", [{}, {"sampling_weights": "weight"}])
def test_each_tree_is_what_it_is_alone(settings):
    crowd = people(**settings)
    stops, standing = sent(FOREST, crowd)
    for tree, here, found in zip(TREES, stops, standing, strict=True):
        alone = route(tree, crowd.columns)
        assert np.array_equal(here, alone)
        for node in range(len(tree.nodes)):
            assert found.people[node] == crowd.counts[alone == node].sum()
            assert np.array_equal(found.classes[node], crowd.truth[alone == node].sum(axis=0))
            if found.weighed is not None:
                sums = crowd.weighed_truth[alone == node].sum(axis=0)
                assert found.weighed_classes[node] == pytest.approx(sums)
                assert found.weighed[node] == pytest.approx(sums.sum())
    assert any((here < 0).any() for here in stops)


def test_people_in_several_leaves_are_in_none_and_told_of():
    tree = stump(40.0, "no", "yes", missing=Missing.WEIGHTED_CONFIDENCE)
    crowd = people()
    _, (found,) = sent(forest(tree), crowd)
    lacking = crowd.counts[crowd.columns["age"].missing].sum()
    assert found.spread == lacking > 0
    assert found.people.sum() == crowd.records - lacking


class _Dying(Worker):
    """Dies over whatever it is asked, as long as it is one of the first ``number``."""

    number = 0

    def ask(self, job):
        kind = type(self)
        kind.number -= 1
        if kind.number >= 0:
            self.kill()
        return super().ask(job)


@pytest.mark.processes
def test_a_worker_that_dies_costs_nothing(batches, monkeypatch):
    monkeypatch.setattr(_Dying, "number", 2)
    crowd, pool = people(), Pool(_Dying)
    assert said(sent(FOREST, crowd)) == said(sent_by_others_too(crowd, 2, pool))
    pool.stop()


class _Dead(Worker):
    """Has died before it answers; ``asked`` tells when it was asked."""

    asked = threading.Event()

    def is_ready(self, wait_seconds=0.0):
        return True

    def ask(self, job):
        self.asked.set()


def test_what_ends_three_processes_is_done_here(batches):
    crowd, told = people(), []

    def share(done, of, what):
        assert _Dead.asked.wait(60)
        told.append(done)

    pool = Pool(_Dead)
    assert said(sent(FOREST, crowd)) == said(sent(FOREST, crowd, share, 2, pool))
    assert told[-1] == len(TREES)
    pool.stop()


def test_an_interrupt_leaves_no_process(batches):
    started = []

    def start():
        started.append(Worker())
        return started[-1]

    def share(done, of, what):
        if threading.current_thread() is threading.main_thread():
            while not started:
                pass
            raise KeyboardInterrupt

    pool = Pool(start)
    with pytest.raises(KeyboardInterrupt):
        sent(FOREST, people(), share, 2, pool)
    assert started
    assert all(each.process.poll() is not None for each in started)


def test_few_trees_start_no_process():
    crowd = people()
    found = [said(sent(FOREST, crowd, jobs=jobs, pool=Pool(none))) for jobs in (1, 2, None)]
    assert found[0] == found[1] == found[2]


def test_one_job_starts_no_process(batches):
    crowd = people()
    assert said(sent(FOREST, crowd)) == said(sent(FOREST, crowd, jobs=1, pool=Pool(none)))


def test_trees_that_speak_of_some_stay_in_this_process(batches):
    women = CategoryTest("sex", ("F",))
    inner = forest(*TREES[:3], members=(Member(TREES[0], test=women), Member(TREES[1])))
    model = forest(*TREES, members=(Member(inner), *FOREST.members))
    crowd = people()
    stops, _ = sent(model, crowd, jobs=2, pool=Pool(none))
    men = crowd.columns["sex"].codes == 1
    assert (stops[0][men] < 0).all()
    assert np.array_equal(stops[2:], sent(FOREST, crowd)[0])


def comb(splits):
    """Return a tree that cuts one year after the other off."""
    nodes = [Node(0, "0", None, (1, 2))]
    for at in range(1, 2 * splits, 2):
        children = (at + 2, at + 3) if at + 2 < 2 * splits else ()
        nodes.append(Node(at, str(at), at - 1, (), NumericTest("age", high=float(at)), "no"))
        test = NumericTest("age", float(at), low_closed=True)
        nodes.append(Node(at + 1, str(at + 1), at - 1, children, test, "yes"))
    quality = Quality.ABSENT
    return Tree(tuple(nodes), (Feature("age", True),), "flu", ("no", "yes"), quality=quality)


@pytest.mark.parametrize(("splits", "kind"), [(63, np.int8), (64, np.int16)])
def test_what_travels_are_the_smallest_numbers_that_hold_the_nodes(splits, kind):
    tree, ages = comb(splits), np.arange(-1.0, 150.0)
    crowd = Crowd({"age": NumericColumn(ages)}, np.ones(len(ages)), None, None)
    (stops,) = Batch((tree,), (None,), Common(crowd))().stops
    assert stops.dtype == kind
    assert np.array_equal(stops, route(tree, crowd.columns))
    assert stops.max() == 2 * splits


def test_people_travel_without_what_was_worked_out_of_them():
    crowd = crowd_of(people())
    bytes_before = pickle.dumps(crowd)
    Batch(tuple(TREES), (None,) * len(TREES), Common(crowd))()
    assert pickle.dumps(crowd) == bytes_before


def test_what_is_not_known_is_not_counted():
    crowd = crowd_of(people())
    unknown = Crowd(crowd.columns, crowd.counts, None, None)
    (found,) = Batch((by_sex("no", "yes"),), (None,), Common(unknown))().standing
    assert (found.classes, found.weighed, found.weighed_classes) == (None, None, None)
    assert found.people.sum() == crowd.counts.sum()


def test_a_record_that_one_tree_refuses_is_named_though_others_take_it():
    plain = stump(50.0, "no", "yes")
    young = Refusal(NumericTest("age", high=20.5))
    nodes = [replace(node, test=AnyOf((node.test, young))) for node in plain.nodes[1:2]]
    refusing = replace(plain, nodes=(plain.nodes[0], *nodes, plain.nodes[2]))
    model = forest(by_sex("no", "yes"), refusing)
    found = refused_profiles(model, people())
    assert found.any()
    assert not found.all()
    with pytest.raises(TableError, match=r"a tree of the model rejects the record age = 20,"):
        forest_of(model, people())
    assert not refused_profiles(forest(by_sex("no", "yes"), plain), people()).any()
