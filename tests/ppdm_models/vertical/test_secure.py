"""Keys compared as shares, each side in a process of its own: who wins, who hears it, and who is named if it fails."""

import asyncio
import json
import signal
import socket
import subprocess
import sys
from contextlib import closing

import pytest

from ppdm_models.vertical import engine
from ppdm_models.vertical.certificates import make_certificates
from ppdm_models.vertical.channel import LocalNetwork
from ppdm_models.vertical.errors import ProtocolError, Reason
from ppdm_models.vertical.messages import MINER, Kind
from ppdm_models.vertical.secure import MANY, SecureComparison, threshold
from ppdm_models.vertical.session import Session
from ppdm_models.vertical.session_file import read_session
from ppdm_models.vertical.smallest import WIDTH, groups, pairs_in
from tests.ppdm_models.vertical import comparing_side
from tests.ppdm_models.vertical.comparing_side import keys_at

SECONDS = 15


def session_file(folder, parties, seconds=60):
    """Write what sides need to meet on this machine, and return the session file."""
    names = [f"p{number}" for number in range(parties)]
    held = [socket.create_server(("localhost", 0)) for _ in range(parties + 1)]
    ports = [each.getsockname()[1] for each in held]
    for each in held:
        each.close()
    lines = ['name = "t"', "records = 500", 'target = "c"', 'classes = ["a", "b"]']
    lines += ['labelled = "p0"', f"seconds = {seconds}"]
    lines += ["[miner]", 'host = "localhost"', f"port = {ports[-1]}"]
    for name, port in zip(names, ports, strict=False):
        lines += ["[[party]]", f'name = "{name}"', 'host = "localhost"', f"port = {port}"]
        lines += ["attributes = 2"]
    file = folder / "session.toml"
    file.write_text("\n".join(lines))
    make_certificates(folder / "certificates", ["miner", *names])
    return file


def processes(file, parties, nodes, faults):
    """Start all sides; ``faults`` are those of sides by their numbers."""
    command = [sys.executable, comparing_side.__file__, file, file.parent / "certificates"]
    return {
        own: subprocess.Popen(
            [*command, str(own), str(nodes), faults.get(own, "")],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for own in (MINER, *range(parties))
    }


def ended(running):
    """Return what processes say in the end; the last line of errors may only be empty."""
    found = {}
    for own, each in running.items():
        out, errors = each.communicate(timeout=120)
        assert (errors, each.returncode) == ("", 0)
        found[own] = json.loads(out)
    return found


def expected(file, nodes):
    """Return the winner at each node, the first of several."""
    session = read_session(file).session
    return [keys.index(min(keys)) for keys in (keys_at(node, session) for node in range(nodes))]


@pytest.mark.parametrize(("parties", "nodes"), [(2, 20), (3, 40), (5, 6), (MANY - 1, 6), (10, 3)])
def test_the_miner_hears_whose_key_is_smallest_and_nobody_else_anything(tmp_path, parties, nodes):
    file = session_file(tmp_path, parties)
    found = ended(processes(file, parties, nodes, {}))
    assert found[MINER]["winners"] == expected(file, nodes)
    assert all(each["waiting"] == 0 for each in found.values())
    assert all(found[party]["winners"] == [] for party in range(parties))


@pytest.mark.parametrize("fault", ["dies", "stops", "garbage"])
def test_whoever_dies_stops_or_talks_garbage_is_named_by_all_others(tmp_path, fault):
    file = session_file(tmp_path, 3, SECONDS)
    running = processes(file, 3, 10, {1: fault})
    guilty = running.pop(1)
    try:
        found = ended(running)
    finally:
        guilty.send_signal(signal.SIGKILL)
        guilty.communicate()
    assert [each["who"] for each in found.values()] == [1, 1, 1]


def test_there_are_never_enough_together_for_a_majority():
    for parties in range(2, 65):
        assert 1 <= 2 * threshold(parties) < parties + 1


SESSION = Session(("a", "b"), ((0,), (1,)), 10, ("no", "yes"), 0)


def of_party_a(play, seconds=60):
    """Return what comes of a play that has party a's comparison and the ends of both others."""

    async def run():
        network = LocalNetwork()
        others = {1: network.end(1), MINER: network.end(MINER)}
        with closing(SecureComparison(SESSION, network.end(0), seconds)) as comparison:
            return await play(comparison, others)

    return asyncio.run(run())


async def greeted(others):
    """Let both others say what party a has said: what is the same for all sides."""
    for each in others.values():
        said = await each.following(0)
        each.post(0, Kind.COMPARING, 0, said.body[:32])


@pytest.mark.parametrize(
    "body", [b"", b"hello", bytes(31), bytes(32), bytes(10_000)], ids=lambda body: str(len(body))
)
def test_who_compares_otherwise_is_named_at_once(body):
    async def play(comparison, others):
        others[1].post(0, Kind.COMPARING, 0, body)
        with pytest.raises(ProtocolError, match="compares keys otherwise") as caught:
            await comparison.give(0, 5)
        return caught.value.who

    assert of_party_a(play) == 1


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"\xff" * 7, Reason.GARBAGE),
        (b"\xff" * 12, Reason.GARBAGE),
        (bytes(24), Reason.GARBAGE),
        (b"".join(number.to_bytes(12, "little") for number in range(5_000)), Reason.TOO_MUCH),
    ],
    ids=["cut", "too long", "twice", "too many"],
)
def test_garbage_is_the_fault_of_who_sent_it(body, reason):
    async def play(comparison, others):
        await greeted(others)
        others[1].post(0, Kind.COMPARING, 0, body)
        with pytest.raises(ProtocolError) as caught:
            await comparison.give(0, 5)
        return caught.value.who, caught.value.reason

    assert of_party_a(play) == (1, reason)


def test_a_share_of_another_length_is_the_fault_of_who_sent_it():
    async def play(comparison, others):
        await greeted(others)

        async def answer():
            said = await others[1].following(0)
            others[1].post(0, Kind.COMPARING, 0, said.body[:8] + b"\x01\0\0\0x")

        answering = asyncio.create_task(answer())
        with pytest.raises(ProtocolError) as caught:
            await comparison.give(0, 5)
        await answering
        return caught.value.who, caught.value.reason

    assert of_party_a(play) == (1, Reason.GARBAGE)


def test_who_never_says_anything_is_late():
    async def play(comparison, others):
        said = await others[MINER].following(0)
        others[MINER].post(0, Kind.COMPARING, 0, said.body[:32])
        with pytest.raises(ProtocolError, match=r"for 0\.2 seconds") as caught:
            await comparison.give(0, 5)
        return caught.value.who, caught.value.reason

    assert of_party_a(play, 0.2) == (1, Reason.LATE)


def test_nothing_is_left_when_it_is_given_up():
    async def play(comparison, others):
        await greeted(others)
        giving = asyncio.create_task(comparison.give(0, 5))
        await asyncio.sleep(0.05)
        giving.cancel()
        comparison.close()
        comparison.close()
        await asyncio.sleep(0.01)
        return len(asyncio.all_tasks())

    assert of_party_a(play) == 1


def test_a_process_has_one_comparison_at_a_time():
    async def play(comparison, others):
        with pytest.raises(ValueError, match="one session at a time"):
            SecureComparison(SESSION, others[1], 60)

    of_party_a(play)
    of_party_a(play)


def test_a_key_above_all_keys_is_a_mistake_of_ours():
    async def play(comparison, _):
        with pytest.raises(ValueError, match="none of this session"):
            await comparison.give(0, SESSION.nothing + 1)

    of_party_a(play)


WITHOUT = """
import sys
sys.modules["mpyc"] = None
from ppdm_models.errors import PartyError
from ppdm_models.vertical.engine import library
try:
    library()
except PartyError as error:
    print(error)
"""
IMPORTED = """
import asyncio, logging, os, sys
sys.argv += ["-H", "-M3", "--log-level", "debug"]
before = dict(os.environ), sys.argv[:], asyncio.get_event_loop_policy()
from ppdm_models.vertical.engine import library
library()
assert (dict(os.environ), sys.argv[:], asyncio.get_event_loop_policy()) == before
assert not logging.getLogger().handlers
"""


@pytest.mark.parametrize(
    ("program", "said"),
    [
        (
            WITHOUT,
            "mpyc: is not installed, and keys are compared by it; pip install 'treewarden[mpc]'\n",
        ),
        (IMPORTED, ""),
    ],
    ids=["without it", "with it"],
)
def test_the_library_is_asked_for_and_changes_nothing_when_it_is_imported(program, said):
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == (said, "")


def test_every_key_is_in_one_group_and_none_is_compared_with_itself():
    for count in range(1, 65):
        assert [each for group in groups(count) for each in group] == list(range(count))
        assert all(1 <= len(group) <= WIDTH for group in groups(count))
    assert [pairs_in(count) for count in (1, 2, 3, 4, 5, 10)] == [0, 1, 3, 6, 5, 15]


def test_the_library_can_unpickle_nothing():
    assert vars(engine.library().runtime)["pickle"] is None
