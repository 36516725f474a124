"""Bytes of a connection are frames one behind the other, or are refused with the reason."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ppdm_models.vertical.faults import Fault, words
from ppdm_models.vertical.framing import (
    ABORT,
    BYE,
    KINDS,
    Abort,
    Frame,
    Hello,
    Reading,
    Refused,
    Writing,
    abort,
    first_place,
    hello,
    version,
)
from ppdm_models.vertical.messages import Kind

SUM = KINDS.index(Kind.SUM)
frames = st.builds(Frame, st.integers(0, len(KINDS) - 1), st.integers(0, 2**32 - 1), st.binary())


def reading(place=0, most=100):
    return Reading(place, lambda _: most)


def why_refused(*pieces, most=100):
    reader = reading(most=most)
    with pytest.raises(Refused) as found:
        [frame for piece in pieces for frame in reader.feed(piece)]
    return found.value.fault


@given(st.lists(frames), st.integers(0, 2**64 - 1), st.integers(1, 50))
def test_what_is_written_is_read_however_the_network_cuts_it(sent, place, size):
    writing, reader = Writing(place), reading(place, 2**20)
    body = b"".join(writing.frame(each.kind, each.node, each.body) for each in sent)
    pieces = [body[at : at + size] for at in range(0, len(body), size)]
    assert [frame for piece in pieces for frame in reader.feed(piece)] == sent


def test_a_frame_that_comes_twice_is_refused():
    sent = Writing(0).frame(SUM)
    assert why_refused(sent, sent) is Fault.REPLAYED


def test_a_frame_behind_a_lost_one_is_refused():
    writing = Writing(0)
    writing.frame(SUM)
    assert why_refused(writing.frame(SUM)) is Fault.REPLAYED


def test_a_frame_of_another_connection_is_refused():
    one, two, three = (Hello(each, bytes(32)) for each in (0, 1, 1))
    places = {
        first_place(listener, caller, called=called)
        for listener, caller in ((one, two), (one, three))
        for called in (True, False)
    }
    assert len(places) == 4


def test_a_body_that_is_too_long_is_refused_before_it_comes():
    assert why_refused(Writing(0).frame(SUM, body=bytes(101))[:17]) is Fault.TOO_MUCH


@pytest.mark.parametrize("kind", [ABORT, BYE])
def test_what_is_no_message_has_a_length_of_its_own(kind):
    assert why_refused(Writing(0).frame(kind, body=bytes(8))) is Fault.TOO_MUCH


@pytest.mark.parametrize(("kind", "most"), [(len(KINDS), 100), (SUM, -1)])
def test_a_kind_that_there_is_not_or_that_may_not_come_is_refused(kind, most):
    assert why_refused(Writing(0).frame(kind), most=most) is Fault.GARBAGE


def test_a_hello_says_who_speaks_and_of_which_session():
    said = Hello(-1, b"d" * 32, Fault.TWICE)
    assert hello(said.packed()) == said


def test_two_hellos_are_never_the_same():
    assert Hello(0, bytes(32)).packed() != Hello(0, bytes(32)).packed()


@pytest.mark.parametrize(
    ("at", "put", "fault"),
    [
        (0, b"GET / HT", Fault.GARBAGE),
        (8, struct.pack("<I", version() ^ 1), Fault.VERSION),
        (12, b"\xff", Fault.GARBAGE),
    ],
)
def test_what_is_no_hello_of_this_protocol_is_refused(at, put, fault):
    body = Hello(0, bytes(32)).packed()
    with pytest.raises(Refused) as found:
        hello(body[:at] + put + body[at + len(put) :])
    assert found.value.fault is fault


@pytest.mark.parametrize("body", [b"", bytes(7), b"\x00\x00\xff\x00\x00\x00\x00", bytes(8)])
def test_an_abort_for_no_reason_that_there_is_is_refused(body):
    with pytest.raises(Refused) as found:
        abort(body)
    assert found.value.fault is Fault.GARBAGE


@pytest.mark.parametrize("fault", Fault)
def test_each_fault_has_words(fault):
    assert abort(Abort(3, fault, 60).packed()) == Abort(3, fault, 60)
    assert words(fault, 60)
