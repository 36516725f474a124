"""One side that compares keys with others, in a process of its own: for the tests of it.

Its arguments are the session file, the folder of certificates, its number, how many nodes, and what goes wrong here.
"""

import asyncio
import json
import os
import random
import signal
import sys
from contextlib import closing
from pathlib import Path

from ppdm_models.vertical.errors import ProtocolError
from ppdm_models.vertical.messages import MINER, Kind
from ppdm_models.vertical.secure import SecureComparison
from ppdm_models.vertical.session_file import read_session
from ppdm_models.vertical.streams import met

MIDDLE = 2


def keys_at(node, session):
    """Return the keys of all parties at a node: small ones with ties, large ones, and those of parties with nothing."""
    drawn = random.Random(node)
    most = drawn.choice([2, 100, session.nothing])
    return [
        drawn.choice([drawn.randrange(most), session.nothing])
        if node % 2
        else drawn.randrange(most)
        for _ in session.parties
    ]


async def compared(meeting, certificates, own, nodes, fault):
    """Return the winners, to the miner, what waits at the end, and who was heard saying what."""
    found = []
    async with met(meeting, own, certificates) as channel:
        with closing(SecureComparison(meeting.session, channel, meeting.seconds)) as comparison:
            for node in range(nodes):
                if node == MIDDLE:
                    go_wrong(fault, channel)
                if own == MINER:
                    found.append(await comparison.winner(node))
                else:
                    await comparison.give(node, keys_at(node, meeting.session)[own])
            tasks = [each for each in asyncio.all_tasks() if hasattr(each, "f_back")]
        kinds = sorted({str(each.kind) for each in channel.log.entries})
        heads = {each.kind for each in channel.log.entries} - {Kind.COMPARING}
        return {"winners": found, "waiting": len(tasks), "kinds": kinds, "odd": len(heads)}


def go_wrong(fault, channel):
    """Do here what a test wants to go wrong."""
    if fault == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    if fault == "stops":
        os.kill(os.getpid(), signal.SIGSTOP)
    if fault == "garbage":
        for other in {MINER, 0, 1, 2} - {channel.own}:
            channel.post(other, Kind.COMPARING, MIDDLE, b"\xff" * 50)


def main():
    """Be the side."""
    file, certificates, own, nodes, fault = sys.argv[1:]
    meeting = read_session(Path(file))
    try:
        said = asyncio.run(compared(meeting, Path(certificates), int(own), int(nodes), fault))
    except ProtocolError as error:
        said = {"who": error.who, "problem": error.problem}
    print(json.dumps(said))


if __name__ == "__main__":
    main()
