"""Jobs that come up one after the other: asked for when a process is free, ended with the time or whoever listens."""

import itertools
import os
from contextlib import closing
from functools import partial

import pytest

from tests.kit.processes import forever
from treewarden.audit.workers.pool import Pool
from treewarden.audit.workers.processes import each_done
from treewarden.policies.pack import load_pack
from treewarden.ppdm_models.errors import PolicyError, SolverError


@pytest.fixture(scope="module")
def pool():
    """Return processes for all tests: one that ends is followed by another."""
    found = Pool()
    yield found
    found.stop()


def test_every_job_has_its_answer_by_its_number(pool):
    jobs = [partial(pow, 2, 3), partial(SolverError, "a", "b"), partial(pow, 2, 4)]
    found = dict(each_done(jobs, 2, forever, pool))
    assert (found[0], str(found[1]), found[2]) == (8, "a: b", 16)


def test_a_refusal_that_is_raised_is_an_answer_too(pool, tmp_path):
    jobs = [partial(load_pack, str(tmp_path / "none.toml"))]
    assert isinstance(dict(each_done(jobs, 1, forever, pool))[0], PolicyError)


@pytest.mark.processes
def test_a_job_whose_process_dies_is_lost_and_the_others_are_not(pool):
    jobs = [partial(pow, 2, 1), partial(os._exit, 0), partial(pow, 2, 2)]
    assert dict(each_done(jobs, 2, forever, pool)) == {0: 2, 1: None, 2: 4}


def test_no_more_jobs_are_asked_for_than_processes_are_free(pool):
    asked = []

    def jobs():
        for number in range(5):
            asked.append(number)
            yield partial(abs, number)

    with closing(each_done(jobs(), 2, forever, pool)) as answers:
        next(answers)
        assert asked == [0, 1]
        next(answers)
        assert asked == [0, 1, 2]


def test_as_many_more_are_asked_for_as_may_wait(pool):
    asked = []

    def jobs():
        for number in range(5):
            asked.append(number)
            yield partial(abs, number)

    with closing(each_done(jobs(), 1, forever, pool, ahead=2)) as answers:
        next(answers)
        assert asked == [0, 1, 2]
        assert sorted(number for number, _ in answers) == [1, 2, 3, 4]


@pytest.mark.processes
def test_when_the_time_is_up_what_runs_is_ended_and_nothing_more_comes(pool, endless):
    seconds = itertools.chain([60.0, 0.05], itertools.repeat(0.0))
    jobs = [partial(endless.read_bytes)] * 3
    assert list(each_done(jobs, 2, lambda: next(seconds), pool)) == []


def test_no_jobs_have_no_answers(pool):
    assert list(each_done([], 2, forever, pool)) == []
