"""Parties and a miner in processes of their own: the same tree, a stated end whatever goes wrong, nothing told."""

import json
import socket
import subprocess
import sys
from contextlib import ExitStack

import pytest

from tests.treewarden.vertical.tennis import CANARY, PARTIES, ROWS, write_table
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.methods.vertical.transport import make_certificates

pytestmark = pytest.mark.processes
SECONDS = 120
"""How long a test waits for a process that ought to have ended by itself long before."""
SESSION = """
name = "tennis"
mode = "{mode}"
records = {records}
target = "play"
classes = ["no", "yes"]
labelled = "alice"
seconds = {seconds}
asked = {asked}

[miner]
host = "localhost"
port = {ports[0]}

[[party]]
name = "alice"
host = "localhost"
port = {ports[1]}
attributes = 2

[[party]]
name = "bobby"
host = "localhost"
port = {ports[2]}
attributes = 2
"""
OWN = {"alice": ("outlook", "temp", "play"), "bobby": ("humidity", "windy")}
TOLD = [{name: f"{CANARY}-{value}" for name, value in row.items()} for row in ROWS]
"""The same records with values that show wherever they are told."""
CLASSES = f'classes = ["{CANARY}-no", "{CANARY}-yes"]'


def free_ports(count):
    with ExitStack() as stack:
        taken = [stack.enter_context(socket.create_server(("localhost", 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in taken]


class Place:
    """A folder with all that a session needs, and its sides as processes."""

    def __init__(self, folder, mode="shared", records=14, seconds=60, asked=0):
        self.folder, self.running = folder, {}
        ports = free_ports(3)
        text = SESSION.format(mode=mode, records=records, seconds=seconds, asked=asked, ports=ports)
        self.session = folder / "session.toml"
        self.session.write_text(text)
        make_certificates(folder / "certificates", ["miner", "alice", "bobby"])
        self.write(ROWS)

    def write(self, rows, names=OWN):
        for name, columns in names.items():
            write_table(self.folder / f"{name}.csv", rows, columns)

    def start(self, name, *more, session=None, certificates="certificates"):
        common = [
            "--session",
            str(session or self.session),
            "--certificates",
            str(self.folder / certificates),
            "-q",
            "-o",
            str(self.folder / f"out-{name}"),
            *more,
        ]
        given = ["miner"]
        if name != "miner":
            given = ["party", "--name", name, "--data", str(self.folder / f"{name}.csv")]
        process = subprocess.Popen(
            [sys.executable, "-m", "treewarden", *given, *common],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.running[name] = process
        return process

    def ended(self):
        """Return the exit code and the words of every side."""
        found = {}
        for name, process in self.running.items():
            said, _ = process.communicate(timeout=SECONDS)
            found[name] = process.returncode, said
        return found

    def left(self, name):
        folder = self.folder / f"out-{name}"
        return {each.name for each in folder.iterdir()} if folder.exists() else set()


@pytest.fixture
def place(tmp_path):
    places = []

    def make(**given):
        places.append(Place(tmp_path, **given))
        return places[-1]

    yield make
    for each in places:
        for process in each.running.values():
            process.kill()
            process.communicate()


def refused(ended, names, words):
    """Check that sides ended with one line that says why, and no traceback."""
    for name in names:
        code, said = ended[name]
        assert code == 4, (name, said)
        assert words in said, (name, said)
        assert len(said.splitlines()) == 1, (name, said)


@pytest.mark.parametrize("mode", ["ids", "shared"])
def test_sides_in_their_own_processes_grow_the_tree_of_plain_id3(place, mode, tmp_path):
    here = place(mode=mode)
    here.write(TOLD)
    here.session.write_text(here.session.read_text().replace('classes = ["no", "yes"]', CLASSES))
    for name in ("alice", "bobby", "miner"):
        here.start(name)
    ended = here.ended()
    assert {name: code for name, (code, _) in ended.items()} == dict.fromkeys(ended, 0), ended
    (tmp_path / "parties.toml").write_text(PARTIES)
    joined = write_table(tmp_path / "joined.csv", TOLD)
    check = subprocess.run(
        [sys.executable, "-m", "treewarden", "vertical", "--check", str(joined)]
        + [str(tmp_path / "out-miner"), "--parties", str(tmp_path / "parties.toml")],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert check.returncode == 0, check.stderr
    folders = [str(tmp_path / f"out-{name}") for name in ("miner", "alice", "bobby")]
    full = tmp_path / "full.json"
    join = subprocess.run(
        [sys.executable, "-m", "treewarden", "vertical", "--join", *folders, "-o", str(full)],
        capture_output=True,
        text=True,
        timeout=SECONDS,
    )
    assert join.returncode == 0, join.stderr
    assert "8 nodes, by 3 attributes" in join.stdout
    attributes = {node.test.feature for node in read_tree(full).nodes[1:]}
    assert attributes == {"outlook", "humidity", "windy"}
    # the classes are public, as the session file says them; no value of a column is, but in one's own notes
    for name in ("alice", "bobby", "miner"):
        for file in (tmp_path / f"out-{name}").iterdir():
            text = file.read_text().replace(f"{CANARY}-no", "").replace(f"{CANARY}-yes", "")
            assert (CANARY in text) is (file.name == "notes.json"), file
    assert all(CANARY not in said for _, said in ended.values())
    seen = json.loads((tmp_path / "out-bobby" / "leakage.json").read_text())
    assert not seen["is_ideal"]
    assert [each["name"] for each in seen["sides"]] == ["bobby"]


def test_records_are_classified_by_walking(place, tmp_path):
    here = place(asked=14)
    for name in ("alice", "bobby"):
        columns = [each for each in OWN[name] if each != "play"]
        rows = [dict(row) for row in ROWS]
        rows[2]["outlook"] = "foggy"
        asked = write_table(tmp_path / f"asked-{name}.csv", rows, columns)
        here.start(name, "--asked", str(asked))
    here.start("miner")
    ended = here.ended()
    assert all(code == 0 for code, _ in ended.values()), ended
    lines = (tmp_path / "out-miner" / "classes.csv").read_text().splitlines()[1:]
    found = [line.split(",")[1] for line in lines]
    expected = [row["play"] for row in ROWS]
    assert expected[2] == "yes"
    assert found == [*expected[:2], "", *expected[3:]]


def test_records_are_put_in_one_order_by_their_ids(place, tmp_path):
    here = place(records=13)
    rows = [row | {"id": f"{CANARY}{number}"} for number, row in enumerate(ROWS)]
    write_table(tmp_path / "alice.csv", rows[:13], ("id", *OWN["alice"]))
    write_table(tmp_path / "bobby.csv", rows[::-1], ("id", *OWN["bobby"]))
    for name in ("alice", "bobby"):
        here.start(name, "--id", "id")
    here.start("miner")
    ended = here.ended()
    assert all(code == 0 for code, _ in ended.values()), ended
    (tmp_path / "parties.toml").write_text(PARTIES)
    joined = write_table(tmp_path / "joined.csv", rows[:13])
    check = subprocess.run(
        [sys.executable, "-m", "treewarden", "vertical", "--check", str(joined)]
        + [str(tmp_path / "out-miner"), "--parties", str(tmp_path / "parties.toml")],
        timeout=SECONDS,
    )
    assert check.returncode == 0
    left = [path for name in here.running for path in (tmp_path / f"out-{name}").iterdir()]
    assert all(CANARY not in path.read_text() for path in left)


def test_another_number_of_common_ids_ends_all_sides(place, tmp_path):
    here = place()
    rows = [row | {"id": f"{CANARY}{number}"} for number, row in enumerate(ROWS)]
    write_table(tmp_path / "alice.csv", rows[:13], ("id", *OWN["alice"]))
    write_table(tmp_path / "bobby.csv", rows, ("id", *OWN["bobby"]))
    for name in ("alice", "bobby"):
        here.start(name, "--id", "id")
    here.start("miner")
    ended = here.ended()
    assert {code for code, _ in ended.values()} == {4}
    assert "13 ids occur at all parties" in ended["alice"][1] + ended["bobby"][1]
    assert all(CANARY not in said for _, said in ended.values())
    assert not here.left("miner")


def test_one_who_does_not_come_is_named_by_all(place):
    here = place(seconds=1)
    here.start("alice")
    here.start("miner")
    ended = here.ended()
    refused(ended, ["alice", "miner"], "bobby")
    assert not here.left("miner")


FAULTY = """
import asyncio, os, signal, sys
from pathlib import Path
from treewarden.ppdm_models.methods.vertical.messages import MINER, MessageKind
from treewarden.ppdm_models.methods.vertical.session import read_session
from treewarden.ppdm_models.methods.vertical.streams import met

async def main():
    session, certificates, fault = sys.argv[1:]
    async with met(read_session(Path(session)), 1, Path(certificates)) as channel:
        await channel.following(0)
        if fault == "says what is not due":
            for to in (MINER, 0):
                channel.post(to, MessageKind.SUMS, 7, b"c4n4ry" * 100)
        else:
            os.kill(os.getpid(), signal.SIGKILL if fault == "dies" else signal.SIGINT)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("dies", "bobby: ended its connection"),
        ("is stopped", "bobby: was stopped there"),
        ("says what is not due", "bobby: sent "),
    ],
)
def test_a_faulty_side_ends_all_others_and_is_named(place, fault, words):
    here = place()
    here.start("miner")
    here.start("alice")
    arguments = [str(here.session), str(here.folder / "certificates"), fault]
    here.running["bobby"] = subprocess.Popen(
        [sys.executable, "-c", FAULTY, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    ended = here.ended()
    refused(ended, ["alice", "miner"], words)
    assert all(CANARY not in ended[name][1] for name in ("alice", "miner"))
    assert not here.left("miner") | here.left("alice")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda rows: rows[:13], "has 13 records, and the session file states 14"),
        (lambda rows: [row | {"play": "perhaps"} for row in rows], "14 records have a class"),
        (lambda rows: [row | {"play": ""} for row in rows], "14 records have no class"),
    ],
)
def test_a_table_that_does_not_fit_is_refused_before_anybody_is_met(place, change, words):
    here = place()
    here.write(change(ROWS))
    here.start("alice")
    refused(here.ended(), ["alice"], words)


def test_a_class_that_the_wrong_party_holds_is_refused(place):
    here = place()
    here.write(ROWS, {"bobby": (*OWN["bobby"], "play")})
    here.start("bobby")
    refused(
        here.ended(),
        ["bobby"],
        "has a column 'play', and only alice may hold the class; remove the column",
    )
