"""Ray: the same answers as here, and a process that dies costs its own jobs alone."""

import operator
import os
from functools import partial

import pytest

from tests.audit.population.sent_over import FOREST, people, sent_by_others_too
from tests.audit.population.sent_over import said as said_of_trees
from tests.kit.processes import forever
from treewarden.audit.population import routing
from treewarden.audit.population.routing import sent
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.pool import Common, Pool
from treewarden.audit.workers.processes import each_done

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.cluster


def nobody(text):
    raise AssertionError(text)


@pytest.fixture(scope="module")
def cluster():
    """Start Ray on this machine, with its own words about itself left out."""
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=50,
        _node_ip_address="127.0.0.1",
        object_store_memory=80 * 2**20,
    )
    yield "ray://auto"
    ray.shutdown()


@pytest.mark.filterwarnings("ignore")  # what Ray does of files and threads is its own matter
def test_jobs_are_done_on_ray_and_one_that_kills_costs_no_other(cluster):
    pool, common = Pool(), Common(tuple(range(1000)))
    shares = partial(operator.attrgetter("value"), common)
    jobs = [partial(pow, 2, 3), shares, partial(os._exit, 1), partial(pow, 2, 4), shares]
    with on_cluster(cluster, nobody, pool=pool):
        assert pool.size() == 2
        found = dict(each_done(jobs, 2, forever, pool))
    assert found == {0: 8, 1: common.value, 2: None, 3: 16, 4: common.value}
    assert ray.is_initialized()  # whoever began it ends it


@pytest.mark.filterwarnings("ignore")  # what Ray does of files and threads is its own matter
def test_where_people_stop_in_a_forest_is_the_same_bytes_on_ray(cluster, monkeypatch):
    monkeypatch.setattr(routing, "WORTH_A_WORKER", 0)
    monkeypatch.setattr(routing, "BATCH_STOPS", 1)
    crowd = people()
    here = said_of_trees(sent(FOREST, crowd))
    with on_cluster(cluster, nobody):
        there = said_of_trees(sent_by_others_too(crowd, None))
    assert here == there
