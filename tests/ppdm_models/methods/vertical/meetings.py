"""Meetings of sides over this machine's own network, all in one loop, for the tests of connections."""

import asyncio
import socket
from dataclasses import replace

from treewarden.ppdm_models.methods.vertical.messages import MINER, ProtocolError, role
from treewarden.ppdm_models.methods.vertical.session import ListeningAddress, Meeting, Session
from treewarden.ppdm_models.methods.vertical.streams import met

NAMES = "alice", "bobby", "carol"
SESSION = Session(NAMES, ((0,), (1,), (2,)), 14, ("no", "yes"), 0)


def free_ports(count):
    """Return ports that nobody listens at."""
    found = [socket.socket() for _ in range(count)]
    for each in found:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in found]
    for each in found:
        each.close()
    return ports


def meeting_of(session=SESSION, seconds=30, asked=0, digest=b"d" * 32):
    """Return a meeting of the sides of a session at free ports."""
    sides = range(MINER, len(session.parties))
    ports = free_ports(len(sides))
    addresses = {
        side: ListeningAddress("localhost", port) for side, port in zip(sides, ports, strict=True)
    }
    return Meeting("test", session, "play", addresses, seconds, asked, digest)


async def told(meeting, own, certificates, body):
    """Take part with a body; return what it returns, or what this side says when it ends otherwise."""
    try:
        async with met(meeting, own, certificates) as channel:
            return await body(channel)
    except ProtocolError as error:
        return f"{role(error.who, meeting.session.parties)}: {error.problem}"


def all_told(meeting, certificates, bodies, **others):
    """Run sides by their numbers, each with its body; return what came of each by its name.

    ``others`` are coroutines that run beside them, by a name of their own.
    """

    async def run():
        coroutines = {
            role(own, meeting.session.parties): told(meeting, own, certificates, body)
            for own, body in bodies.items()
        } | others
        found = await asyncio.gather(*coroutines.values(), return_exceptions=True)
        return dict(zip(coroutines, found, strict=True))

    return asyncio.run(run())


def other_file(meeting):
    """Return the same meeting as of another session file."""
    return replace(meeting, digest=b"e" * 32)
