"""Sides that meet over a network: they talk, and whatever fails at one of them, all end and name the same side."""

import asyncio
import contextlib
import logging
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from ppdm_models.errors import PartyError
from ppdm_models.vertical.certificates import context, make_certificates
from ppdm_models.vertical.connected import patience
from ppdm_models.vertical.errors import ProtocolError
from ppdm_models.vertical.framing import KINDS, Hello, Writing
from ppdm_models.vertical.messages import MINER, Kind
from ppdm_models.vertical.streams import met
from tests.ppdm_models.vertical.meetings import NAMES, SESSION, all_told, meeting_of, other_file

ALICE, BOBBY, CAROL = range(3)
SIDES = MINER, ALICE, BOBBY, CAROL
CANARY = b"canary-4711"


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certificates")
    make_certificates(folder, ["miner", *NAMES])
    return folder


async def waits_for_the_miner(channel):
    await channel.following(MINER)


async def waits_for_bobby(channel):
    await channel.following(BOBBY)


async def leaves(_):
    return "left"


async def never_answers(channel):
    await asyncio.Event().wait()


def with_bobby(body):
    """The bodies of sides that wait for the miner, which waits for bobby, who does something else."""
    return {
        MINER: waits_for_bobby,
        ALICE: waits_for_the_miner,
        BOBBY: body,
        CAROL: waits_for_the_miner,
    }


def test_messages_arrive_in_order_and_both_ends_keep_a_log_of_them(certificates):
    async def speaks(channel):
        for node in range(300):
            channel.post(ALICE, Kind.TOKEN, node, bytes(node % 30))
        await channel.receive(ALICE, Kind.SPLIT)
        return channel.log.entries

    async def hears(channel):
        for node in range(300):
            assert await channel.receive(MINER, Kind.TOKEN, node) == bytes(node % 30)
        await channel.send(MINER, Kind.SPLIT)
        return channel.log.entries

    bodies = {MINER: speaks, ALICE: hears, BOBBY: leaves, CAROL: leaves}
    found = all_told(meeting_of(), certificates, bodies)
    assert found["miner"] == found["alice"]
    assert len(found["miner"]) == 301
    assert (found["bobby"], found["carol"]) == ("left", "left")


def test_a_message_larger_than_all_buffers_arrives_while_one_as_large_goes_the_other_way(
    certificates,
):
    session = replace(SESSION, records=200_000)

    def exchanges(other):
        async def body(channel):
            sent = bytes([channel.own]) * 1_600_000
            await channel.send(other, Kind.MASKED_SHARE, 0, sent)
            return (await channel.receive(other, Kind.MASKED_SHARE)) == bytes([other]) * 1_600_000

        return body

    bodies = {MINER: leaves, ALICE: exchanges(BOBBY), BOBBY: exchanges(ALICE), CAROL: leaves}
    found = all_told(meeting_of(session), certificates, bodies)
    assert found == {"miner": "left", "alice": True, "bobby": True, "carol": "left"}


def test_a_kind_that_goes_elsewhere_is_given_in_order_those_first_that_came_before(certificates):
    async def speaks(channel):
        for number in range(5):
            channel.post(ALICE, Kind.COMPARING, number)
        channel.post(ALICE, Kind.SUMS)
        await channel.following(ALICE)
        channel.post(ALICE, Kind.COMPARING, 5)
        channel.post(ALICE, Kind.END)

    async def hears(channel):
        await channel.following(BOBBY)
        taken = []
        channel.divert(Kind.COMPARING, lambda message: taken.append(message.node))
        kinds = [(await channel.following(MINER)).kind]
        channel.post(MINER, Kind.SPLIT)
        kinds.append((await channel.following(MINER)).kind)
        return taken, kinds

    async def gives_time(channel):
        await channel.following(MINER)
        channel.post(ALICE, Kind.COUNTS)

    async def speaks_to_all(channel):
        channel.post(BOBBY, Kind.SUMS)
        await speaks(channel)

    bodies = {MINER: speaks_to_all, ALICE: hears, BOBBY: gives_time, CAROL: leaves}
    found = all_told(meeting_of(), certificates, bodies)
    assert found["alice"] == ([0, 1, 2, 3, 4, 5], [Kind.SUMS, Kind.END])


def test_who_leaves_in_good_order_disturbs_nobody_but_who_waits_for_its_word(certificates):
    async def speaks(channel):
        channel.post(ALICE, Kind.END)
        await channel.receive(CAROL, Kind.SPLIT)
        return "done"

    async def hears(channel):
        return (await channel.following(MINER)).kind

    async def speaks_late(channel):
        while BOBBY not in channel._left:
            await asyncio.sleep(0.01)
        channel.post(MINER, Kind.SPLIT)

    bodies = {MINER: speaks, ALICE: hears, BOBBY: leaves, CAROL: speaks_late}
    found = all_told(meeting_of(), certificates, bodies)
    assert (found["miner"], found["alice"]) == ("done", Kind.END)
    found = all_told(meeting_of(), certificates, with_bobby(leaves))
    assert set(found.values()) == {
        "left",
        "bobby: the connection ended",
        "bobby: the connection ended (says miner)",
    }


async def dies(channel):
    for line in channel.lines.values():
        line.transport.abort()
    channel._is_leaving = True


async def says_garbage(channel):
    channel.lines[MINER].say(CANARY * 100)
    await waits_for_the_miner(channel)


async def says_an_ideal_boxs_word(channel):
    channel.lines[MINER].frame(KINDS.index(Kind.WINNER), 0, CANARY)
    await waits_for_the_miner(channel)


async def says_no_kind(channel):
    channel.lines[MINER].frame(200, 0, CANARY)
    await waits_for_the_miner(channel)


async def says_too_much_at_once(channel):
    channel.lines[MINER].frame(KINDS.index(Kind.LEAF), 0, CANARY)
    await waits_for_the_miner(channel)


async def floods(channel):
    channel.post(MINER, Kind.SPLIT)
    while True:
        await channel.send(ALICE, Kind.COMPARING, 0, CANARY * 10_000)


async def repeats(channel):
    line, place = channel.lines[MINER], channel.lines[MINER]._writing._place
    sent = Writing(place).frame(KINDS.index(Kind.COMPARING), 0, CANARY)
    line.say(sent + sent)
    await waits_for_the_miner(channel)


async def breaks_the_rules(channel):
    channel.post(MINER, Kind.LEAF, 7, b"ab")
    await waits_for_the_miner(channel)


async def is_mistaken(_):
    raise LookupError(CANARY)


async def is_stopped(_):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


async def miner_expects_a_sum(channel):
    await channel.receive(BOBBY, Kind.SUM)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (dies, "the connection ended"),
        (says_garbage, "sent a message twice, or one is lost"),
        (says_an_ideal_boxs_word, "sent what is no message of this protocol"),
        (says_no_kind, "sent what is no message of this protocol"),
        (says_too_much_at_once, "sent more than the session can need"),
        (floods, "sent more than the session can need"),
        (is_mistaken, "had trouble of its own"),
        (is_stopped, "was stopped"),
    ],
)
def test_whatever_bobby_does_all_others_end_and_name_him(certificates, caplog, body, said):
    caplog.set_level(logging.DEBUG)
    bodies = with_bobby(body)
    if body is floods:
        bodies[MINER] = waits_for_carol
    found = all_told(meeting_of(), certificates, bodies)
    others = [found[name] for name in ("miner", "alice", "carol")]
    assert {
        each.removesuffix(" (says miner)").removesuffix(" (says alice)") for each in others
    } <= {
        f"bobby: {said}",
        f"bobby: {said} (says bobby)",
        f"bobby: {said} (says carol)",
    }
    assert CANARY.decode() not in caplog.text + "".join(others)


async def waits_for_carol(channel):
    await channel.following(CAROL)


def test_a_frame_that_comes_twice_ends_the_session(certificates):
    bodies = with_bobby(repeats)

    async def waits_twice(channel):
        await channel.following(BOBBY)
        await channel.following(BOBBY)

    bodies[MINER] = waits_twice
    found = all_told(meeting_of(), certificates, bodies)
    assert found["miner"] == "bobby: sent a message twice, or one is lost"
    assert found["carol"] == "bobby: sent a message twice, or one is lost (says miner)"


def test_who_breaks_the_protocol_is_named_to_all_and_told_to_who_found_it(certificates):
    bodies = with_bobby(breaks_the_rules) | {MINER: miner_expects_a_sum}
    found = all_told(meeting_of(), certificates, bodies)
    assert found["miner"] == "bobby: sent leaf about node 7 where sum about node 0 was due"
    assert found["alice"] == found["bobby"] == "bobby: broke the protocol (says miner)"


def test_who_does_not_answer_is_named_by_who_waits_for_it(certificates):
    meeting = meeting_of(seconds=1)
    found = all_told(meeting, certificates, with_bobby(never_answers))
    assert found["miner"] == "bobby: did not answer for 2 seconds"
    assert found["carol"] == "bobby: did not answer for 2 seconds (says miner)"
    assert found["bobby"] == "bobby: did not answer for 2 seconds (says miner)"


def test_the_miner_says_first_who_was_late_and_a_party_before_the_miner():
    assert patience(ALICE, BOBBY, 60) == 60
    assert 60 < patience(MINER, BOBBY, 60) < patience(BOBBY, MINER, 60) == 120


def test_who_does_not_read_is_late(certificates):
    session = replace(SESSION, records=2_000_000)

    async def reads_nothing(channel):
        channel.lines[ALICE].transport.pause_reading()
        await asyncio.Event().wait()

    async def sends_much(channel):
        while True:
            await channel.send(BOBBY, Kind.MASKED_SHARE, 0, bytes(16_000_000))

    bodies = {MINER: never_answers, ALICE: sends_much, BOBBY: reads_nothing, CAROL: never_answers}
    meeting = meeting_of(session, seconds=1)
    found = all_told(meeting, certificates, bodies)
    assert found["alice"] == "bobby: did not answer for 1 second"
    assert found["miner"] == "bobby: did not answer for 1 second (says alice)"


def test_a_body_in_tasks_of_its_own_ends_with_the_one_reason(certificates):
    async def in_tasks(channel):
        async with asyncio.TaskGroup() as group:
            group.create_task(channel.following(BOBBY))
            group.create_task(asyncio.Event().wait())

    found = all_told(meeting_of(), certificates, with_bobby(dies) | {CAROL: in_tasks})
    assert found["carol"].startswith("bobby: the connection ended")


def test_an_error_of_a_task_of_the_body_is_told_for_whom_it_is_about(certificates):
    async def in_tasks(channel):
        async with asyncio.TaskGroup() as group:
            group.create_task(channel.receive(BOBBY, Kind.SUM))

    found = all_told(meeting_of(), certificates, with_bobby(breaks_the_rules) | {MINER: in_tasks})
    assert found["miner"] == "bobby: sent leaf about node 7 where sum about node 0 was due"
    assert found["carol"] == "bobby: broke the protocol (says miner)"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ProtocolError(CAROL, "sent shares that do not fit"), "carol: broke the protocol"),
        (LookupError(CANARY), "alice: had trouble of its own"),
    ],
)
def test_an_error_in_what_takes_messages_ends_the_session(certificates, error, said):
    async def takes_badly(channel):
        def take(_):
            raise error

        channel.divert(Kind.COMPARING, take)
        await asyncio.Event().wait()

    async def compares(channel):
        channel.post(ALICE, Kind.COMPARING)
        await waits_for_the_miner(channel)

    bodies = {MINER: waits_for_bobby, ALICE: takes_badly, BOBBY: waits_for_the_miner}
    found = all_told(meeting_of(), certificates, bodies | {CAROL: compares})
    assert found["miner"].removesuffix(" (says alice)") == said


def test_who_never_comes_is_named_by_those_who_did(certificates):
    bodies = {
        MINER: waits_for_bobby,
        ALICE: waits_for_the_miner,
        CAROL: waits_for_the_miner,
    }
    meeting = meeting_of(seconds=2)
    found = all_told(meeting, certificates, bodies)
    address = meeting.addresses[BOBBY]
    assert set(found.values()) <= {
        "bobby: did not come within 2 seconds",
        f"bobby: nobody answered at {address.host}:{address.port} for 2 seconds",
        *(f"bobby: did not come within 2 seconds (says {name})" for name in ("miner", *NAMES)),
    }


def test_nobody_answers_at_the_address_of_the_miner(certificates):
    meeting = meeting_of(seconds=1)
    found = all_told(meeting, certificates, {CAROL: leaves})
    address = meeting.addresses[MINER]
    assert found["carol"] == (
        f"miner: nobody answered at {address.host}:{address.port} for 1 second"
    )


def test_both_sides_say_that_their_session_files_differ(certificates):
    meeting = meeting_of()

    async def other():
        async with met(other_file(meeting), BOBBY, certificates):
            return

    bodies = {MINER: leaves, ALICE: leaves, CAROL: leaves}
    found = all_told(meeting, certificates, bodies, bobby=other())
    for side in ("miner", "alice", "carol"):
        assert found[side].startswith("bobby: session files differ")
    assert found["bobby"].problem.startswith("session files differ")


def mixed(tmp_path, of, certificates):
    """Return a folder of certificates where bobby shows another one than his."""
    shutil.copytree(certificates, tmp_path / "bobby")
    for end in ("pem", "key"):
        shutil.copyfile(certificates / f"{of}.{end}", tmp_path / "bobby" / f"bobby.{end}")
    return tmp_path / "bobby"


async def bobby_with(meeting, folder):
    async with met(meeting, BOBBY, folder):
        return "met"


def test_a_certificate_of_another_role_is_refused_and_the_others_go_on(certificates, tmp_path):
    meeting = meeting_of(seconds=2)
    wrong = bobby_with(meeting, mixed(tmp_path, "carol", certificates))
    bodies = {MINER: waits_for_bobby, ALICE: waits_for_the_miner}
    found = all_told(meeting, certificates, bodies, bobby=wrong)
    assert found["bobby"].who == BOBBY
    assert found["bobby"].problem.startswith("does not show the certificate of its role (says ")
    assert "bobby: did not come within 2 seconds" in found["miner"]


def test_a_certificate_of_another_authority_is_refused(certificates, tmp_path, caplog):
    make_certificates(tmp_path, ["miner", *NAMES])
    meeting = meeting_of(seconds=2)
    found = all_told(meeting, certificates, {MINER: leaves}, bobby=bobby_with(meeting, tmp_path))
    assert found["bobby"].who == MINER
    assert found["bobby"].problem == "does not show the certificate of its role"
    assert "a caller was refused" in caplog.text


def test_an_own_certificate_that_others_do_not_take_is_said_so(certificates, tmp_path):
    make_certificates(tmp_path, ["bobby"])
    folder = mixed(tmp_path / "mixed", "bobby", certificates)
    for end in ("pem", "key"):
        shutil.copyfile(tmp_path / f"bobby.{end}", folder / f"bobby.{end}")
    meeting = meeting_of(seconds=2)
    found = all_told(meeting, certificates, {MINER: leaves}, bobby=bobby_with(meeting, folder))
    assert found["bobby"].who == BOBBY
    assert found["bobby"].problem == "does not show the certificate of its role (says miner)"
    assert found["miner"] == "alice: did not come within 2 seconds; 3 callers were refused"


def test_a_second_side_of_one_name_is_refused_and_the_first_goes_on(certificates):
    meeting = meeting_of()
    gone = asyncio.Event()

    async def goes_on(channel):
        await gone.wait()
        channel.post(CAROL, Kind.END)
        return "done"

    async def later():
        while not connected:
            await asyncio.sleep(0.01)
        try:
            async with met(meeting, CAROL, certificates):
                return "met"
        except ProtocolError as error:
            return error.who, error.problem
        finally:
            gone.set()

    connected = []

    async def first(channel):
        connected.append(channel)
        return (await channel.following(MINER)).kind

    bodies = {MINER: goes_on, ALICE: lambda _: gone.wait(), BOBBY: lambda _: gone.wait()}
    found = all_told(meeting, certificates, bodies | {CAROL: first}, second=later())
    who, problem = found["second"]
    assert (who, problem[:49]) == (CAROL, "another side takes part under this name already (")
    assert (found["miner"], found["carol"]) == ("done", Kind.END)


def test_a_port_that_is_taken_is_said_so(certificates):
    meeting = meeting_of()
    with socket.create_server(("127.0.0.1", meeting.addresses[ALICE].port)):
        found = all_told(meeting, certificates, {ALICE: leaves})
    assert isinstance(found["alice"], PartyError)
    assert "cannot listen at localhost" in str(found["alice"])


def test_strangers_at_the_door_do_not_disturb(certificates, tmp_path):
    meeting = meeting_of()
    address = meeting.addresses[MINER]
    make_certificates(tmp_path, ["alice"])

    async def strangers():
        for body in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(1_000)):
            writer = None
            while writer is None:
                with contextlib.suppress(OSError):
                    _, writer = await asyncio.open_connection(address.host, address.port)
                await asyncio.sleep(0.01)
            writer.write(body)
            writer.close()
        with pytest.raises((ssl.SSLError, OSError)):
            await asyncio.open_connection(
                address.host,
                address.port,
                ssl=context(tmp_path, "alice", is_server=False),
                server_hostname="miner",
            )
        return await told_bobby()

    async def told_bobby():
        async with met(meeting, BOBBY, certificates):
            return "met"

    bodies = {MINER: leaves, ALICE: leaves, CAROL: leaves}
    found = all_told(meeting, certificates, bodies, bobby=strangers())
    assert found == {"miner": "left", "alice": "left", "carol": "left", "bobby": "met"}


def test_a_side_of_the_session_that_says_no_hello_is_refused(certificates):
    meeting = meeting_of(seconds=2)
    address = meeting.addresses[MINER]

    async def no_hello():
        tls = context(certificates, "bobby", is_server=False)
        writer = None
        while writer is None:
            with contextlib.suppress(ConnectionError):
                reader, writer = await asyncio.open_connection(
                    address.host, address.port, ssl=tls, server_hostname="miner"
                )
            await asyncio.sleep(0.01)
        writer.write(CANARY * 10)
        answer = await reader.read(100)
        writer.close()
        return len(answer)

    found = all_told(meeting, certificates, {MINER: leaves}, bobby=no_hello())
    assert found["bobby"] == len(Hello(0, bytes(32)).packed())


PROCESS = """
import asyncio, sys
from pathlib import Path
from tests.ppdm_models.vertical.meetings import *
from ppdm_models.vertical.streams import met
ports = [int(each) for each in sys.argv[2:6]]
meeting = replace(meeting_of(), addresses={i - 1: Address("localhost", port) for i, port in enumerate(ports)})
async def main():
    async with met(meeting, 1, Path(sys.argv[1])) as channel:
        print("met", flush=True)
        await channel.following(-1)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("sent", "said"), [(signal.SIGKILL, "the connection ended"), (signal.SIGINT, "was stopped")]
)
def test_a_process_that_is_killed_or_stopped_ends_the_session(certificates, sent, said):
    meeting = meeting_of()
    ports = [str(meeting.addresses[side].port) for side in SIDES]
    root = Path(__file__).parents[3]
    process = subprocess.Popen(
        [sys.executable, "-c", PROCESS, str(certificates), *ports],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )

    async def ends_it(channel):
        assert process.stdout is not None
        await asyncio.to_thread(process.stdout.readline)
        process.send_signal(sent)
        await channel.following(BOBBY)

    bodies = {MINER: ends_it, ALICE: waits_for_the_miner, CAROL: waits_for_the_miner}
    try:
        found = all_told(meeting, certificates, bodies)
    finally:
        process.kill()
        process.communicate()
    for each in found.values():
        assert each.startswith(f"bobby: {said}")
