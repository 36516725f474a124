"""Servers that webhooks are sent to, and that behave badly; each on a port of its own, gone afterwards."""

import datetime
import ipaddress
import re
import socket
import ssl
import threading
from contextlib import contextmanager

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

MOST_DRIPS = 3000
SECONDS = 60


@contextmanager
def open_dripping_receiver(first, drop, context=None):
    """Answer ``first``, then ``drop`` again and again; give the port, and what is set once the caller hung up."""
    hung_up, is_over = threading.Event(), threading.Event()
    listening = socket.create_server(("127.0.0.1", 0))

    def answer():
        with suppressed(), listening.accept()[0] as plain:
            sock = plain if context is None else context.wrap_socket(plain, server_side=True)
            with sock:
                sock.recv(65536)
                try:
                    sock.sendall(first)
                    for _ in range(MOST_DRIPS):
                        sock.sendall(drop)
                        is_over.wait(0.01)
                except OSError:
                    hung_up.set()

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield listening.getsockname()[1], hung_up
    finally:
        is_over.set()
        listening.close()
        thread.join(SECONDS)


@contextmanager
def open_receiver_with_tls(context):
    """Answer 200 to one request; give the port, which names were asked for, and what was sent."""
    names, got = [], []
    context.sni_callback = lambda _, name, __: names.append(name)
    listening = socket.create_server(("127.0.0.1", 0))

    def answer():
        with (
            suppressed(),
            listening.accept()[0] as plain,
            context.wrap_socket(plain, server_side=True) as sock,
        ):
            got.append(_read_request(sock))
            sock.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    thread = threading.Thread(target=answer)
    thread.start()
    try:
        yield listening.getsockname()[1], names, got
    finally:
        listening.close()
        thread.join(SECONDS)


def _read_request(sock):
    """Read one request to its end: a connection that is closed with bytes unread is reset, and the answer is lost."""
    request = b""
    while True:
        head, found, body = request.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", head)
        if found and len(body) >= int(length[1] if length else 0):
            return request
        chunk = sock.recv(65536)
        if not chunk:
            return request
        request += chunk


@contextmanager
def suppressed():
    """Let a connection break: that is what these tests are about."""
    try:
        yield
    except OSError:
        return


def write_certificate(folder, host):
    """Write a certificate that a host signed for itself; return its file, and what a server shows it with."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([_named(host)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    public, secret = folder / "certificate.pem", folder / "key.pem"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    secret.write_bytes(
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        )
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, secret)
    return public, context


def _named(host):
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
