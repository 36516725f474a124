"""Only who holds a certificate of the session's authority gets through, and each is known by its role."""

import ssl

import pytest

from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.transport import context, make_certificates, role_of


@pytest.fixture
def folder(tmp_path):
    make_certificates(tmp_path, ["miner", "alice", "bobby"])
    return tmp_path


def shaken(client, server, name):
    """Shake hands in memory; return the certificates that the client and the server saw."""
    up, down = ssl.MemoryBIO(), ssl.MemoryBIO()
    dialled = client.wrap_bio(down, up, server_hostname=name)
    listening = server.wrap_bio(up, down, server_side=True)
    waiting = [dialled, listening]
    for _ in range(10):
        for each in list(waiting):
            try:
                each.do_handshake()
                waiting.remove(each)
            except ssl.SSLWantReadError:
                continue
    assert not waiting
    return dialled.getpeercert(), listening.getpeercert()


def test_both_ends_see_the_role_of_the_other(folder):
    client, server = (
        context(folder, "alice", is_server=False),
        context(folder, "bobby", is_server=True),
    )
    assert [role_of(each) for each in shaken(client, server, "bobby")] == ["bobby", "alice"]


def test_who_is_dialled_and_is_somebody_else_is_not_talked_to(folder):
    client, server = (
        context(folder, "alice", is_server=False),
        context(folder, "bobby", is_server=True),
    )
    with pytest.raises(ssl.SSLCertVerificationError):
        shaken(client, server, "miner")


def test_a_certificate_of_another_authority_does_not_get_through(folder, tmp_path):
    make_certificates(tmp_path / "other", ["alice", "bobby"])
    client = context(tmp_path / "other", "alice", is_server=False)
    with pytest.raises(ssl.SSLError):
        shaken(client, context(folder, "bobby", is_server=True), "bobby")


def test_keys_are_for_their_owner_alone_and_are_not_overwritten(folder):
    before = (folder / "alice.key").read_bytes()
    assert {path.stat().st_mode & 0o777 for path in folder.glob("*.key")} == {0o600}
    with pytest.raises(PartyError, match="already exists"):
        make_certificates(folder, ["alice"])
    assert (folder / "alice.key").read_bytes() == before
    make_certificates(folder, ["alice"], force=True)
    assert (folder / "alice.key").read_bytes() != before


def test_a_key_of_another_role_is_refused(folder):
    (folder / "alice.key").write_bytes((folder / "bobby.key").read_bytes())
    with pytest.raises(PartyError, match="of each other"):
        context(folder, "alice", is_server=True)


@pytest.mark.parametrize("shown", [None, {}, {"subjectAltName": (("DNS", "a"), ("DNS", "b"))}])
def test_a_certificate_names_one_role(shown):
    with pytest.raises(PartyError, match="must name one"):
        role_of(shown)
