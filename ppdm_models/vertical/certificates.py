"""Who is who between sides: one certificate per role, all of one authority, and TLS in which both ends show theirs."""

from __future__ import annotations

import os
import ssl
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from treewarden.ppdm_models.errors import PartyError

VALID = timedelta(days=30)
EARLIER = timedelta(minutes=5)
"""Clocks of sides may be so far apart."""
AUTHORITY = "ca"


def make_certificates(folder: Path, roles: Sequence[str], *, force: bool = False) -> None:
    """Write ``ca.pem`` and for each role ``ROLE.pem`` and ``ROLE.key``: for trials, as one hand holds all keys.

    The key of the authority is kept nowhere, so that no further certificate can be made of it.

    Raises:
        PartyError: a file is there already and ``force`` is not set, or one cannot be written.
    """
    if AUTHORITY in roles:
        raise PartyError(AUTHORITY, "is what the authority's file is called; choose another name")
    authority_key = ec.generate_private_key(ec.SECP256R1())
    subject = _name("treewarden trial authority")
    authority = (
        _built(subject, subject, authority_key.public_key())
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(is_authority=True), critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    files = {f"{AUTHORITY}.pem": authority.public_bytes(Encoding.PEM)}
    for role in roles:
        key = ec.generate_private_key(ec.SECP256R1())
        both_ends = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        own = (
            _built(_name(role), subject, key.public_key())
            .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
            .add_extension(_usage(is_authority=False), critical=True)
            .add_extension(x509.ExtendedKeyUsage(both_ends), critical=False)
            .add_extension(x509.SubjectAlternativeName([x509.DNSName(role)]), critical=False)
            .sign(authority_key, hashes.SHA256())
        )
        files[f"{role}.pem"] = own.public_bytes(Encoding.PEM)
        files[f"{role}.key"] = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    _write(folder, files, force=force)


def context(folder: Path, role: str, *, is_server: bool) -> ssl.SSLContext:
    """Return what a role speaks TLS 1.3 by; the other end has to show a certificate of the same authority.

    Raises:
        PartyError: a file is missing, or is no certificate or key, or they do not belong together.
    """
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER if is_server else ssl.PROTOCOL_TLS_CLIENT)
    made.minimum_version = ssl.TLSVersion.TLSv1_3
    made.verify_mode = ssl.CERT_REQUIRED
    try:
        made.load_verify_locations(folder / f"{AUTHORITY}.pem")
        made.load_cert_chain(folder / f"{role}.pem", folder / f"{role}.key")
    except (OSError, ssl.SSLError) as error:
        problem = f"{AUTHORITY}.pem, {role}.pem and {role}.key are not all there and of each other"
        raise PartyError(role, f"{problem}; look into the folder of certificates") from error
    return made


def role_of(shown: Mapping[str, object] | None) -> str:
    """Return the role that a certificate names, as ``ssl.SSLSocket.getpeercert`` gives it.

    Raises:
        PartyError: it names none, or more than one.
    """
    names = (shown or {}).get("subjectAltName", ())
    found = [name for kind, name in names if kind == "DNS"] if isinstance(names, tuple) else []
    if len(found) != 1:
        raise PartyError("certificate", f"names {len(found)} roles; it has to name one")
    return str(found[0])


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _built(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey
) -> x509.CertificateBuilder:
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder().subject_name(subject).issuer_name(issuer).public_key(key)
    builder = builder.serial_number(x509.random_serial_number())
    return builder.not_valid_before(now - EARLIER).not_valid_after(now + VALID)


def _usage(*, is_authority: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not is_authority,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=is_authority,
        crl_sign=is_authority,
        encipher_only=False,
        decipher_only=False,
    )


def _write(folder: Path, files: Mapping[str, bytes], *, force: bool) -> None:
    there = [name for name in files if os.path.lexists(folder / name)]
    if there and not force:
        raise PartyError(there[0], "is there already; choose another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, body in files.items():
            path = folder / name
            path.unlink(missing_ok=True)
            mode = 0o600 if name.endswith(".key") else 0o644
            made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
            with os.fdopen(made, "wb") as file:
                file.write(body)
    except OSError as error:
        raise PartyError(folder.name, f"cannot be written: {error.strerror}") from error
