"""One attempt of a delivery, against receivers that are slow, hostile or somebody else."""

import pytest

from tests.kit.service.receivers import (
    SECONDS,
    open_dripping_receiver,
    open_receiver_with_tls,
    write_certificate,
)
from treewarden.service.vault.addresses import CallTarget
from treewarden.service.worker.delivery import post

HOST = "hooks.example.org"
SHORT = 0.5
DRIPS = {
    "a status": (b"HTTP/1.1 ", b"0"),
    "a header": (b"HTTP/1.1 500 Sorry\r\nX: ", b"a"),
    "headers": (b"HTTP/1.1 500 Sorry\r\n", b"X: a\r\n"),
    "that it is coming": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
}


@pytest.mark.parametrize(("first", "drop"), DRIPS.values(), ids=DRIPS)
def test_who_answers_drop_by_drop_is_hung_up_on(first, drop):
    with open_dripping_receiver(first, drop) as (port, hung_up):
        sent = post(CallTarget("http", HOST, "127.0.0.1", port, "/"), b"{}", {}, SHORT)
        assert hung_up.wait(SECONDS)
    assert not sent.is_done


def test_who_answers_drop_by_drop_with_tls_is_hung_up_on(tmp_path, monkeypatch):
    trusted, context = write_certificate(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with open_dripping_receiver(*DRIPS["a header"], context) as (port, hung_up):
        sent = post(CallTarget("https", HOST, "127.0.0.1", port, "/"), b"{}", {}, SHORT)
        assert hung_up.wait(SECONDS)
    assert not sent.is_done


def test_the_address_is_called_and_the_host_is_asked_for(tmp_path, monkeypatch):
    trusted, context = write_certificate(tmp_path, HOST)
    monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with open_receiver_with_tls(context) as (port, names, got):
        sent = post(
            CallTarget("https", HOST, "127.0.0.1", port, "/hook?a=b"), b"{}", {"X-Own": "1"}
        )
    assert (sent.status, sent.problem) == (200, "")
    assert names == [HOST]
    assert got[0].startswith(b"POST /hook?a=b HTTP/1.1\r\n")
    assert f"Host: {HOST}:{port}\r\n".encode() in got[0]


@pytest.mark.parametrize(
    ("host", "is_trusted"),
    [("elsewhere.example.org", True), ("127.0.0.1", True), (HOST, False)],
)
def test_a_certificate_of_somebody_else_gets_nothing(tmp_path, monkeypatch, host, is_trusted):
    trusted, context = write_certificate(tmp_path, host)
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(trusted))
    with open_receiver_with_tls(context) as (port, _, got):
        sent = post(CallTarget("https", HOST, "127.0.0.1", port, "/"), b"{}", {})
    assert sent.problem == "not reached (SSLCertVerificationError)"
    assert got == []
