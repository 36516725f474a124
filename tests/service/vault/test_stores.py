"""What holds of every place where sealed files are kept: a folder, and a bucket of an object store."""

import os
import time
import tracemalloc
from dataclasses import replace
from random import Random

import pytest
from obstore.store import LocalStore, MemoryStore

from tests.kit.service import buckets
from tests.kit.tiers import cases
from treewarden.service.errors import GoneError, SetupError, TooLargeError, UnavailableError
from treewarden.service.settings import Settings
from treewarden.service.vault.object_store import ObjectStore
from treewarden.service.vault.vault import CHUNK, open_vault

MOST = 2**30
PART = 4 * 2**20
KINDS = ("folder", "objects in memory", pytest.param("bucket", marks=pytest.mark.processes))


@pytest.fixture(scope="module")
def endpoint():
    with buckets.server() as found:
        yield found


@pytest.fixture
def bucket(endpoint, tmp_path, monkeypatch):
    for name, value in buckets.KEY.items():
        monkeypatch.setenv(name, value)
    return open_vault(Settings(data_dir=tmp_path, **buckets.settings_of(endpoint, tmp_path)))


@pytest.fixture
def in_memory(tmp_path):
    vault = open_vault(Settings(data_dir=tmp_path))
    return replace(vault, store=ObjectStore(MemoryStore()))


@pytest.fixture(params=KINDS)
def vault(request, tmp_path):
    if request.param == "objects in memory":
        return request.getfixturevalue("in_memory")
    if request.param == "bucket":
        return request.getfixturevalue("bucket")
    return open_vault(Settings(data_dir=tmp_path))


def ids(vault):
    return {each.blob_id for page in vault.store.files() for each in page}


@pytest.mark.parametrize(
    "size", cases((0, 1, CHUNK, 3 * CHUNK + 17, PART - 20_000, PART, 2 * PART + 5), quick=7)
)
def test_what_is_put_in_comes_out(vault, size):
    data = Random(size).randbytes(size)
    stored = vault.put((data[at : at + 700_001] for at in range(0, size, 700_001)), MOST)
    assert vault.read(stored.id, stored.digest, stored.sealed_key) == data
    assert vault.store.holds(stored.id, stored.digest)
    assert ids(vault) == {stored.id}


@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_sealed_file_may_end_where_a_part_does(vault, more):
    size = (
        PART - (PART // (CHUNK + 16) + 1) * 16 + more
    )  # so that sealed it has PART bytes or nearly
    data = bytes(size)
    stored = vault.put([data], MOST)
    assert vault.read(stored.id, stored.digest, stored.sealed_key) == data


def test_nothing_is_kept_that_was_not_sealed(vault):
    data = b"canary-7f3a" * 1000
    stored = vault.put([data], MOST)
    with vault.store.open(stored.id, stored.digest) as file:
        sealed = file.read()
    assert b"canary" not in sealed
    assert len(sealed) == len(data) + 16


def test_what_was_erased_is_gone(vault):
    stored = vault.put([bytes(PART + 1)], MOST)
    vault.erase(stored.id, stored.digest)
    vault.erase(stored.id, stored.digest)
    assert not vault.store.holds(stored.id, stored.digest)
    assert ids(vault) == set()
    with pytest.raises(GoneError, match="erased"):
        vault.read(stored.id, stored.digest, stored.sealed_key)


def test_too_much_leaves_nothing(vault):
    with pytest.raises(TooLargeError):
        vault.put([bytes(PART), bytes(PART), bytes(PART)], 2 * PART)
    assert ids(vault) == set()


def test_what_was_interrupted_leaves_nothing_that_is_whole(vault):
    with vault.receiving(MOST) as receiving:
        receiving.take(bytes(PART + CHUNK))
    assert ids(vault) == set()


def test_a_file_on_this_machine_holds_the_sealed_bytes(vault):
    stored = vault.put([bytes(PART)], MOST)
    with vault.store.open(stored.id, stored.digest) as file:
        sealed = file.read()
    with vault.sealed_file(stored.id, stored.digest, lambda: None) as place:
        assert place.read_bytes() == sealed
    assert not list((vault.folder / "incoming").iterdir())


@pytest.mark.processes
def test_what_is_told_while_a_copy_is_made_ends_it(bucket):
    stored = bucket.put([bytes(PART)], MOST)

    def stop():
        raise InterruptedError

    with pytest.raises(InterruptedError), bucket.sealed_file(stored.id, stored.digest, stop):
        pytest.fail("no copy is given")
    assert not list((bucket.folder / "incoming").iterdir())


def test_a_place_that_works_has_no_problem(vault):
    assert vault.store.problem() == ""
    vault.store.check()
    assert ids(vault) == set()


def test_memory_does_not_grow_with_a_file(tmp_path):
    vault = open_vault(Settings(data_dir=tmp_path))
    in_files = replace(vault, store=ObjectStore(LocalStore(tmp_path)))
    piece = bytes(2**20)
    tracemalloc.start()
    try:
        stored = in_files.put((piece for _ in range(48)), MOST)
        for chunk in in_files.chunks(stored.id, stored.digest, stored.sealed_key):
            assert len(chunk) <= CHUNK
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 6 * PART


@pytest.mark.processes
def test_parts_that_a_process_left_behind_are_listed_with_their_newest_time(bucket):
    receiving = bucket.receiving(MOST).open()
    receiving.take(bytes(2 * PART + CHUNK))  # its process dies here
    (left,) = (each for page in bucket.store.files() for each in page)
    assert left.written_at == pytest.approx(time.time(), abs=60)
    bucket.store.remove(left.blob_id, left.digest)
    assert ids(bucket) == set()


@pytest.mark.processes
def test_bytes_that_come_too_slowly_for_the_sweep_are_refused(bucket):
    now = [0.0]
    store = type(bucket.store)(bucket.store._bucket, clock=lambda: now[0])
    writer = store.begin("0" * 32)
    writer.write(bytes(PART))
    now[0] += 1801
    with pytest.raises(UnavailableError, match="too slowly"):
        writer.write(bytes(PART))


@pytest.mark.processes
@pytest.mark.parametrize("what", ["changed", "cut off", "swapped"])
def test_objects_that_somebody_changed_give_nothing(bucket, what):
    stored = bucket.put([Random(1).randbytes(PART + 5000)], MOST)
    objects = bucket.store._bucket
    first, last = (bytes(objects.get(f"{stored.id}/{n:06d}").bytes()) for n in (0, 1))
    said = {"changed": last[:-1] + b"\0", "cut off": b"", "swapped": first[:5000]}[what]
    objects.put(f"{stored.id}/000001", said)
    with pytest.raises(UnavailableError, match="cannot be decrypted"):
        bucket.read(stored.id, stored.digest, stored.sealed_key)


@pytest.mark.processes
def test_a_bucket_that_is_missing_is_no_erased_file(endpoint, tmp_path, monkeypatch):
    for name, value in buckets.KEY.items():
        monkeypatch.setenv(name, value)
    settings = Settings(data_dir=tmp_path, **buckets.settings_of(endpoint, tmp_path, "no-such"))
    vault = open_vault(settings)
    assert vault.store.problem() == "cannot be reached"
    with pytest.raises(SetupError, match="object store: cannot be used"):
        vault.store.check()
    with pytest.raises(UnavailableError):
        vault.read("0" * 32, "0" * 64, os.urandom(60))
    with pytest.raises(UnavailableError):
        vault.put([b"data"], MOST)


@pytest.mark.processes
def test_plain_http_is_refused_unless_it_is_allowed(endpoint, tmp_path):
    said = buckets.settings_of(endpoint, tmp_path) | {"bucket_http": False}
    with pytest.raises(SetupError, match="is not https.*TREEWARDEN_BUCKET_HTTP=true"):
        open_vault(Settings(data_dir=tmp_path, **said))


@pytest.mark.processes
def test_with_a_bucket_no_machine_makes_a_key_of_its_own(endpoint, tmp_path):
    said = buckets.settings_of(endpoint, tmp_path) | {"key_file": tmp_path / "other.key"}
    with pytest.raises(SetupError, match="is missing; give all machines the same key"):
        open_vault(Settings(data_dir=tmp_path, **said))
    assert not (tmp_path / "other.key").exists()
