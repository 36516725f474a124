"""One side of a real session: what it brings is checked before it meets anybody, and what the folders hold afterwards.

Whether all parts together are the tree that plain ID3 grows on the joined table can be checked from the folders.
"""

from __future__ import annotations

import asyncio
import csv
import io
import itertools
import json
from collections import defaultdict
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import treewarden
from treewarden.audit.progress import Step, silent
from treewarden.jobs.vertical.columns import NumberHandling, coded_like, holding_of, ids_of
from treewarden.ppdm_models.errors import PartyError, os_reason
from treewarden.ppdm_models.files.load import load_model, read_bytes
from treewarden.ppdm_models.formats.own import treewarden_json
from treewarden.ppdm_models.methods.vertical.messages import MINER, Log, ProtocolError, role
from treewarden.ppdm_models.methods.vertical.notes import (
    full_tree,
    joined_tree,
    notes_of,
    read_notes,
    skeleton_tree,
)
from treewarden.ppdm_models.methods.vertical.party_view import (
    LEAF,
    Codes,
    Holding,
    Skeleton,
    WholeTree,
    plain_id3,
    seen_by,
)
from treewarden.ppdm_models.methods.vertical.session import Meeting, Parties, Stops
from treewarden.ppdm_models.methods.vertical.taking_part import (
    Brought,
    Led,
    PartyRecord,
    lead,
    take_part,
)
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.tables.table import Table
from treewarden.ppdm_models.tree.predicate import Always, CategoryTest
from treewarden.ppdm_models.tree.tree import Tree
from treewarden.reports.building.vertical import About, leakage_document
from treewarden.reports.document.methods import Agreed, LeakageDocument
from treewarden.reports.document.parts import as_json
from treewarden.reports.figures.pages import leakage_page, message_flow_svg

# What a side of a real session leaves on disk: the skeleton, notes, classes, the log, and what it learnt.

FORMAT = "treewarden_json"
TREE, LEAKAGE = "tree.json", "leakage.json"
PAGE, MESSAGES, FLOW = "leakage.html", "messages.jsonl", "messages.svg"
NOTES, CLASSES, ORDER = "notes.json", "classes.csv", "asked.csv"
PARTY_FILES = (NOTES, LEAKAGE, PAGE, MESSAGES, FLOW, ORDER)
UNKNOWN = ""
"""What stands for the class of a record that has a value which no branch is for."""


def miner_files(meeting: Meeting) -> tuple[str, ...]:
    """Return the names of what a miner leaves."""
    return (TREE, LEAKAGE, PAGE, MESSAGES, FLOW, *((CLASSES,) if meeting.asked else ()))


def files_of_miner(meeting: Meeting, led: Led) -> dict[str, bytes]:
    """Return what a miner leaves, by name; its tree is the skeleton."""
    session = meeting.session
    side_view = seen_by(MINER, session, led.log, (), None)
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, led.log, [side_view], led.skeleton, whose="the miner")
    skeleton = skeleton_tree(led.skeleton, session.parties, session.classes, meeting.target)
    files = {
        TREE: treewarden_json.FORMAT.write(skeleton),
        **session_files(document, led.log, session.parties),
    }
    if led.labels is not None:
        labels = led.labels.tolist()
        rows = (
            (number, UNKNOWN if label == LEAF else session.classes[label])
            for number, label in enumerate(labels)
        )
        files[CLASSES] = _csv(("record", meeting.target), rows)
    return files


def files_of_party(
    meeting: Meeting, part: CheckedPart, party_record: PartyRecord
) -> dict[str, bytes]:
    """Return what a party leaves: what its nodes test, and which of its records were classified as which number."""
    session = meeting.session
    party_attributes = party_record.holding.attributes
    side_view = seen_by(
        part.number, session, party_record.log, party_attributes, None, blocks=party_record.blocks
    )
    name = session.parties[part.number]
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, party_record.log, [side_view], None, whose=name)
    files = {
        NOTES: notes_of(meeting.name, name, party_record.notes, party_attributes),
        **session_files(document, party_record.log, session.parties),
    }
    if party_record.asked is not None:
        files[ORDER] = _csv(("record", "own row"), enumerate(party_record.asked.tolist()))
    return files


def session_files(
    document: LeakageDocument, log: Log, parties: tuple[str, ...]
) -> Mapping[str, bytes]:
    """Return the document of what was learnt, for programs and people, the log, and the picture of its first node."""
    lines = "".join(f"{line}\n" for line in log.lines(parties))
    picture = message_flow_svg(document)
    return {
        LEAKAGE: as_json(document),
        PAGE: leakage_page(document),
        MESSAGES: lines.encode(),
        **({} if picture is None else {FLOW: picture}),
    }


def _csv(names: tuple[str, str], rows: Iterable[tuple[int, object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()


@dataclass(frozen=True, slots=True)
class TreeComparison:
    """Whether the trees are the same, and of what size each is; ``of`` says what was compared."""

    of: str
    is_same: bool
    found: int
    expected: int


def checked(table: Path, folder: Path, parties: Parties | None) -> TreeComparison:
    """Grow plain ID3 on the joined table, and compare it with the tree in a folder.

    A folder of a miner holds a skeleton: ``parties`` say whose each column of the table is. Of equally good attributes
    plain ID3 takes the first column: of a full tree in its own order, of a skeleton in that of the parties.

    Raises:
        PartyError: the folder does not hold what a session leaves, or it is not said who holds what.
        TableError: the table cannot be read, or lacks a column.
    """
    tree = load_model(read_bytes(folder / TREE), TREE)
    if not isinstance(tree, Tree):
        raise PartyError(TREE, "holds several trees; give the folder that a session wrote")
    agreed = agreed_in(folder / LEAKAGE)
    joined = read_table(table)
    names = [feature.name for feature in tree.features]
    is_full = set(names) <= set(joined.columns)
    if not is_full:
        if parties is None:
            problem = "a skeleton; add --parties to say which party holds each column"
            raise PartyError(TREE, problem)
        names = [name for column in parties.columns for name in column if name != tree.target]
    target = tree.target or ""
    holding = holding_of(joined, names, target, tree.classes, NumberHandling.BINS)
    if holding.classes is None:
        raise PartyError(table.name, joined.lacks(target))
    whole_tree = plain_id3(
        holding.attributes,
        holding.classes,
        len(tree.classes),
        Stops(agreed.min_records, agreed.depth),
    )
    if is_full or parties is None:
        expected, of = full_tree(whole_tree, holding.attributes, tree.classes, target), "tree"
    else:
        owners = [
            number
            for number, own in enumerate(parties.columns)
            for name in own
            if name != tree.target
        ]
        skeleton = _owned(whole_tree, owners)
        expected, of = (
            skeleton_tree(skeleton, parties.names, tree.classes, target),
            "skeleton",
        )
    return TreeComparison(of, expected.nodes == tree.nodes, len(tree.nodes), len(expected.nodes))


def _owned(whole_tree: WholeTree, owners: list[int]) -> Skeleton:
    """Return the skeleton with the owner of each attribute, whose nodes are numbered as it comes to win them."""
    serials: dict[int, itertools.count[int]] = defaultdict(lambda: itertools.count(1))
    places = []
    for place, attribute in zip(whole_tree.skeleton.places, whole_tree.attributes, strict=True):
        if not place.is_leaf:
            owner = owners[attribute]
            place = replace(place, owner=owner, serial=next(serials[owner]))  # noqa: PLW2901
        places.append(place)
    return Skeleton(tuple(places))


def agreed_in(path: Path) -> Agreed:
    """Return what the sides of a session had agreed on, as a leakage document says.

    Raises:
        PartyError: there is none.
    """
    try:
        return Agreed.model_validate(json.loads(path.read_bytes())["session"])
    except OSError as error:
        raise PartyError(
            path.name, f"cannot be read ({os_reason(error)}); give the folder of a session"
        ) from error
    except (ValueError, TypeError, KeyError) as error:
        raise PartyError(
            path.name, "not a leakage document; give the folder of a session"
        ) from error


# The folders of a session's miner and parties in, the tree with everybody's attributes out.


def joined_folders(miner: Path, parties: Sequence[Path]) -> tuple[Tree, bytes]:
    """Return the tree, and it in our own format.

    Raises:
        PartyError: a folder does not hold what that side leaves, or folders are of different sessions.
        TreeFormatError: the skeleton cannot be read.
    """
    skeleton = load_model(read_bytes(miner / TREE), TREE)
    if not isinstance(skeleton, Tree) or not _is_skeleton(skeleton):
        problem = "not a skeleton; give the miner's folder first, then the folders of the parties"
        raise PartyError(f"{miner.name}/{TREE}", problem)
    session = agreed_in(miner / LEAKAGE).name
    notes = [read_notes(party / NOTES) for party in parties]
    for folder, each in zip(parties, notes, strict=True):
        if each.session != session:
            problem = f"belongs to the session {each.session!r}, and the skeleton to {session!r}"
            advice = "give folders of one session"
            raise PartyError(f"{folder.name}/{NOTES}", f"{problem}; {advice}")
    tree = joined_tree(skeleton, notes)
    return tree, treewarden_json.FORMAT.write(tree)


def _is_skeleton(tree: Tree) -> bool:
    """Return whether a tree tests what only a number names: a party's name, and that of its node."""
    names = [feature.name.rpartition(" ") for feature in tree.features]
    return all(owner and number.isdecimal() for owner, _, number in names) and all(
        isinstance(node.test, CategoryTest | Always) for node in tree.nodes
    )


Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class PartyFiles:
    """A party's files: its table, its name in the session, the column of ids that all hold, records to classify."""

    table: Path
    name: str
    ids: str | None
    asked: Path | None
    numbers: NumberHandling


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """A party's part, checked: its number, its tables, the names of its attributes, and whether it holds the class."""

    number: int
    table: Table
    asked: Table | None
    names: tuple[str, ...]
    target: str | None


def part_of(meeting: Meeting, party: PartyFiles, step: Step = silent) -> CheckedPart:
    """Read a party's tables, and check that they are what the session file says.

    Raises:
        PartyError: the session has no such party, or the tables do not fit it.
        TableError: a table cannot be read, or a column cannot be used.
    """
    session = meeting.session
    if party.name not in session.parties:
        there = ", ".join(session.parties)
        raise PartyError("--name", f"the session has no party {party.name!r}; it has {there}")
    number = session.parties.index(party.name)
    with step(f"reading {party.table.name}"):
        table = read_table(party.table)
    holds = number == session.labelled
    if holds and meeting.target not in table.columns:
        raise PartyError(party.table.name, table.lacks(meeting.target))
    if not holds and meeting.target in table.columns:
        labelled = session.parties[session.labelled]
        problem = f"has a column {meeting.target!r}, and only {labelled} may hold the class; remove the column"
        raise PartyError(party.table.name, problem)
    names = tuple(column for column in table.columns if column not in (meeting.target, party.ids))
    if len(names) != len(session.ranks[number]):
        said = len(session.ranks[number])
        problem = f"has {len(names):,} attributes, and the session file states {said:,}; correct one of them"
        raise PartyError(party.table.name, problem)
    if party.ids is None and table.rows != session.records:
        problem = f"has {table.rows:,} records, and the session file states {session.records:,}"
        advice = "correct one of them, or name a column of ids with --id"
        raise PartyError(party.table.name, f"{problem}; {advice}")
    part = CheckedPart(
        number, table, _asked_table(meeting, party), names, meeting.target if holds else None
    )
    holding_of(
        table, names, part.target, session.classes, party.numbers
    )  # refused before any meets
    return part


def _asked_table(meeting: Meeting, party: PartyFiles) -> Table | None:
    if (party.asked is None) is not (meeting.asked == 0):
        count = meeting.asked
        problem = f"the session classifies {count:,} records; " + (
            "give them with --asked FILE" if count else "leave out --asked"
        )
        raise PartyError("--asked", problem)
    if party.asked is None:
        return None
    table = read_table(party.asked)
    if party.ids is None and table.rows != meeting.asked:
        problem = f"has {table.rows:,} records, and the session file states {meeting.asked:,}; correct one of them"
        raise PartyError(party.asked.name, problem)
    return table


def taken_part(
    meeting: Meeting, party: PartyFiles, part: CheckedPart, certificates: Path
) -> PartyRecord:
    """Be a party until the miner ends the session.

    Raises:
        PartyError: a side cannot be reached, is late or breaks the protocol, or a table does not fit.
    """
    session = meeting.session

    def holding(rows: Codes, _: Holding | None) -> Holding:
        return holding_of(
            part.table, part.names, part.target, session.classes, party.numbers, rows=rows
        )

    records = Brought(_ids(part.table, party), holding)
    brought = None
    if part.asked is not None:
        table = part.asked

        def asked_of(rows: Codes, holding: Holding | None) -> Holding:
            return coded_like(table, holding or Holding(()), rows)

        brought = Brought(_ids(table, party), asked_of)
    return _run(meeting, take_part(meeting, part.number, certificates, records, brought))


def _ids(table: Table, party: PartyFiles) -> Sequence[str] | None:
    return None if party.ids is None else ids_of(table, party.ids)


def led(meeting: Meeting, certificates: Path) -> Led:
    """Lead a session.

    Raises:
        PartyError: a party cannot be reached, is late or breaks the protocol.
    """
    return _run(meeting, lead(meeting, certificates))


def _run(meeting: Meeting, side: Coroutine[Any, Any, Result]) -> Result:
    try:
        return asyncio.run(side)
    except ProtocolError as error:
        who = role(error.who, meeting.session.parties)
        raise PartyError(who, error.problem) from error
