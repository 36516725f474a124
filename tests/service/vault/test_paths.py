import os
import socket
import threading
import time

import pytest

from treewarden.service.errors import InvalidError, TooLargeError
from treewarden.service.vault.addresses import open_below

MOST = 1000


@pytest.fixture
def root(tmp_path):
    found = tmp_path / "allowed"
    (found / "deep").mkdir(parents=True)
    (found / "deep" / "people.csv").write_bytes(b"age\n41\n")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "people.csv").write_bytes(b"secret")
    (tmp_path / "secret.csv").write_bytes(b"secret")
    return found


def test_a_plain_file_below_an_allowed_folder_is_opened(root):
    with open_below(f"{root}/deep/people.csv", ("/nowhere", str(root)), MOST) as file:
        assert file.read() == b"age\n41\n"


def test_the_deepest_allowed_folder_counts_and_may_itself_be_reached_by_a_link(root, tmp_path):
    (tmp_path / "link").symlink_to(root)
    roots = (str(tmp_path), f"{tmp_path}/link")
    with open_below(f"{tmp_path}/link/deep/people.csv", roots, MOST) as file:
        assert file.read() == b"age\n41\n"


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "deep/people.csv",
        "ROOT",
        "ROOT/",
        "ROOT/.",
        "ROOT/deep",
        "ROOT/deep/",
        "ROOT/deep/./people.csv",
        "ROOT/deep/../deep/people.csv",
        "ROOT/../secret.csv",
        "ROOT/deep/../../secret.csv",
        "ROOT/../allowed/deep/people.csv",
        "ROOTsecret.csv",
        "ROOT/missing.csv",
        "ROOT/deep/people.csv/more",
        "ROOT/deep/people.csv\0",
        "ROOT/deep/people.csv\n",
        "ROOT/deep/\udc80.csv",
        "ROOT/" + "a" * 300,
        "ROOT/" + "a/" * 5000 + "b",
        "/etc/passwd",
        "/dev/zero",
        "/proc/self/environ",
        "file:ROOT/deep/people.csv",
        "file://ROOT/deep/people.csv",
        "FILE:///etc/passwd",
        "http://169.254.169.254/latest/meta-data",
        "s3://bucket/people.csv",
        "\\\\server\\share",
        "~/people.csv",
        "$HOME/people.csv",
    ],
)
def test_no_other_path_is_opened(root, path):
    with pytest.raises(InvalidError):
        open_below(path.replace("ROOT", str(root)), (str(root),), MOST)


def test_nothing_is_opened_where_no_folder_is_allowed(root):
    with pytest.raises(InvalidError, match="allowed folder"):
        open_below(f"{root}/deep/people.csv", (), MOST)


@pytest.mark.parametrize("target", ["/etc/passwd", "../secret.csv", "deep/people.csv", "loop.csv"])
def test_no_link_is_followed_as_the_file(root, target):
    (root / "loop.csv").symlink_to(target)
    with pytest.raises(InvalidError):
        open_below(f"{root}/loop.csv", (str(root),), MOST)


@pytest.mark.parametrize("target", ["/", "..", "../secret", "deep", "."])
def test_no_link_is_followed_on_the_way(root, target):
    (root / "way").symlink_to(target)
    for path in ("way/people.csv", "way/secret/people.csv", "way/etc/passwd"):
        with pytest.raises(InvalidError):
            open_below(f"{root}/{path}", (str(root),), MOST)


def test_neither_pipes_nor_sockets_nor_devices_are_opened_and_nobody_waits(root):
    os.mkfifo(root / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        here = os.open(root, os.O_RDONLY)
        try:
            listening.bind(f"/proc/self/fd/{here}/socket")  # the name of a socket has to be short
        finally:
            os.close(here)
        for name in ("pipe", "socket"):
            with pytest.raises(InvalidError, match="regular file"):
                open_below(f"{root}/{name}", (str(root),), MOST)
    for device in ("/dev/null", "/dev/zero", "/dev/tty"):
        with pytest.raises(InvalidError):
            open_below(device, ("/dev",), MOST)


def test_a_file_that_is_too_large_is_not_opened(root):
    with pytest.raises(TooLargeError):
        open_below(f"{root}/deep/people.csv", (str(root),), 6)


def test_whatever_is_swapped_for_a_link_meanwhile_nothing_outside_is_read(root, tmp_path):
    """A folder on the way, and the file itself, turn into links and back while somebody opens them, over and over."""
    over = threading.Event()
    way, file = root / "way", root / "file.csv"

    def swap():
        while not over.is_set():
            for place, outside in ((way, tmp_path / "secret"), (file, tmp_path / "secret.csv")):
                for make in (place.symlink_to, None):
                    other = root / "other"
                    if make is not None:
                        other.symlink_to(outside)
                    elif place is way:
                        other.mkdir()
                        (other / "people.csv").write_bytes(b"allowed")
                    else:
                        other.write_bytes(b"allowed")
                    if place.is_symlink() or place.is_file():
                        place.unlink()
                    elif place.is_dir():
                        (place / "people.csv").unlink()
                        place.rmdir()
                    other.rename(place)

    swapping = threading.Thread(target=swap)
    swapping.start()
    found = set()
    try:
        deadline, tries = time.monotonic() + 60, 0
        while time.monotonic() < deadline and (tries < 2000 or len(found) < 2):
            tries += 1
            for path in (way / "people.csv", file):
                try:
                    with open_below(str(path), (str(root),), MOST) as opened:
                        found.add(opened.read())
                except InvalidError:
                    found.add(None)
    finally:
        over.set()
        swapping.join()
    assert b"secret" not in found
    assert {b"allowed", None} <= found
