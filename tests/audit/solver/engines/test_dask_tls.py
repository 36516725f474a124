"""Dask behind TLS: certificates are those that Dask's own configuration names, and without them nothing travels."""

from functools import partial

import pytest

from tests.kit.clusters import dask_here
from tests.kit.processes import forever
from treewarden.audit.workers.clusters import dask
from treewarden.audit.workers.clusters.cluster import on_cluster
from treewarden.audit.workers.processes import each_done
from treewarden.ppdm_models.errors import ClusterError
from treewarden.ppdm_models.methods.vertical.transport import make_certificates

pytest.importorskip("distributed")
config = pytest.importorskip("dask.config")
pytestmark = pytest.mark.cluster

ROLES = ("scheduler", "worker", "client")
JOBS = [partial(pow, each, 2) for each in range(6)]
SQUARES = {each: each**2 for each in range(6)}


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, ROLES)
    return folder


@pytest.fixture(scope="module")
def address(certificates):
    with dask_here(1, certificates) as found:
        yield found.address


@pytest.fixture
def showing(monkeypatch):
    """Return what has Dask show the certificates in a folder, by the variables that a user sets."""

    def show(folder):
        files = {"CA_FILE": "ca.pem", "CLIENT__CERT": "client.pem", "CLIENT__KEY": "client.key"}
        for name, file in files.items():
            monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{name}", str(folder / file))
        config.refresh()

    yield show
    monkeypatch.undo()
    config.refresh()


def done(address, pool, told, **how):
    with on_cluster(address, told.append, pool=pool, **how):
        return dict(each_done(JOBS, pool.size(), forever, pool))


def test_a_cluster_behind_tls_does_the_work(address, certificates, showing, pool):
    showing(certificates)
    told = []
    assert address.startswith("tls://")
    assert done(address, pool, told, is_required=True) == SQUARES
    assert told == []


def test_without_certificates_it_is_said_what_is_missing(address, pool):
    with pytest.raises(
        ClusterError, match="certificates are missing; name them .*distributed.comm.tls"
    ):
        done(address, pool, [])


def test_who_shows_a_certificate_of_somebody_else_is_not_let_in(
    address, tmp_path, showing, pool, monkeypatch
):
    monkeypatch.setattr(dask, "CONNECT_SECONDS", 1.0)
    make_certificates(tmp_path, ROLES)
    showing(tmp_path)
    told = []
    assert done(address, pool, told) == SQUARES
    assert len(told) == 1
    assert "certificates do not fit" in told[0]
    with pytest.raises(ClusterError, match="certificates do not fit; start the cluster"):
        done(address, pool, [], is_required=True)


def test_a_certificate_that_is_not_there_is_told_of(address, tmp_path, showing, pool):
    showing(tmp_path)
    with pytest.raises(ClusterError, match="certificates do not fit"):
        done(address, pool, [], is_required=True)
