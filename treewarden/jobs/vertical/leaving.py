"""What a side of a real session leaves on disk: the skeleton, notes, classes, the log, and what it learnt."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping

import treewarden
from treewarden.jobs.vertical.meeting import Part
from treewarden.ppdm_models.formats.own import treewarden_json
from treewarden.ppdm_models.methods.vertical.leakage import seen_by
from treewarden.ppdm_models.methods.vertical.messages import MINER, Log
from treewarden.ppdm_models.methods.vertical.notes import notes_of, skeleton_tree
from treewarden.ppdm_models.methods.vertical.party_view import LEAF
from treewarden.ppdm_models.methods.vertical.session import Meeting
from treewarden.ppdm_models.methods.vertical.taking_part import Kept, Led
from treewarden.reports.building.vertical import About, leakage_document
from treewarden.reports.document.parts import as_json
from treewarden.reports.document.vertical import LeakageDocument
from treewarden.reports.figures.leakage_page import leakage_page
from treewarden.reports.figures.message_flow import message_flow_svg

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


def files_of_miner(meeting: Meeting, found: Led) -> dict[str, bytes]:
    """Return what a miner leaves, by name; its tree is the skeleton."""
    session = meeting.session
    seen = seen_by(MINER, session, found.log, (), None)
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, found.log, [seen], found.skeleton, whose="the miner")
    skeleton = skeleton_tree(found.skeleton, session.parties, session.classes, meeting.target)
    files = {
        TREE: treewarden_json.FORMAT.write(skeleton),
        **said(document, found.log, session.parties),
    }
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
    own = kept.holding.attributes
    seen = seen_by(part.number, session, kept.log, own, None, blocks=kept.blocks)
    name = session.parties[part.number]
    about = About(meeting.name, session, meeting.target, treewarden.__version__, meeting.asked)
    document = leakage_document(about, kept.log, [seen], None, whose=name)
    files = {
        NOTES: notes_of(meeting.name, name, kept.notes, own),
        **said(document, kept.log, session.parties),
    }
    if kept.asked is not None:
        files[ORDER] = _csv(("record", "own row"), enumerate(kept.asked.tolist()))
    return files


def said(document: LeakageDocument, log: Log, parties: tuple[str, ...]) -> Mapping[str, bytes]:
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
