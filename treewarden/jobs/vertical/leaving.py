"""What a side of a real session leaves on disk: the skeleton, notes, classes, the log, and what it learnt."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Mapping

import treewarden
from ppdm_models.files.convert import converted
from ppdm_models.vertical.holding import Holding
from ppdm_models.vertical.leakage import seen_by
from ppdm_models.vertical.messages import MINER, Log
from ppdm_models.vertical.published import skeleton_tree
from ppdm_models.vertical.session_file import Meeting
from ppdm_models.vertical.skeleton import LEAF
from ppdm_models.vertical.taking_part import Kept, Led
from reports.building.vertical import About, leakage_document
from reports.document.vertical import LeakageDocument
from reports.renderers import leakage_renderer
from treewarden.jobs.vertical.meeting import Part

FORMAT = "treewarden_json"
TREE, LEAKAGE = "tree.json", "leakage.json"
PAGE, MESSAGES = "leakage.html", "messages.jsonl"
NOTES, CLASSES, ORDER = "notes.json", "classes.csv", "asked.csv"
PARTY_FILES = (NOTES, LEAKAGE, PAGE, MESSAGES, ORDER)
UNKNOWN = ""
"""What stands for the class of a record that has a value which no branch is for."""


def miner_files(meeting: Meeting) -> tuple[str, ...]:
    """Return the names of what a miner leaves."""
    return (TREE, LEAKAGE, PAGE, MESSAGES, *((CLASSES,) if meeting.asked else ()))


def files_of_miner(meeting: Meeting, found: Led) -> dict[str, bytes]:
    """Return what a miner leaves, by name; its tree is the skeleton."""
    session = meeting.session
    seen = seen_by(MINER, session, found.log, (), None)
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, found.log, [seen], found.skeleton, whose="the miner")
    skeleton = skeleton_tree(found.skeleton, session.parties, session.classes, meeting.target)
    files = {TREE: converted(skeleton, FORMAT), **said(document, found.log, session.parties)}
    if found.labels is not None:
        labels = found.labels.tolist()
        rows = (
            (number, UNKNOWN if label == LEAF else session.classes[label])
            for number, label in enumerate(labels)
        )
        files[CLASSES] = _csv(("record", meeting.target), rows)
    return files


def files_of_party(meeting: Meeting, part: Part, kept: Kept) -> dict[str, bytes]:
    """Return what a party leaves: what its nodes test, and which of its records were classified as which number."""
    session = meeting.session
    seen = seen_by(part.number, session, kept.log, kept.holding.attributes, None)
    name = session.parties[part.number]
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, kept.log, [seen], None, whose=name)
    files = {
        NOTES: _notes(name, kept.notes, kept.holding),
        **said(document, kept.log, session.parties),
    }
    if kept.asked is not None:
        files[ORDER] = _csv(("record", "own row"), enumerate(kept.asked.tolist()))
    return files


def said(document: LeakageDocument, log: Log, parties: tuple[str, ...]) -> Mapping[str, bytes]:
    """Return the document of what was learnt, for programs and people, and the log."""
    lines = "".join(f"{line}\n" for line in log.lines(parties))
    return {
        LEAKAGE: leakage_renderer("json").render_leakage(document),
        PAGE: leakage_renderer("html").render_leakage(document),
        MESSAGES: lines.encode(),
    }


def _notes(name: str, notes: Mapping[int, int], holding: Holding) -> bytes:
    nodes = {
        str(serial): {
            "attribute": holding.attributes[number].name,
            "branches": list(holding.attributes[number].categories),
        }
        for serial, number in notes.items()
    }
    said = {"schema": "treewarden-notes/1", "party": name, "nodes": nodes}
    return (json.dumps(said, ensure_ascii=False, indent=1) + "\n").encode()


def _csv(names: tuple[str, str], rows: Iterable[tuple[int, object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()
