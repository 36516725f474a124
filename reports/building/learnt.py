"""What a side of a session learns, and what not, in words; and what the protocol rests on."""

from __future__ import annotations

from collections.abc import Iterator

from treewarden.ppdm_models.methods.vertical.leakage import Seen
from treewarden.ppdm_models.methods.vertical.messages import MINER, Kind, role
from treewarden.ppdm_models.methods.vertical.secure_minimum import threshold
from treewarden.ppdm_models.methods.vertical.session import Mode, Session
from treewarden.reports.document.words import counted

FIRST = 0
"""The party that compares hidden ids."""
ASSUMED = (
    "All sides follow the protocol, and try to learn from what they see (honest but curious).",
    "No two sides put together what they saw.",
    "Keys of certificates stay with their owners, and all sides use the same session file.",
)
LYING = "A party that lies about its gains decides where the tree splits, and sees what that shows; nobody notices."
BROKEN = {
    Mode.IDS: (
        "The miner together with one party learns all that the relay hides: every node’s records, and the names of "
        "that party’s nodes.",
        "Two parties together know each node’s block by the value of whichever of them won it.",
        LYING,
    ),
    Mode.SHARED: (
        "The miner together with ONE party opens the columns of ALL parties: it dealt the masks, and parties send what "
        "is masked to each other.",
        "Small counts point at people: whoever alone has a value is seen by the party that holds it at every node "
        "that is split on their way, with their class.",
        "A pure leaf with few people tells whoever gets its totals their class, as the tree itself does.",
        LYING,
    ),
}
SELF = (
    "The tree itself: leaves and paths say something about people whatever the protocol hides. That is what the audit "
    "is about."
)


def learnt(seen: Seen, session: Session, asked: int) -> tuple[str, ...]:
    """Return what a side learnt; ``asked`` is how many records were classified."""
    if seen.name == role(MINER, session.parties):
        return tuple(_by_miner(session, asked))
    return tuple(_by_party(seen, session, asked))


def hidden(seen: Seen, session: Session, asked: int) -> tuple[str, ...]:
    """Return what a side was not shown."""
    if seen.name == role(MINER, session.parties):
        but = " but of those that were classified" if asked else ""
        return (
            "the name of an attribute, or a value",
            f"a count of people, or a record’s number{but}",
        )
    gain = "the gain of another party’s attribute that lost, or a name or value of any"
    if session.mode is Mode.IDS:
        return (gain,)
    return (
        gain,
        "which records are at a node, beyond what its own attributes and small counts say",
    )


def broken_by(session: Session) -> tuple[str, ...]:
    """Return what breaks the protocol, and what it does not hide."""
    sides = len(session.parties) + 1
    enough = threshold(len(session.parties)) + 1
    together = f"Any {enough} of the {sides} sides together can open the keys that are compared."
    return (*BROKEN[session.mode], together, SELF)


def _by_miner(session: Session, asked: int) -> Iterator[str]:
    yield "the skeleton of the tree: which party decides at each node, and by which of that party’s own nodes"
    yield "how many branches each node has, and the class of each leaf"
    if session.mode is Mode.SHARED:
        yield "how many values the attributes of each party have together, rounded up"
    if asked:
        yield "of each record that was classified, by its number: its path, who decided on it, and its class"
    yield "when each message came, and how long it was"


def _by_party(seen: Seen, session: Session, asked: int) -> Iterator[str]:
    own = session.parties.index(seen.name)
    has_some = bool(session.ranks[own])
    if any(each.kind is Kind.HIDDEN_IDS for each in seen.received):
        yield "which of its ids all parties have, and how many ids each other party has"
        if own == FIRST:
            yield "as the one that compares hidden ids: which of its own each other party has, and how many any share"
    yield f"that its own attributes decide at {counted(seen.won, 'node', 'nodes')}"
    if session.mode is Mode.IDS:
        if own != session.labelled:
            yield f"the class of every record, which {session.parties[session.labelled]} sent to all parties"
        yield "the shape of the tree, and whose attribute decides at each node"
        yield "the record numbers of every node: the split of whoever won, as blocks that have no name"
        yield "how many of each class are in these blocks, and so how good an attribute of another party is that won"
    else:
        yield "the shape of the tree: which nodes are split, and into how many branches"
        yield "how many values the attributes of each other party have together, rounded up"
        if has_some:
            yield "at every node that is split, how many records have each of its own values and each class"
            yield "the way and class of anybody who alone has one of its values: such counts are about one person"
        if seen.won:
            yield "the class totals of all nodes right below its own, and so the classes of leaves there"
    if asked and seen.won:
        yield "of the records that were classified, by their numbers: which came to its own nodes"
