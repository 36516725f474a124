"""Whatever fails at one side of a session over a network, all sides end, and all name the same one."""

import asyncio
import contextlib
import gc
import os
import shutil
import socket
import struct
from dataclasses import replace

import pytest

from tests.ppdm_models.methods.vertical.meetings import (
    NAMES,
    SESSION,
    all_told,
    meeting_of,
    other_file,
    told,
)
from treewarden.ppdm_models.errors import PartyError
from treewarden.ppdm_models.methods.vertical.messages import (
    MINER,
    MessageKind,
    ProtocolError,
    Reason,
)
from treewarden.ppdm_models.methods.vertical.streams import met, patience
from treewarden.ppdm_models.methods.vertical.transport import make_certificates

ALICE, BOBBY, CAROL = range(3)
CANARY = b"canary-4711"
HEAD = struct.Struct("<IQBI")


@pytest.fixture(scope="module", autouse=True)
def nothing_older_is_collected():
    """What is there already need not be looked through after each test."""
    gc.freeze()


@pytest.fixture(autouse=True)
def every_connection_is_closed():
    """What was left open is warned of when it is collected: here, and not in a later test."""
    yield
    gc.collect()


def waits_for(of, messages=1):
    async def body(channel):
        for _ in range(messages):
            await channel.following(of)

    return body


async def waits_for_ever(_):
    await asyncio.Event().wait()


async def leaves(_):
    return "left"


def with_bobby(body, **others):
    """The bodies of sides that wait for the miner, which waits for bobby, who does something else."""
    bodies = {MINER: waits_for(BOBBY, 2), ALICE: waits_for(MINER), CAROL: waits_for(MINER)}
    named = {"miner": MINER, "alice": ALICE, "carol": CAROL}
    return bodies | {BOBBY: body} | {named[name]: each for name, each in others.items()}


def says(size, kind, body=b"", times=1):
    """Put a frame on the way to the miner whose head says what it likes."""

    async def put(channel):
        head = HEAD.pack(size, channel._sent[MINER], list(MessageKind).index(kind), 0)
        channel._writers[MINER].write((head + body) * times)
        await channel.following(MINER)

    return put


async def dies(channel):
    for writer in channel._writers.values():
        writer.transport.abort()
    await channel.following(MINER)


async def says_no_frame(channel):
    channel._writers[MINER].write(CANARY * 100)
    await channel.following(MINER)


async def floods(channel):
    for number in range(1_000):
        channel.post(MINER, MessageKind.SPLIT, number)
    await channel.following(MINER)


async def is_mistaken(_):
    raise LookupError(CANARY)


async def is_stopped(_):
    asyncio.current_task().cancel()
    await asyncio.sleep(0)


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (dies, "ended its connection"),
        (leaves, "ended its connection"),
        (says_no_frame, "sent a message again, or left one out"),
        (says(0, MessageKind.SPLIT, times=2), "sent a message again, or left one out"),
        (says(16, MessageKind.WINNER), "sent something that is not a message"),
        (says(3, MessageKind.LEAF), "sent a message longer than any can be"),
        (says(2**32 - 1, MessageKind.COMPARING), "sent a message longer than any can be"),
        (is_mistaken, "could not go on; the reason is said there"),
        (is_stopped, "was stopped there"),
    ],
)
def test_whatever_bobby_does_all_others_end_and_name_him(certificates, caplog, body, reason):
    found = all_told(meeting_of(), certificates, with_bobby(body))
    others = [found[name] for name in ("miner", "alice", "carol")]
    assert {each.split(", says ")[0] for each in others} == {f"bobby: {reason}"}
    assert CANARY.decode() not in caplog.text + "".join(others)


def test_who_sends_more_than_can_wait_ends_the_session_while_nobody_listens_to_it(certificates):
    found = all_told(meeting_of(), certificates, with_bobby(floods, miner=waits_for_ever))
    assert found["miner"] == "bobby: sent more than can wait to be read"
    assert found["carol"].startswith("bobby: sent a message longer than any can be")


def test_who_breaks_the_order_is_named_to_all_and_told_so_itself(certificates):
    async def expects_a_sum(channel):
        await channel.receive(BOBBY, MessageKind.SUM)

    async def says_a_leaf(channel):
        await channel.send(MINER, MessageKind.LEAF, 7, b"ab")
        await channel.following(MINER)

    found = all_told(meeting_of(), certificates, with_bobby(says_a_leaf, miner=expects_a_sum))
    assert found["miner"] == "bobby: sent leaf about node 7 where sum about node 0 was due"
    assert found["alice"] == found["bobby"] == "bobby: broke the protocol, says miner"


def test_who_does_not_answer_is_named(certificates):
    found = all_told(meeting_of(seconds=1), certificates, with_bobby(waits_for_ever))
    assert found["miner"] == "bobby: did not answer for 2 seconds"
    assert found["carol"] == found["bobby"] == "bobby: did not answer in time, says miner"


def test_who_waits_for_the_late_side_itself_says_so_before_those_who_wait_for_that_one():
    assert patience(ALICE, BOBBY, 60) == 60
    assert 60 < patience(MINER, BOBBY, 60) < patience(BOBBY, MINER, 60) == 120


def test_who_does_not_read_is_late(certificates):
    is_over = asyncio.Event()

    async def reads_nothing(channel):
        for each in channel._readers:
            each.cancel()
        await is_over.wait()

    async def sends_much(channel):
        try:
            while True:
                await channel.send(BOBBY, MessageKind.MASKED_SHARE, 0, bytes(8_000_000))
        finally:
            is_over.set()

    meeting = meeting_of(replace(SESSION, records=2_000_000), seconds=1)
    bodies = {MINER: waits_for_ever, ALICE: sends_much, BOBBY: reads_nothing, CAROL: waits_for_ever}
    found = all_told(meeting, certificates, bodies)
    assert found["alice"] == "bobby: did not answer in time"
    assert found["miner"] == found["carol"] == "bobby: did not answer in time, says alice"


def test_a_body_in_tasks_of_its_own_is_woken(certificates):
    async def in_tasks(channel):
        async with asyncio.TaskGroup() as group:
            group.create_task(channel.following(MINER))
            group.create_task(asyncio.Event().wait())

    found = all_told(meeting_of(), certificates, with_bobby(dies, carol=in_tasks))
    assert found["carol"].startswith("bobby: ended its connection")


def test_the_last_word_of_a_side_is_heard_though_the_connection_is_reset_behind_it(certificates):
    async def hears_both_at_once(channel):
        await channel.receive(BOBBY, MessageKind.SPLIT)
        arguments = [each.get_coro().cr_frame.f_locals for each in channel._readers]
        read = next(each for each in arguments if each["peer"] == BOBBY)
        body = struct.pack("<hB", BOBBY, Reason.STOPPED)
        head = HEAD.pack(len(body), read["number"], list(MessageKind).index(MessageKind.ABORT), 0)
        read["reader"].feed_data(head + body)
        read["reader"].set_exception(ConnectionResetError())
        await channel.following(BOBBY)

    async def says_one_word(channel):
        channel.post(MINER, MessageKind.SPLIT)
        await channel.following(MINER)

    bodies = with_bobby(says_one_word, miner=hears_both_at_once)
    assert all_told(meeting_of(), certificates, bodies)["miner"] == "bobby: was stopped there"


def test_who_never_comes_is_named(certificates):
    bodies = with_bobby(leaves)
    del bodies[BOBBY]
    found = all_told(meeting_of(seconds=1), certificates, bodies)
    assert {each.split(":")[0] for each in found.values()} == {"bobby"}


def test_all_say_that_session_files_differ(certificates):
    meeting = meeting_of()

    async def other():
        async with met(other_file(meeting), BOBBY, certificates):
            return

    bodies = {MINER: leaves, ALICE: leaves, CAROL: leaves}
    found = all_told(meeting, certificates, bodies, bobby=other())
    for side in ("miner", "alice", "carol"):
        assert found[side].startswith("bobby: has another session file")
    assert found["bobby"].problem.startswith("has another session file")


async def bobby_with(meeting, folder):
    async with met(meeting, BOBBY, folder):
        return "met"


def refused(certificates, folder):
    """Return what bobby says who has other certificates than the miner, and whether the miner met anybody."""
    meeting = meeting_of()

    async def run():
        miner = asyncio.create_task(told(meeting, MINER, certificates, leaves))
        try:
            said = await told(meeting, BOBBY, folder, leaves)
            return said, miner.done() and miner.result() == "left"
        finally:
            miner.cancel()
            await asyncio.wait([miner])

    return asyncio.run(run())


def test_a_certificate_of_another_role_is_refused(certificates, tmp_path):
    folder = tmp_path / "bobby"
    shutil.copytree(certificates, folder)
    for end in ("pem", "key"):
        shutil.copyfile(certificates / f"carol.{end}", folder / f"bobby.{end}")
    said, is_met = refused(certificates, folder)
    assert said.startswith(("miner: ", "carol: "))
    assert not is_met


def test_a_certificate_of_another_authority_is_refused(certificates, tmp_path):
    make_certificates(tmp_path, ["miner", *NAMES])
    said, is_met = refused(certificates, tmp_path)
    assert said == "miner: shows a certificate that is not its own, or of another authority"
    assert not is_met


def test_a_second_side_of_one_name_ends_the_session_for_all(certificates):
    meeting = meeting_of()
    together = asyncio.Event()

    async def goes_on(_):
        together.set()
        await asyncio.Event().wait()

    async def second():
        await together.wait()
        try:
            async with met(meeting, CAROL, certificates):
                return "met"
        except ProtocolError as error:
            return error.who, error.problem

    bodies = dict.fromkeys((MINER, ALICE, BOBBY, CAROL), goes_on)
    found = all_told(meeting, certificates, bodies, second=second())
    assert found.pop("second") == (CAROL, "came twice: two sides have its name, says miner")
    assert all("carol: came twice" in str(each) for each in found.values()), found


def test_a_port_that_is_taken_is_said_so(certificates):
    meeting = meeting_of()
    with socket.create_server(("127.0.0.1", meeting.addresses[ALICE].port)):
        found = all_told(meeting, certificates, {ALICE: leaves})
    assert isinstance(found["alice"], PartyError)
    assert "the address cannot be used" in str(found["alice"])


def test_strangers_at_the_door_do_not_disturb(certificates):
    meeting = meeting_of()
    address = meeting.addresses[MINER]

    async def after_strangers():
        for body in (b"", b"GET / HTTP/1.1\r\n\r\n", os.urandom(1_000)):
            writer = None
            while writer is None:
                with contextlib.suppress(OSError):
                    reader, writer = await asyncio.open_connection(address.host, address.port)
                await asyncio.sleep(0.01)
            with contextlib.suppress(OSError):
                writer.write(body)
                writer.write_eof()
                await reader.read()  # until the miner has closed it too
            writer.close()
        return await bobby_with(meeting, certificates)

    bodies = {MINER: leaves, ALICE: leaves, CAROL: leaves}
    found = all_told(meeting, certificates, bodies, bobby=after_strangers())
    assert found == {"miner": "left", "alice": "left", "carol": "left", "bobby": "met"}
