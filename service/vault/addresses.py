"""Which addresses the service may call for somebody: public ones, found once and then called as they were found."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit

from treewarden.service.errors import InvalidError

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
        raise InvalidError(_WHERE, "is no https address; give one that begins with https://")
    addresses = resolve(host, port)
    if not addresses:
        raise InvalidError(_WHERE, f"the host {host[:80]!r} is not found; check its name")
    if not is_own:
        for address in addresses:
            if not _is_public(address):
                problem = "leads to this machine or an inner network; the administrator can allow it (webhook_hosts)"
                raise InvalidError(_WHERE, problem)
    return CallTarget(scheme, host, addresses[0], port, path)


def _parts(url: str) -> tuple[str, str, int, str]:
    advice = "give an address such as https://example.org/hook"
    if any(ord(sign) < 33 or ord(sign) == 127 for sign in url):
        raise InvalidError(_WHERE, f"holds spaces or control characters; {advice}")
    try:
        found = urlsplit(url)
        port = found.port
        host = (found.hostname or "").encode("idna").decode() if found.hostname else ""
    except (ValueError, UnicodeError) as error:
        raise InvalidError(_WHERE, f"is no address; {advice}") from error
    if found.scheme not in ("https", "http") or not host:
        raise InvalidError(_WHERE, f"is no https address; {advice}")
    if found.username is not None or found.password is not None or found.fragment:
        raise InvalidError(_WHERE, f"holds a name, a password or a #; {advice}")
    path = (found.path or "/") + (f"?{found.query}" if found.query else "")
    if not path.isascii():
        raise InvalidError(_WHERE, "holds signs that no request line can; write them as %C3%A9")
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
