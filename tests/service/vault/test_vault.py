import os
import resource
import shutil
import tempfile
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest

from treewarden.service.errors import GoneError, TooLargeError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.vault.folder_store import remove_left_parts
from treewarden.service.vault.vault import CHUNK, TAG, open_vault

MOST = 2**30
SIZES = (0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK, 3 * CHUNK + 17)


@pytest.fixture
def vault(tmp_path):
    return open_vault(Settings(data_dir=tmp_path))


def files(vault):
    return [path for path in vault.folder.rglob("*") if path.is_file()]


@contextmanager
def small_files(most):
    """Let no file of this process grow beyond a size."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (most, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@contextmanager
def nobody():
    """Be somebody whom modes of files hold for, where the tests run as root."""
    is_root = os.geteuid() == 0
    if is_root:
        os.seteuid(65534)
    try:
        yield
    finally:
        if is_root:
            os.seteuid(0)


@pytest.mark.parametrize("size", SIZES)
def test_what_is_put_in_comes_out(vault, size):
    data = Random(size).randbytes(size)
    stored = vault.put((data[at : at + 7001] for at in range(0, size, 7001)), MOST)
    assert stored.size == size
    assert vault.read(stored.id, stored.digest, stored.sealed_key) == data
    (file,) = files(vault)
    assert file.stat().st_mode & 0o777 == 0o600
    assert size < 32 or data[:32] not in file.read_bytes()


def test_the_same_bytes_are_sealed_differently_each_time(vault):
    vault.put([b"same"], MOST)
    vault.put([b"same"], MOST)
    first, second = files(vault)
    assert first.read_bytes() != second.read_bytes()


@pytest.mark.parametrize("size", SIZES)
def test_a_file_that_was_changed_or_cut_off_gives_nothing(vault, size):
    random = Random(size)
    stored = vault.put([random.randbytes(size)], MOST)
    path = vault.path(stored.id, stored.digest)
    sealed = path.read_bytes()
    changed = [sealed[:-1], sealed[:-TAG], sealed[:TAG], b"", sealed + b"\0", sealed + sealed]
    changed += [sealed[at : at + len(sealed) // 2] for at in (0, len(sealed) // 2)]
    whole = CHUNK + TAG
    changed += [sealed[whole:], sealed[:whole], sealed[whole : 2 * whole] + sealed[:whole]]
    changed += [sealed[:whole] + sealed[2 * whole :]]
    for _ in range(60):
        at = random.randrange(len(sealed))
        changed.append(
            sealed[:at] + bytes([sealed[at] ^ (1 << random.randrange(8))]) + sealed[at + 1 :]
        )
        changed.append(sealed[: random.randrange(len(sealed))])
    for each in changed:
        if each != sealed:
            path.write_bytes(each)
            with pytest.raises(UnavailableError):
                vault.read(stored.id, stored.digest, stored.sealed_key)


def test_another_key_or_a_broken_one_opens_nothing(vault, tmp_path):
    stored = vault.put([b"data"], MOST)
    other = open_vault(Settings(data_dir=tmp_path, key_file=tmp_path / "other.key"))
    with pytest.raises(UnavailableError):
        other.read(stored.id, stored.digest, stored.sealed_key)
    for cut in (b"", stored.sealed_key[:5], stored.sealed_key[:-1]):
        with pytest.raises(UnavailableError):
            vault.read(stored.id, stored.digest, cut)
    again = vault.put([b"data"], MOST)
    with pytest.raises(UnavailableError):
        vault.read(stored.id, stored.digest, again.sealed_key)


def test_what_was_erased_is_said_to_be(vault):
    stored = vault.put([b"data"], MOST)
    with pytest.raises(GoneError, match="erased"):
        vault.read(stored.id, stored.digest, None)
    vault.erase(stored.id, stored.digest)
    vault.erase(stored.id, stored.digest)
    with pytest.raises(GoneError, match="erased"):
        vault.read(stored.id, stored.digest, stored.sealed_key)


def test_too_much_leaves_nothing(vault):
    assert vault.put([b"12345"], 5).size == 5
    with pytest.raises(TooLargeError):
        vault.put([b"123", b"456"], 5)
    assert len(files(vault)) == 1


@pytest.mark.parametrize("pieces", [1, 40])
def test_a_full_disk_leaves_nothing(vault, pieces):
    with small_files(100_000), pytest.raises(UnavailableError, match="nothing more can be stored"):
        vault.put([bytes(150_000 // pieces)] * pieces, MOST)
    assert not files(vault)
    assert vault.put([b"there is room again"], MOST).size == 19


@pytest.mark.parametrize("which", [".", "incoming"])
def test_a_folder_that_takes_nothing_is_said_to_and_nothing_is_left(which):
    folder = Path(tempfile.mkdtemp())
    try:
        folder.chmod(0o755)
        vault = open_vault(Settings(data_dir=folder))
        for path in (vault.folder, vault.folder / "incoming"):
            path.chmod(0o777)
        (vault.folder / which).chmod(0o555)
        with nobody(), pytest.raises(UnavailableError, match="nothing more can be stored"):
            vault.put([b"data"], MOST)
        assert not files(vault)
    finally:
        shutil.rmtree(folder)


def test_a_part_is_removed_when_nobody_writes_it_any_more(vault):
    left = vault.folder / "incoming" / "left"
    left.write_bytes(b"half")
    with vault.receiving(MOST) as receiving:
        receiving.take(b"whole")
        assert remove_left_parts(vault.folder) == 1
        assert not left.exists()
        stored = receiving.stored()
    assert vault.read(stored.id, stored.digest, stored.sealed_key) == b"whole"
    assert remove_left_parts(vault.folder) == 0
