"""Which cluster is meant, and what is done where it is not there or has other versions."""

from functools import partial

import pytest

from treewarden.audit.workers.clusters import dask
from treewarden.audit.workers.clusters.cluster import check_same, module_of, on_cluster, versions
from treewarden.audit.workers.processes import each_done
from treewarden.ppdm_models.errors import ClusterError

NOBODY = "tcp://127.0.0.1:9"


@pytest.mark.parametrize("address", ["", "10.0.0.1:8786", "ftp://a", "tcp://", "tcp"])
def test_an_address_of_no_engine_is_refused(address):
    with pytest.raises(ClusterError, match="give tcp://HOST:PORT"):
        module_of(address)


def test_the_scheme_says_which_engine():
    assert module_of("tls://host:8786").endswith("dask")
    assert module_of("ray://auto").endswith("ray")


def test_a_required_cluster_has_to_be_named(pool):
    with (
        pytest.raises(ClusterError, match="--cluster ADDRESS"),
        on_cluster(None, print, is_required=True, pool=pool),
    ):
        raise AssertionError("was done")


def test_without_an_address_work_is_done_here(pool):
    with on_cluster("", print, pool=pool):
        assert not pool.is_elsewhere


def test_other_versions_are_refused_with_both():
    others = {**versions(), "numpy": "1.0"}
    with pytest.raises(ClusterError, match=f"numpy 1.0 there, {versions()['numpy']} here"):
        check_same([dict(versions()), others])


def test_the_same_versions_are_not_refused():
    check_same([dict(versions())] * 2)
    assert versions()["python"].startswith("3.")


def test_a_cluster_that_was_never_there_is_told_of_and_this_machine_does_it(pool, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    told = []
    with on_cluster(NOBODY, told.append, pool=pool):
        assert told == []  # nothing had to be done yet
        assert dict(each_done([partial(abs, -1)], pool.size(), lambda: 9e9, pool)) == {0: 1}
    assert len(told) == 1
    assert "127.0.0.1" not in told[0]


def test_a_required_cluster_that_was_never_there_ends_it(pool, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 0.5)
    with (
        pytest.raises(ClusterError, match="no scheduler"),
        on_cluster(NOBODY, print, is_required=True, pool=pool),
    ):
        raise AssertionError("was done")
