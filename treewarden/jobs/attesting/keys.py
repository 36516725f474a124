"""Ed25519 keys in PEM files: a pair is made once, and the private one is never overwritten or readable by others."""

from __future__ import annotations

import hashlib
import importlib
import os
from pathlib import Path
from typing import Any

from treewarden.ppdm_models.errors import TreewardenError, os_reason, reading_problem

# What is wrong with an attestation or with a key: one class for each, so that whoever asks can tell them apart.


class AttestationError(TreewardenError):
    """An attestation cannot be made, or is not what is asked for."""


class KeyFileError(AttestationError):
    """A key cannot be made, read, or used."""


class MalformedError(AttestationError):
    """The bytes are no attestation, or one of a schema that is not known."""


class SignatureError(AttestationError):
    """The signature is not by this key, or what was signed was changed."""


class OtherModelError(AttestationError):
    """The attestation speaks of another model."""


class OtherPolicyError(AttestationError):
    """The audit was judged by another policy, or by another version of it."""


class OtherQuestionError(AttestationError):
    """The audit assumed that the adversary knows less, or was told to fail on other clauses."""


class ExpiredError(AttestationError):
    """The attestation is no longer valid, or not yet."""


PASSPHRASE = "TREEWARDEN_KEY_PASSPHRASE"  # noqa: S105  # the name of a variable, not what it holds
"""The environment variable that holds the passphrase of a private key; without it keys are not encrypted."""
MOST_BYTES = 64 * 1024


def make_pair(path: Path, passphrase: str | None = None) -> Path:
    """Write a new private key, and its public key beside it; return the path of the latter.

    Raises:
        KeyFileError: one of the two files is there already, or cannot be written.
    """
    public = path.with_name(f"{path.name}.pub")
    for each in (path, public):
        if each.exists() or each.is_symlink():
            raise KeyFileError(
                str(each), "already exists, and keys are never overwritten; choose another name"
            )
    if not path.parent.is_dir():
        raise KeyFileError(
            str(path.parent), f"there is no such folder; create it: mkdir {path.parent}"
        )
    serialization, ed25519 = _library()
    key = ed25519.Ed25519PrivateKey.generate()
    encryption = serialization.NoEncryption()
    if passphrase:
        encryption = serialization.BestAvailableEncryption(passphrase.encode("utf-8"))
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, encryption)
    shown = key.public_key().public_bytes(pem, serialization.PublicFormat.SubjectPublicKeyInfo)
    _write_new(path, secret, 0o600)
    try:
        _write_new(public, shown, 0o644)
    except KeyFileError:
        path.unlink(missing_ok=True)  # made just now, and of no use without its public key
        raise
    return public


def private_key(data: bytes, where: str, passphrase: str | None = None) -> Any:  # noqa: ANN401  # a type of a package that may not be there
    """Return the private key in a PEM file.

    Raises:
        KeyFileError: it is no Ed25519 key, or the passphrase is missing or wrong.
    """
    serialization, ed25519 = _library()
    secret = passphrase.encode("utf-8") if passphrase else None
    try:
        key = serialization.load_pem_private_key(data, secret)
    except TypeError as error:
        what = "is not encrypted; unset" if secret else "is encrypted; set"
        raise KeyFileError(where, f"the key {what} {PASSPHRASE}") from error
    except Exception as error:  # the library raises errors of several packages for bad input
        problem = (
            f"not a private key (PEM), or {PASSPHRASE} is wrong; give the private key, not the .pub file, "
            "and check the passphrase"
        )
        raise KeyFileError(where, problem) from error
    if not isinstance(key, ed25519.Ed25519PrivateKey):
        raise KeyFileError(
            where, "not an Ed25519 key; make a pair of keys: treewarden attest --make-key FILE"
        )
    return key


def public_key(data: bytes, where: str = "public key") -> Any:  # noqa: ANN401  # as above
    """Return the public key in the bytes of a PEM file.

    Raises:
        KeyFileError: it is none of Ed25519.
    """
    serialization, ed25519 = _library()
    try:
        key = serialization.load_pem_public_key(data)
    except Exception as error:  # as above
        raise KeyFileError(
            where, "not a public key in PEM; give the .pub file of the signer"
        ) from error
    if not isinstance(key, ed25519.Ed25519PublicKey):
        raise KeyFileError(where, "not an Ed25519 key; give the .pub file of the signer")
    return key


def key_id(public: Any) -> str:  # noqa: ANN401  # as above
    """Return the name of a public key: the SHA-256 of its DER form."""
    serialization, _ = _library()
    form = serialization.PublicFormat.SubjectPublicKeyInfo
    return f"sha256:{hashlib.sha256(public.public_bytes(serialization.Encoding.DER, form)).hexdigest()}"


def read_key_file(path: Path) -> bytes:
    """Return the bytes of a key file.

    Raises:
        KeyFileError: it cannot be read, or is too large to be a key.
    """
    try:
        with path.open("rb") as file:
            data = file.read(MOST_BYTES + 1)
    except FileNotFoundError as error:
        problem = "there is no such file; make a pair of keys: treewarden attest --make-key FILE"
        raise KeyFileError(str(path), problem) from error
    except OSError as error:
        raise KeyFileError(str(path), reading_problem(error, "give the file of a key")) from error
    if len(data) > MOST_BYTES:
        raise KeyFileError(str(path), "is too large to be a key; give a PEM file")
    return data


def _write_new(path: Path, data: bytes, mode: int) -> None:
    """Write a file that is not there, whole or not at all, with these rights from the start."""
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    except OSError as error:
        raise KeyFileError(
            str(path), f"cannot be written ({os_reason(error)}); choose another"
        ) from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError as error:
        path.unlink(missing_ok=True)
        raise KeyFileError(
            str(path), f"cannot be written ({os_reason(error)}); choose another file or folder"
        ) from error


def _library() -> tuple[Any, Any]:
    try:
        return (
            importlib.import_module("cryptography.hazmat.primitives.serialization"),
            importlib.import_module("cryptography.hazmat.primitives.asymmetric.ed25519"),
        )
    except ImportError as error:
        problem = "the package cryptography is not installed; pip install 'treewarden[attest]'"
        raise KeyFileError("attestations", problem) from error
