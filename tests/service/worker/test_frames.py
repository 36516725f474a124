import multiprocessing
import os
import struct

import pytest

from treewarden.service.worker import orders
from treewarden.service.worker.orders import FrameError, Incoming, receive, send


@pytest.fixture
def pipe():
    ours, theirs = multiprocessing.Pipe()
    with ours, theirs:
        yield ours, theirs


def test_what_is_said_is_heard_with_its_files(pipe):
    ours, theirs = pipe
    send(theirs, {"stage": "reading"}, [b"", b"two"])
    frame = receive(ours)
    assert (frame.said, frame.files) == ({"stage": "reading"}, (b"", b"two"))


def test_two_frames_that_come_at_once_are_heard_one_by_one(pipe):
    ours, theirs = pipe
    send(theirs, {"n": 1}, [b"one"])
    send(theirs, {"n": 2})
    incoming = Incoming(ours)
    assert [incoming.heard(5).said["n"], incoming.heard(5).said["n"]] == [1, 2]


def test_what_comes_piece_by_piece_is_heard_when_it_is_whole(pipe):
    ours, theirs = pipe
    head = b'{"files": 1, "said": {}}'
    pieces = [struct.pack("!Q", len(head)), head[:5], head[5:], struct.pack("!Q", 2), b"x", b"y"]
    incoming = Incoming(ours)
    for piece in pieces[:-1]:
        os.write(theirs.fileno(), piece)
        assert incoming.heard(5) is None
    os.write(theirs.fileno(), pieces[-1])
    assert incoming.heard(5).files == (b"xy",)


def test_whoever_is_gone_in_the_middle_is_gone(pipe):
    ours, theirs = pipe
    os.write(theirs.fileno(), b"\0\0\0")
    theirs.close()
    with pytest.raises(EOFError):
        receive(ours)


def test_files_have_a_size_together(pipe, monkeypatch):
    monkeypatch.setattr(orders, "MOST_FILE", 10)
    ours, theirs = pipe
    send(theirs, {}, [b"12345", b"12345"])
    assert receive(ours).files == (b"12345", b"12345")
    send(theirs, {}, [b"12345", b"123456"])
    with pytest.raises(FrameError):
        receive(ours)


@pytest.mark.parametrize(
    "head", [b"", b"[]", b"{}", b"\xff", b'{"files": -1, "said": {}}', b'{"files": 65, "said": {}}']
)
def test_what_is_no_head_is_not_understood(pipe, head):
    ours, theirs = pipe
    os.write(theirs.fileno(), struct.pack("!Q", len(head)) + head)
    with pytest.raises(FrameError):
        receive(ours)
