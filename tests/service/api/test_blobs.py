import gzip
import hashlib
import socket

import pytest
from sqlalchemy import func, select

from tests.kit.service import refusing, serving, sites
from tests.kit.service.tables import files
from treewarden.service.database.tables import blob
from treewarden.service.use_cases.retention import sweep

DATA = b"age,sick\n" + b"41,canary-7f3\n" * 60_000


def address(data=DATA, kind="table"):
    return f"/api/v1/blobs/{hashlib.sha256(data).hexdigest()}?kind={kind}"


def number(site):
    with site.reading() as unit:
        return unit.connection.execute(select(func.count()).select_from(blob)).scalar_one()


def with_limits(site, **limits):
    settings = site.settings.model_copy(update=limits)
    return type(site)(settings, site.engine, site.vault)


def pieces(data):
    yield from (data[at : at + 10_000] for at in range(0, len(data), 10_000))


def test_an_upload_is_new_once(site, ann):
    client = refusing.open_client(site, ann)
    first = client.put(address(), content=pieces(DATA))
    assert (first.status_code, first.json()["size"]) == (201, len(DATA))
    assert client.put(address(), content=DATA).status_code == 200
    assert client.put(address(kind="model"), content=DATA).status_code == 201
    assert len(files(site)) == number(site) == 2


def test_what_is_not_what_its_address_says_is_not_kept(site, ann):
    client = refusing.open_client(site, ann)
    answer = client.put(address(), content=DATA[:-1])
    assert answer.status_code == 422
    assert "canary" not in answer.text
    assert not files(site)
    assert not number(site)


@pytest.mark.parametrize(
    "path", ["/api/v1/blobs/xyz?kind=table", address(kind="report"), address()[:-11]]
)
def test_an_address_that_is_none_is_refused(site, ann, path):
    assert refusing.open_client(site, ann).put(path, content=DATA).status_code == 422
    assert not files(site)


def test_only_who_may_submit_uploads(site, ann):
    vic = sites.add_account(site, ann.organisation_id, "vic", "viewer")
    assert refusing.open_client(site, vic).put(address(), content=DATA).status_code == 403
    assert refusing.open_client(site).put(address(), content=DATA).status_code == 401
    assert not files(site)


@pytest.mark.parametrize("kind", ["model", "table"])
def test_too_much_is_refused_whether_its_length_is_said_or_not(site, ann, kind):
    client = refusing.open_client(with_limits(site, **{f"max_{kind}": len(DATA) - 1}), ann)
    for content in (DATA, pieces(DATA)):
        assert client.put(address(kind=kind), content=content).status_code == 413
    assert not files(site)
    client = refusing.open_client(with_limits(site, **{f"max_{kind}": len(DATA)}), ann)
    assert client.put(address(kind=kind), content=DATA).status_code == 201


@pytest.mark.parametrize("coding", ["gzip", "br", "identity, gzip", "x"])
def test_compressed_bodies_are_not_taken(site, ann, coding):
    bomb = gzip.compress(bytes(10_000_000))
    headers = {"Content-Encoding": coding}
    answer = refusing.open_client(site, ann).put(address(bomb), content=bomb, headers=headers)
    assert answer.status_code == 415
    assert not files(site)


def test_a_vault_that_takes_nothing_is_said_to_be_unavailable(site, ann):
    (site.vault.folder / "incoming").rmdir()
    (site.vault.folder / "incoming").write_bytes(b"")
    answer = refusing.open_client(site, ann).put(address(), content=DATA)
    assert answer.status_code == 503
    assert not number(site)


def half_sent(site, ann, port):
    """Return a connection over which half of an upload was sent, of which some has arrived on disk."""
    connection = socket.create_connection(("127.0.0.1", port), timeout=serving.SECONDS)
    head = f"PUT {address()} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(DATA)}\r\n"
    head += f"Authorization: Bearer {sites.add_token(site, ann)}\r\n\r\n"
    connection.sendall(head.encode() + DATA[: len(DATA) - 9])
    serving.until(lambda: any(path.stat().st_size for path in files(site)))
    return connection


@pytest.mark.processes
@sites.ON_SQLITE
def test_an_upload_that_is_cut_off_leaves_nothing(site, ann):
    with serving.served(site) as (_, port):
        half_sent(site, ann, port).close()
        serving.until(lambda: not files(site))
    assert not number(site)


@pytest.mark.processes
@sites.ON_SQLITE
def test_an_upload_is_swept_when_its_server_was_killed_and_never_before(site, ann):
    with serving.served(site) as (process, port), half_sent(site, ann, port):
        assert sweep(site).parts == 0
        (part,) = files(site)
        assert b"canary" not in part.read_bytes()
        process.kill()
        process.wait()
        assert files(site) == [part]
        assert sweep(site).parts == 1
    assert not files(site)
    assert not number(site)
