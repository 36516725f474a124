"""Ray by its client server: the same answers as here, and a head that dies is told of and leaves nothing behind."""

import operator
import os
from functools import partial

import pytest

from tests.kit.clusters import ray_here
from tests.kit.processes import forever
from treewarden.audit.workers.clusters import ClusterGoneError
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.clusters.ray import Ray
from treewarden.audit.workers.pool import Common
from treewarden.audit.workers.processes import each_done

ray = pytest.importorskip("ray")
pytest.importorskip("grpc", reason="Ray's client needs it: treewarden[ray] brings both")
pytestmark = [
    pytest.mark.cluster,
    pytest.mark.filterwarnings("ignore"),  # what Ray does of files is its own matter
]


def test_jobs_are_done_by_a_client_and_a_head_that_dies_is_told_of(pool, monkeypatch):
    monkeypatch.setenv("RAY_CLIENT_RECONNECT_GRACE_PERIOD", "1")
    common, told = Common(tuple(range(1000))), []
    shares = partial(operator.attrgetter("value"), common)
    jobs = [partial(pow, 2, 3), shares, partial(os._exit, 1), partial(pow, 2, 4), shares]
    with ray_here(2) as cluster, on_cluster(cluster.address, told.append, pool=pool):
        assert pool.size() == 2
        found = dict(each_done(jobs, 2, forever, pool))
        assert found == {0: 8, 1: common.value, 2: None, 3: 16, 4: common.value}
        assert told == []
        cluster.kill()
        more = dict(each_done([partial(pow, 3, each) for each in range(6)], 2, forever, pool))
        assert not ray.is_initialized()  # neither there nor, all by itself, here
    assert more == {each: 3**each for each in range(6)}
    assert len(told) == 1
    assert "This machine is used instead" in told[0]


def test_where_nobody_listens_it_is_told_at_once(pool):
    told = []
    with on_cluster("ray://127.0.0.1:9", told.append, pool=pool):
        assert dict(each_done([partial(pow, 2, 2)], 1, forever, pool)) == {0: 4}
    assert told == [
        "warning: the cluster cannot be used (there is no Ray cluster (ConnectionRefusedError)). "
        "This machine is used instead"
    ]


@pytest.mark.parametrize(("failures", "is_there"), [(0, True), (3, True), (4, False)])
def test_a_head_whose_server_for_a_client_does_not_start_is_asked_again(
    monkeypatch, failures, is_there
):
    answers = iter([False] * failures + [True])

    def init(*_, **__):
        if not next(answers):
            raise ConnectionAbortedError("Initialization failure from server")

    monkeypatch.setattr(ray, "init", init)
    if is_there:
        Ray(ray, "auto").close()
        assert not list(answers)
    else:
        with pytest.raises(
            ClusterGoneError, match=r"there is no Ray cluster \(ConnectionAbortedError\)"
        ):
            Ray(ray, "auto")
