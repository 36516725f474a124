"""From the log of a session between parties to the document of what each side learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from treewarden.audit.reading import exactly
from treewarden.policies.verdict import PolicyVerdict, worst
from treewarden.ppdm_models.methods.vertical.messages import MINER, Log, LogEntry, MessageKind, role
from treewarden.ppdm_models.methods.vertical.party_view import SideView, Skeleton
from treewarden.ppdm_models.methods.vertical.secure_minimum import threshold
from treewarden.ppdm_models.methods.vertical.session import Mode, Session
from treewarden.reports.building.worded import value, word
from treewarden.reports.document.methods import (
    Agreed,
    Audited,
    LeakageDocument,
    Member,
    SessionSide,
    Size,
    Traffic,
)
from treewarden.reports.document.parts import Value
from treewarden.reports.document.words import count, counted

if TYPE_CHECKING:  # with all measures, of which a side of a session needs none
    from treewarden.policies.judging.decision import Decision


# What a side of a session learns, and what not, in words; and what the protocol rests on.

FIRST = 0
"""The party that compares hidden ids."""
ASSUMED = (
    "All sides follow the protocol, and try to learn from what they see (honest but curious).",
    "No two sides put together what they saw.",
    "Keys of certificates stay with their owners, and all sides use the same session file.",
)
LYING = (
    "A party that lies about its gains can decide where the tree splits, unnoticed, and "
    "sees the result."
)
BROKEN = {
    Mode.IDS: (
        "The miner together with one party learns all that the relay hides: every node’s records, and the names of "
        "that party’s nodes.",
        (
            "Two parties together can match each block of a node with its value, if one of "
            "them won the node."
        ),
        LYING,
    ),
    Mode.SHARED: (
        (
            "The miner together with ONE party can read the columns of ALL parties, because "
            "the miner made the masks, and the parties send each other the masked columns."
        ),
        (
            "Small counts identify people: if only one person has a value, the party that "
            "holds this column sees that person at every split node on their path, with "
            "their class."
        ),
        (
            "The totals of a pure leaf with few people disclose their class to the party "
            "that gets the totals, as the tree itself does."
        ),
        LYING,
    ),
}
SELF = (
    "The tree itself: its leaves and paths disclose something about people, whatever the "
    "protocol hides. The audit judges that."
)


def learnt(seen: SideView, session: Session, side: int) -> tuple[str, ...]:
    """Return what a side learnt; ``side`` is how many records were classified."""
    if seen.name == role(MINER, session.parties):
        return tuple(_by_miner(session, side))
    return tuple(_by_party(seen, session, side))


def hidden(seen: SideView, session: Session, side: int) -> tuple[str, ...]:
    """Return what a side was not shown."""
    if seen.name == role(MINER, session.parties):
        but = " but of those that were classified" if side else ""
        return (
            "the name of an attribute, or a value",
            f"a count of people, or a record’s number{but}",
        )
    gain = (
        "the gain of another party’s attribute that was not chosen, or the name or a "
        "value of any attribute"
    )
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


def _by_miner(session: Session, side: int) -> Iterator[str]:
    yield "the skeleton of the tree: which party decides at each node, and by which of that party’s own nodes"
    yield "how many branches each node has, and the class of each leaf"
    if session.mode is Mode.SHARED:
        yield "how many values the attributes of each party have together, rounded up"
    if side:
        yield (
            "for each classified record, by number: its path, the parties that decided "
            "on it, and its class"
        )
    yield "when each message came, and how long it was"


def _by_party(seen: SideView, session: Session, side: int) -> Iterator[str]:
    own = session.parties.index(seen.name)
    has_some = bool(session.ranks[own])
    if any(kind_traffic.kind is MessageKind.HIDDEN_IDS for kind_traffic in seen.received):
        yield "which of its ids all parties have, and how many ids each other party has"
        if own == FIRST:
            yield (
                "because it compares hidden ids: which of its own ids each other party "
                "has, and how many ids any parties share"
            )
    yield f"that its own attributes decide at {counted(seen.won, 'node', 'nodes')}"
    if session.mode is Mode.IDS:
        if own != session.labelled:
            yield f"the class of every record, which {session.parties[session.labelled]} sent to all parties"
        yield "the shape of the tree, and whose attribute decides at each node"
        yield (
            "the record numbers of every node: the split of the winning party, as "
            "blocks without names"
        )
        yield (
            "how many records of each class are in these blocks, and so how good the "
            "winning attribute of another party is"
        )
    else:
        yield "the shape of the tree: which nodes are split, and into how many branches"
        yield "how many values the attributes of each other party have together, rounded up"
        if has_some:
            yield "at every node that is split, how many records have each of its own values and each class"
            yield (
                "the path and class of every person who alone has one of its values: "
                "such counts describe one person"
            )
        if seen.won:
            yield "the class totals of all nodes right below its own, and so the classes of leaves there"
    if side and seen.won:
        yield "for the classified records, by number: which of them reached its own nodes"


CONFIDENTIAL = (
    "Confidential: this document lists who saw what about people. Only the parties and "
    "the people who decide about the publication may read it."
)
IDEAL = (
    "Simulation: all sides ran in one process that sees everything, so nobody is "
    "protected. It shows what each side would learn in a real session."
)
REAL = (
    "Keys were compared as secret shares: only the coordinator learned whose key is the "
    "smallest. Below is what this side sent and received."
)
UNCOMPARED = "No keys had to be compared. Below is what this side sent and received."
NOBODY = (
    "No side has the joined table, so the tree was not audited. This is not a PASS: audit "
    "the tree where the tables may be joined, before anybody publishes it."
)
LEFT_OUT = "The audits were skipped. Do not publish the trees before they are done."
BEFORE_THE_ROOT = frozenset(
    {
        MessageKind.GROUP_KEY,
        MessageKind.HIDDEN_IDS,
        MessageKind.COMMON_IDS,
        MessageKind.LABELS,
        MessageKind.WIDTH,
        MessageKind.SEED,
        MessageKind.MASKED_TABLE,
        MessageKind.SHARE,
        MessageKind.ASK,
        MessageKind.BRANCH,
        MessageKind.END,
        MessageKind.BYE,
    }
)


@dataclass(frozen=True, slots=True)
class About:
    """What a session was about: its name, what all sides agreed on, the class, how many records were classified.

    ``version`` is that of the program.
    """

    name: str
    session: Session
    target: str
    version: str
    asked: int = 0


def leakage_document(
    about: About,
    log: Log,
    sides: Sequence[SideView],
    skeleton: Skeleton | None,
    audits: Sequence[Audited] = (),
    *,
    whose: str = "",
    is_left_out: bool = False,
) -> LeakageDocument:
    """Return what sides learnt; ``whose`` is the side whose log it is.

    It is "" where all are seen at once, which is only where all were played: such a session is simulated even if its
    tree is one leaf, and nothing was compared.
    """
    kinds = {entry.kind for entry in log.entries}
    is_ideal = not whose or MessageKind.KEY in kinds
    real = REAL if MessageKind.COMPARING in kinds else UNCOMPARED
    verdict = word(worst(PolicyVerdict[audit.verdict] for audit in audits)) if audits else None
    why = "" if audits else LEFT_OUT if is_left_out else NOBODY
    return LeakageDocument(
        title=f"What {whose or 'each side'} learnt in the session “{about.name}”",
        headline=_headline(about, skeleton, audits),
        meaning=IDEAL if is_ideal else real,
        verdict=verdict,
        confidential=CONFIDENTIAL,
        is_ideal=is_ideal,
        whose=whose,
        session=_agreed(about),
        tree=None
        if skeleton is None
        else Size(inner=skeleton.inner, leaves=skeleton.leaves, depth=skeleton.depth),
        sides=tuple(_side(side, about) for side in sides),
        blocks=_share(_blocks(sides, about.session)),
        messages=len(log.entries),
        bytes=sum(entry.size for entry in log.entries),
        flow=_flow(log.entries, about.session.parties),
        assumed=ASSUMED,
        broken_by=broken_by(about.session),
        audits=tuple(audits),
        not_audited=why,
        version=about.version,
    )


def _headline(about: About, skeleton: Skeleton | None, audits: Sequence[Audited]) -> str:
    session = about.session
    who = counted(len(session.parties), "party", "parties")
    if skeleton is None:
        records = counted(session.records, "record", "records")
        return f"{who} and a coordinator trained a tree over {records}. It was not audited."
    nodes = counted(skeleton.inner, "inner node", "inner nodes")
    grew = (
        f"{who} and a miner trained a tree of {nodes} over "
        f"{counted(session.records, 'record', 'records')}"
    )
    if not audits:
        return f"{grew}. It was not audited."
    for bad, words in (("FAIL", "fails"), ("UNDETERMINED", "may not meet")):
        for audit in audits:
            if audit.verdict == bad:
                why = f"the {audit.name} {words} the policy “{audit.policy}”"
                return f"{grew}. Do not publish it as it is: {why}."
    return f"{grew}. It meets all required checks of the policy."


def _agreed(about: About) -> Agreed:
    session = about.session
    return Agreed(
        name=about.name,
        mode=session.mode.value,
        parties=tuple(
            Member(name=name, attributes=len(ranks))
            for name, ranks in zip(session.parties, session.ranks, strict=True)
        ),
        records=session.records,
        target=about.target,
        classes=session.classes,
        labelled=session.parties[session.labelled],
        min_records=session.stops.min_records,
        depth=session.stops.depth,
        asked=about.asked,
    )


def _side(seen: SideView, about: About) -> SessionSide:
    return SessionSide(
        name=seen.name,
        learnt=learnt(seen, about.session, about.asked),
        hidden=hidden(seen, about.session, about.asked),
        received=tuple(
            Traffic(
                kind=kind_traffic.kind.value,
                messages=kind_traffic.messages,
                bytes=kind_traffic.size,
            )
            for kind_traffic in seen.received
        ),
        messages=sum(kind_traffic.messages for kind_traffic in seen.received),
        bytes=sum(kind_traffic.size for kind_traffic in seen.received),
        won=seen.won,
        counts=seen.counts,
        ids=seen.ids,
        blocks=_share(seen.blocks),
        privacy=_share(None if seen.blocks is None else 1 - seen.blocks),
    )


def _blocks(sides: Sequence[SideView], session: Session) -> float | None:
    """Return the share of cells that were shown as blocks: each to all parties but the one that holds it."""
    seen = {side.name: side.blocks for side in sides}
    cells = 0.0
    for name, own in zip(session.parties, session.ranks, strict=True):
        share = seen.get(name)
        if share is None:
            return None
        cells += share * (session.attributes - len(own))
    return cells / max(session.attributes, 1) / (len(session.parties) - 1)


def _share(share: float | None) -> Value | None:
    return None if share is None else value(exactly(share), "share")


def _flow(entries: Sequence[LogEntry], names: tuple[str, ...]) -> tuple[Traffic, ...]:
    """Return what was said about the root, each sender, receiver and kind once."""
    messages, sizes = (
        Counter[tuple[int, int, MessageKind]](),
        Counter[tuple[int, int, MessageKind]](),
    )
    for entry in entries:
        if entry.node == 0 and entry.kind not in BEFORE_THE_ROOT:
            messages[entry.sender, entry.receiver, entry.kind] += 1
            sizes[entry.sender, entry.receiver, entry.kind] += entry.size
    return tuple(
        Traffic(
            sender=role(sender, names),
            receiver=role(receiver, names),
            kind=kind.value,
            messages=messages[sender, receiver, kind],
            bytes=sizes[sender, receiver, kind],
        )
        for sender, receiver, kind in messages
    )


MOST_FINDINGS = 12


def audited(name: str, decision: Decision) -> Audited:
    """Return the verdict on a tree, and what was found that is no pass."""
    no_pass = (
        finding for finding in decision.findings if finding.verdict is not PolicyVerdict.PASS
    )
    open_ones = sorted(no_pass, key=lambda finding: -finding.verdict)
    holds = "all checks of the policy pass" if decision.findings else "the policy has no checks"
    told = [
        f"{word(open_one.verdict)}: {open_one.clause}: {open_one.message}" for open_one in open_ones
    ]
    more = len(told) - MOST_FINDINGS
    if more > 0:
        told = [*told[:MOST_FINDINGS], f"and {count(more)} more"]
    return Audited(
        name=name,
        verdict=word(decision.verdict),
        headline=f"{counted(len(open_ones), 'check', 'checks')} did not pass"
        if open_ones
        else holds,
        policy=decision.pack.name,
        policy_sha256=decision.pack.digest,
        findings=tuple(told),
    )
