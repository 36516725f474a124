"""Jobs on their way to another process: what they share goes there once."""

import operator
from functools import partial

import pytest

from treewarden.audit.workers import pool
from treewarden.audit.workers.pool import Common, Worker, packed, unpacked


@pytest.fixture
def worker():
    """Return a process of its own, which ends afterwards."""
    found = Worker()
    yield found
    found.end()


def test_what_jobs_share_is_no_part_of_a_job():
    common = Common(bytes(100_000))
    found = packed(partial(operator.attrgetter("value"), common))
    assert len(found.job) < 1000
    assert set(found.common) == {common.key}
    assert found.without(frozenset([common.key])).common == {}


def test_a_job_arrives_with_what_it_shares():
    common = Common("abc")
    found = packed(partial(operator.attrgetter("value"), common))
    keys = frozenset(found.common)
    assert unpacked(found.job, found.common, keys)() == "abc"
    assert unpacked(found.job, {}, keys)() == "abc"
    unpacked(packed(partial(abs, 1)).job, {}, frozenset())
    assert common.key not in pool.HELD


def test_a_worker_that_holds_it_needs_no_more_than_the_key(worker):
    common = Common(list(range(1000)))
    job = partial(operator.attrgetter("value"), common)
    assert worker.ask(job) == common.value
    vars(common)["data"] = b"no pickle"
    assert worker.ask(job) == common.value
