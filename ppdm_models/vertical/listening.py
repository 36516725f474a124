"""Sockets at the addresses of a host, as far as this machine has them."""

from __future__ import annotations

import asyncio
import errno
import socket

from treewarden.ppdm_models.errors import PartyError


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
        problem = f"cannot be listened on ({error.strerror}); correct the session file, or stop what uses it"
        raise PartyError(f"{host}:{port}", problem) from error
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
