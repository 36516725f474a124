"""Who is who between sides: one certificate per role, all of one authority, and TLS in which both ends show theirs."""

from __future__ import annotations

import asyncio
import errno
import hashlib
import os
import socket
import ssl
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from treewarden.ppdm_models.errors import PartyError, os_reason
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    Message,
    MessageKind,
    ProtocolError,
    Reason,
)
from treewarden.ppdm_models.methods.vertical.modes import (
    KEY_BYTES,
    MOST_WIDTH,
    OVERHEAD,
    PADDED,
    ring_of,
)
from treewarden.ppdm_models.methods.vertical.roles import MOST_BRANCHES
from treewarden.ppdm_models.methods.vertical.secure_minimum import ComputingPlan
from treewarden.ppdm_models.methods.vertical.session import Session

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


def role_of(certificate: Mapping[str, object] | None) -> str:
    """Return the role that a certificate names, as ``ssl.SSLSocket.getpeercert`` gives it.

    Raises:
        PartyError: it names none, or more than one.
    """
    names = (certificate or {}).get("subjectAltName", ())
    found = [name for kind, name in names if kind == "DNS"] if isinstance(names, tuple) else []
    if len(found) != 1:
        raise PartyError("certificate", f"names {len(found)} roles; it must name one")
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
        raise PartyError(there[0], "already exists; choose another folder")
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
        raise PartyError(folder.name, f"cannot be written: {os_reason(error)}") from error


# Messages as bytes on a stream: each with its length and number, measured before it is read.

MAGIC = b"treewarden-vertical/2\n"
RANDOM_BYTES = 16
_HELLO = struct.Struct(f"<{len(MAGIC)}s4sh32s{RANDOM_BYTES}s")
_HEAD = struct.Struct("<IQBI")
_KINDS = tuple(MessageKind)
_PLACES = {kind: place for place, kind in enumerate(_KINDS)}
_KINDS_TOLD = hashlib.sha256("\n".join(_KINDS).encode()).digest()[:4]
"""Kinds go over the wire as their places: sides that have other ones, or in another order, must not talk."""


def drawn() -> bytes:
    """Return what a side makes its hello to one other different by from all others."""
    return os.urandom(RANDOM_BYTES)


def first_number(sender: bytes, receiver: bytes) -> int:
    """Return the number of the first frame one way, from what both drew: none of another connection has it."""
    return int.from_bytes(hashlib.sha256(sender + receiver).digest()[:7], "little")


def hello(side: int, digest: bytes, random: bytes) -> bytes:
    """Return what a side says first: the protocol, its number, the digest of its session file, and what it drew."""
    return _HELLO.pack(MAGIC, _KINDS_TOLD, side, digest, random)


async def check_hello(reader: asyncio.StreamReader, peer: int, digest: bytes) -> bytes:
    """Read what the other side says first; return what it drew.

    Raises:
        ProtocolError: it speaks another protocol, is somebody else, or has another session file.
        OSError, EOFError: the connection ends.
    """
    said = await reader.readexactly(_HELLO.size)
    magic, kinds, number, theirs, random = _HELLO.unpack(said)
    if magic != MAGIC or number != peer:
        raise ProtocolError(peer, "does not speak this protocol", Reason.GARBAGE)
    if kinds != _KINDS_TOLD:
        problem = "runs another version of treewarden; install the same one on all sides"
        raise ProtocolError(peer, problem, Reason.BREAKS)
    if theirs != digest:
        raise ProtocolError(peer, Reason.DIFFERS.words, Reason.DIFFERS)
    return bytes(random)


def frame(message: Message, number: int) -> bytes:
    """Return a message as it goes over a stream, the ``number``th to this receiver."""
    head = _HEAD.pack(len(message.body), number, _PLACES[message.kind], message.node)
    return head + message.body


async def read_frame(
    reader: asyncio.StreamReader,
    sender: int,
    receiver: int,
    number: int,
    most: Callable[[MessageKind, int, int], int],
) -> Message:
    """Read the message that has to be the ``number``th of a sender; ``most`` is ``MessageLimits.body_limit``.

    Raises:
        ProtocolError: it is too long, no kind that there is, or not that one.
        OSError, EOFError: the connection ends.
    """
    length, told, place, node = _HEAD.unpack(await reader.readexactly(_HEAD.size))
    if told != number:
        raise ProtocolError(sender, Reason.REPLAYED.words, Reason.REPLAYED)
    limit = most(_KINDS[place], sender, receiver) if place < len(_KINDS) else -1
    if limit < 0:
        raise ProtocolError(sender, Reason.GARBAGE.words, Reason.GARBAGE)
    if length > limit:
        raise ProtocolError(sender, Reason.TOO_MUCH.words, Reason.TOO_MUCH)
    return Message(sender, receiver, _KINDS[place], node, await reader.readexactly(length))


# Sockets at the addresses of a host, as far as this machine has them.


async def bound(host: str, port: int) -> list[socket.socket]:
    """Return sockets at all addresses of a host that this machine has: a name may stand for some that it has not.

    Raises:
        PartyError: there is none, or the port is taken.
    """
    made: list[socket.socket] = []
    try:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, kind, protocol, _, address in dict.fromkeys(found):
            each = _socket_at(family, kind, protocol, address)
            if each is not None:
                made.append(each)
        if not made:
            raise OSError(errno.EADDRNOTAVAIL, "this machine has no such address")
    except OSError as error:
        for each in made:
            each.close()
        problem = f"the address cannot be used ({os_reason(error)})"
        advice = "correct it in the session file, or stop the program that uses this port"
        raise PartyError(f"{host}:{port}", f"{problem}; {advice}") from error
    return made


def _socket_at(
    family: int, kind: int, protocol: int, address: tuple[object, ...]
) -> socket.socket | None:
    """Return a socket at one address; None where the machine does not have it."""
    try:
        made = socket.socket(family, kind, protocol)
    except OSError:
        return None
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(address)
    except OSError as error:
        made.close()
        if error.errno == errno.EADDRNOTAVAIL:
            return None
        raise
    return made


# How long a message of each kind can be, from what is public: whoever says more is not listened to.

IDEAL = frozenset({MessageKind.KEY, MessageKind.WINNER})
"""What only the ideal box of simulations hears and says: between real sides it is refused."""
MOST_OTHER = 1 << 26
PER_RECORD = 64
"""Kinds without a rule of their own may have so many bytes, and so many more for each record."""


class MessageLimits:
    """The longest bodies of one session; ``asked`` is how many records are classified at most."""

    def __init__(self, session: Session, requested: int) -> None:
        ring = ring_of(session.records).itemsize
        classes, records = len(session.classes), session.records
        vector, share = classes * ring, records * classes * ring
        sealed = 1 + -(-records // 8) + OVERHEAD
        parties = len(session.parties)
        self._session, self._row, self._records = session, vector, records * ring
        self._most = {
            MessageKind.GROUP_KEY: KEY_BYTES,
            MessageKind.LABELS: 2 * records,
            MessageKind.WIDTH: 4,
            MessageKind.SEED: KEY_BYTES,
            MessageKind.SHARE: share,
            MessageKind.SUMS: 0,
            MessageKind.SUM: vector + OVERHEAD,
            MessageKind.TOKEN: 1 + parties * (vector + OVERHEAD),
            MessageKind.LEAF: 2,
            MessageKind.SPLIT: 0,
            MessageKind.SCORE: 0,
            MessageKind.MASKED_SHARE: share,
            MessageKind.COMPARING: ComputingPlan(session).most_bytes,
            MessageKind.WON: 0,
            MessageKind.BRANCHES: 6,
            MessageKind.MEMBERS: 6,
            MessageKind.RELAY: MOST_BRANCHES * sealed,
            MessageKind.RELAYED: parties * MOST_BRANCHES * sealed,
            MessageKind.MASKED_BRANCHES: MOST_BRANCHES * records * ring,
            MessageKind.ASK: 4 * requested,
            MessageKind.BRANCH: 2 * requested,
            MessageKind.END: 0,
            MessageKind.BYE: 0,
            MessageKind.ABORT: 3,
        }
        self._other = MOST_OTHER + PER_RECORD * records
        self._share = share

    def body_limit(self, kind: MessageKind, sender: int, receiver: int) -> int:
        """Return how many bytes the body of a message may have; less than none: it may not be sent at all."""
        match kind:
            case _ if kind in IDEAL:
                return -1
            case MessageKind.MASKED_TABLE:
                return self._records * self._width(sender)
            case MessageKind.COUNTS:
                return self._row * self._width(receiver)
            case MessageKind.CORRECTION:
                return max(self._row * self._width(receiver), MOST_BRANCHES * self._share)
            case _:
                return self._most.get(kind, self._other)

    def unread(self, sender: int, receiver: int) -> int:
        """Return how many bytes of a side may wait to be read: two of each kind, as no side runs further ahead."""
        return 2 * sum(max(0, self.body_limit(kind, sender, receiver)) for kind in MessageKind)

    def _width(self, party: int) -> int:
        """Return how many columns of categories a party can have; the miner has none."""
        if party == MINER:
            return 0
        own = min(len(self._session.ranks[party]) * MOST_BRANCHES, MOST_WIDTH)
        return -(-own // PADDED) * PADDED
