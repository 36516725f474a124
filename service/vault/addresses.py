"""Which addresses and files the service may open for somebody: public addresses, and paths below an allowed folder.

An address is looked up once, and then called as it was found. Each folder on the way to a file is opened from the one
before, never through a link: what is checked is what is read, whatever is put in its place meanwhile.
"""

from __future__ import annotations

import ipaddress
import os
import re
import socket
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

from treewarden.service.errors import InvalidError, TooLargeError

Resolve = Callable[[str, int], Sequence[str]]
"""The addresses of a host, as texts."""
_WHERE = "url"


@dataclass(frozen=True, slots=True)
class CallTarget:
    """Where a call goes: the ``address`` that was checked, and what the request says of the host."""

    scheme: str
    host: str
    address: str
    port: int
    path: str

    @property
    def authority(self) -> str:
        """The host as the request names it."""
        usual = {"https": 443, "http": 80}[self.scheme]
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == usual else f"{host}:{self.port}"


def resolved(host: str, port: int) -> Sequence[str]:
    """Return the addresses of a host, as the system finds them.

    Raises:
        InvalidError: it has none.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise InvalidError(
            _WHERE, f"the host {host[:80]!r} is not found; check its name"
        ) from error
    return [str(each[4][0]) for each in found]


def target(url: str, own_hosts: Sequence[str], resolve: Resolve = resolved) -> CallTarget:
    """Return where a call goes.

    ``own_hosts`` are those that the administrator named: they may have private addresses, and need no TLS.

    Raises:
        InvalidError: it is no https address, or an address of this machine or network.
    """
    scheme, host, port, path = _parts(url)
    is_own = host in own_hosts or f"{host}:{port}" in own_hosts
    if scheme != "https" and not is_own:
        raise InvalidError(_WHERE, "is not an https address; give one that begins with https://")
    addresses = resolve(host, port)
    if not addresses:
        raise InvalidError(_WHERE, f"the host {host[:80]!r} is not found; check its name")
    if not is_own:
        for address in addresses:
            if not _is_public(address):
                problem = (
                    "leads to this machine or an internal network; ask the "
                    "administrator to allow it (webhook_hosts)"
                )
                raise InvalidError(_WHERE, problem)
    return CallTarget(scheme, host, addresses[0], port, path)


def _parts(url: str) -> tuple[str, str, int, str]:
    advice = "give an address such as https://example.org/hook"
    if any(ord(sign) < 33 or ord(sign) == 127 for sign in url):
        raise InvalidError(_WHERE, f"contains spaces or control characters; {advice}")
    try:
        found = urlsplit(url)
        port = found.port
        host = (found.hostname or "").encode("idna").decode() if found.hostname else ""
    except (ValueError, UnicodeError) as error:
        raise InvalidError(_WHERE, f"is not an address; {advice}") from error
    if found.scheme not in ("https", "http") or not host:
        raise InvalidError(_WHERE, f"is not an https address; {advice}")
    if found.username is not None or found.password is not None or found.fragment:
        raise InvalidError(_WHERE, f"contains a user name, a password or a #; {advice}")
    path = (found.path or "/") + (f"?{found.query}" if found.query else "")
    if not path.isascii():
        raise InvalidError(
            _WHERE,
            "contains characters that are not allowed in an address; write them in the form %C3%A9",
        )
    return found.scheme, host.lower(), port or {"https": 443, "http": 80}[found.scheme], path


def _is_public(text: str) -> bool:
    """Return whether an address belongs to nobody in particular near here; one within another counts as well."""
    address = ipaddress.ip_address(text.partition("%")[0])
    if any(address in each for each in _OF_NOBODY):
        return False
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo or (None, None))[1]
        if inner is not None and not _is_public(str(inner)):
            return False
        if address in _NAT64:
            return _is_public(str(ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)))
        if address not in _GIVEN_OUT:
            return False
    return address.is_global and not address.is_multicast


_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_GIVEN_OUT = ipaddress.ip_network("2000::/3")
"""The only IPv6 addresses given out to the public; the rest embeds others, stays inside, or means nothing yet."""
_OF_NOBODY = tuple(
    ipaddress.ip_network(each)
    for each in ("192.0.0.0/24", "192.88.99.0/24", "168.63.129.16/32", "3fff::/20")
)
"""What Python calls public and is not: protocols' own, relays, two clouds' own machines, and documentation."""


MOST_SIGNS = 4096
_WHERE_OF_PATHS = "path"
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_FOLDER = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_LOOK = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC


def open_below(path: str, roots: Iterable[str], most: int) -> BinaryIO:
    """Return a plain file of at most ``most`` bytes, opened for reading.

    Raises:
        InvalidError: the path is none, leads to no allowed folder, passes a link, or names no plain file.
        TooLargeError: the file is larger.
    """
    root, parts = _split(path, roots)
    try:
        folder = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            for part in parts[:-1]:
                deeper = os.open(part, _FOLDER, dir_fd=folder)
                os.close(folder)
                folder = deeper
            return _opened(folder, parts[-1], most)
        finally:
            os.close(folder)
    except OSError as error:
        problem = "there is no readable file; name the file itself, because links are not followed"
        raise InvalidError(_WHERE_OF_PATHS, problem) from error


def _split(path: str, roots: Iterable[str]) -> tuple[str, list[str]]:
    """Return the allowed folder that a path is below, the deepest one, and the names that lead on from there."""
    if len(path) > MOST_SIGNS or _CONTROL.search(path) or not _is_text(path):
        raise InvalidError(_WHERE_OF_PATHS, "is not a path; give the path of a file, in one line")
    if _URL.match(path):
        raise InvalidError(_WHERE_OF_PATHS, "is a URL; give the path of a file of the server")
    if not path.startswith("/"):
        raise InvalidError(_WHERE_OF_PATHS, "does not begin with “/”; give the full path")
    parts = _parts_of_path(path)
    if ".." in path.split("/") or "." in path.split("/") or path.endswith("/"):
        problem = "contains “.” or “..”, or names a folder; give the plain path of a file"
        raise InvalidError(_WHERE_OF_PATHS, problem)
    found: tuple[str, list[str]] | None = None
    depth = -1
    for root in roots:
        above = _parts_of_path(str(Path(root).absolute()))
        if len(above) > depth and len(parts) > len(above) and parts[: len(above)] == above:
            found, depth = ("/" + "/".join(above), parts[len(above) :]), len(above)
    if found is None:
        problem = (
            "is not in an allowed folder; upload the table, or ask the "
            "administrator (setting table_roots)"
        )
        raise InvalidError(_WHERE_OF_PATHS, problem)
    return found


def _parts_of_path(path: str) -> list[str]:
    return [part for part in path.split("/") if part]


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:  # halves of signs
        return False
    return True


def _opened(folder: int, name: str, most: int) -> BinaryIO:
    """Return a file of a folder; what is no plain file is looked at only, as to open one may do something."""
    seen = os.open(name, _LOOK, dir_fd=folder)
    try:
        known = os.fstat(seen)
    finally:
        os.close(seen)
    if not stat.S_ISREG(known.st_mode):
        raise InvalidError(
            _WHERE_OF_PATHS, "is not a regular file; give the path of the file itself"
        )
    file = os.fdopen(os.open(name, _READ, dir_fd=folder), "rb")
    now = os.fstat(file.fileno())
    if not stat.S_ISREG(now.st_mode) or (now.st_dev, now.st_ino) != (known.st_dev, known.st_ino):
        file.close()
        raise InvalidError(_WHERE_OF_PATHS, "was changed while it was being opened; try again")
    if now.st_size > most:
        file.close()
        problem = (
            f"contains more than {most:,} bytes; give a smaller table, or ask the "
            "administrator to raise the limit"
        )
        raise TooLargeError(_WHERE_OF_PATHS, problem)
    return file
