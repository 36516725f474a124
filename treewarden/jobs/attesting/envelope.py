"""A DSSE envelope with one Ed25519 signature: read only in the one form in which it is written.

DSSE (Dead Simple Signing Envelope, version 1) signs a type and the bytes of a payload together, so that neither can be
taken for something else. What the signature does not cover (the layout of the JSON, spare bits of base64, the name of
the key) must be exactly as written here: no byte of an envelope can be changed and still be believed.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from treewarden.jobs.attesting.errors import MalformedError, SignatureError
from treewarden.jobs.attesting.keys import key_id

PAYLOAD_TYPE = "application/vnd.in-toto+json"
MOST_BYTES = 1024 * 1024
"""An attestation says one line a clause: what is larger is none."""


def sealed(payload: bytes, key: Any) -> bytes:  # noqa: ANN401  # a private key, see keys
    """Return the envelope of a payload, signed."""
    return _written(payload, key.sign(_signed(payload)), key_id(key.public_key()))


def opened(envelope: bytes, key: Any, where: str) -> bytes:  # noqa: ANN401  # a public key, see keys
    """Return the payload of an envelope that was signed by this key.

    Raises:
        MalformedError: the bytes are no envelope as it is written here.
        SignatureError: another key signed it, or something in it was changed.
    """
    if len(envelope) > MOST_BYTES:
        raise MalformedError(where, f"more than {MOST_BYTES:,} bytes; give an attestation")
    try:
        said = json.loads(envelope.decode("utf-8"))
        (only,) = said["signatures"]
        payload = base64.b64decode(said["payload"], validate=True)
        signature = base64.b64decode(only["sig"], validate=True)
        name = str(only["keyid"])
    except (ValueError, KeyError, TypeError, RecursionError, binascii.Error) as error:
        problem = "no attestation; give what treewarden attest wrote, unchanged"
        raise MalformedError(where, problem) from error
    if name != key_id(key):
        raise SignatureError(where, f"signed by the key {name!r:.90}, not by {key_id(key)}")
    if envelope != _written(payload, signature, name):
        problem = (
            "was changed since it was written; give the very file that treewarden attest wrote"
        )
        raise SignatureError(where, problem)
    try:
        key.verify(signature, _signed(payload))
    except Exception as error:  # the library's InvalidSignature, of a package that may not be there
        problem = "the signature does not hold: what was signed was changed; ask for it anew"
        raise SignatureError(where, problem) from error
    return payload


def _signed(payload: bytes) -> bytes:
    """Return what is signed: DSSE's pre-authentication encoding."""
    kind = PAYLOAD_TYPE.encode("ascii")
    return b"DSSEv1 %d %s %d %s" % (len(kind), kind, len(payload), payload)


def _written(payload: bytes, signature: bytes, name: str) -> bytes:
    said = {
        "payloadType": PAYLOAD_TYPE,
        "payload": base64.b64encode(payload).decode("ascii"),
        "signatures": [{"keyid": name, "sig": base64.b64encode(signature).decode("ascii")}],
    }
    return (json.dumps(said, indent=1) + "\n").encode("utf-8")
