"""An envelope is believed in the one form in which it was written: no byte of it can be changed."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from treewarden.jobs.attesting.attesting import MOST_BYTES, PAYLOAD_TYPE, opened, sealed
from treewarden.jobs.attesting.keys import (
    AttestationError,
    MalformedError,
    SignatureError,
    make_pair,
    private_key,
    public_key,
)

PAYLOAD = b'{"what":"was said"}'


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    path = tmp_path_factory.mktemp("keys") / "key.pem"
    public = make_pair(path)
    return private_key(path.read_bytes(), "key"), public_key(public.read_bytes())


def test_what_was_sealed_is_opened(pair):
    secret, public = pair
    assert opened(sealed(PAYLOAD, secret), public, "here") == PAYLOAD


def test_every_byte_counts(pair):
    secret, public = pair
    envelope = sealed(PAYLOAD, secret)
    for place in range(len(envelope)):
        for bit in range(8):
            changed = bytearray(envelope)
            changed[place] ^= 1 << bit
            with pytest.raises(AttestationError):
                opened(bytes(changed), public, "here")


@given(st.data())
def test_no_edit_is_believed(pair, data):
    secret, public = pair
    envelope = sealed(PAYLOAD, secret)
    start = data.draw(st.integers(0, len(envelope)))
    end = data.draw(st.integers(start, len(envelope)))
    put = data.draw(st.binary(max_size=12))
    changed = envelope[:start] + put + envelope[end:]
    if changed != envelope:
        with pytest.raises(AttestationError):
            opened(changed, public, "here")


def test_what_was_signed_is_what_dsse_signs(pair):
    secret, public = pair
    said = json.loads(sealed(PAYLOAD, secret))
    signed = f"DSSEv1 {len(PAYLOAD_TYPE)} {PAYLOAD_TYPE} {len(PAYLOAD)} ".encode() + PAYLOAD
    public.verify(base64.b64decode(said["signatures"][0]["sig"]), signed)


def test_another_payload_under_the_same_signature_is_refused(pair):
    secret, public = pair
    said = json.loads(sealed(PAYLOAD, secret))
    said["payload"] = base64.b64encode(b'{"what":"was not"}').decode()
    with pytest.raises(SignatureError):
        opened((json.dumps(said, indent=1) + "\n").encode(), public, "here")


def test_another_key_is_refused(pair, tmp_path):
    other = public_key(make_pair(tmp_path / "other.pem").read_bytes())
    with pytest.raises(SignatureError, match="not with"):
        opened(sealed(PAYLOAD, pair[0]), other, "here")


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 100_000,
        b'{"signatures": [], "payload": ""}',
        b'{"signatures": [{}, {}], "payload": ""}',
        b'{"signatures": [{"sig": 1, "keyid": 1}], "payload": 1}',
        b'{"payload": ' + b"9" * 5000 + b"}",
        b" " * (MOST_BYTES + 1),
    ],
    ids=range(11),
)
def test_what_is_no_envelope_is_refused(pair, said):
    with pytest.raises(MalformedError):
        opened(said, pair[1], "here")
