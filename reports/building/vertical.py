"""From the log of a session between parties to the document of what each side learnt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from audit.reading import exactly
from policies.judging.decision import Decision
from policies.verdict import Verdict
from ppdm_models.vertical.leakage import Seen
from ppdm_models.vertical.messages import MINER, Entry, Kind, Log, role
from ppdm_models.vertical.session import Mode, Session
from ppdm_models.vertical.skeleton import Skeleton
from reports.building.values import value, word
from reports.document.parts import Value
from reports.document.vertical import (
    Agreed,
    Audited,
    LeakageDocument,
    Member,
    Side,
    Size,
    Traffic,
)
from reports.document.words import count, counted

CONFIDENTIAL = (
    "Confidential: this document counts what was seen of people’s data, and by whom. It is for those who took part, "
    "and for whoever decides about publishing the tree."
)
IDEAL = (
    "Simulated: all sides ran in one process, and keys were compared by an ideal box that sees them. This protects "
    "nobody; it shows what a real session would have shown to whom."
)
REAL = (
    "Keys were compared as shares (MPyC): only whose is the smallest was opened, and to the miner alone. What "
    "follows is what this side itself sent and received."
)
MINER_LEARNS = (
    "the skeleton of the tree: which party decides at each node, and by which of that party’s own nodes",
    "how many branches each node has, and the class of each leaf",
    "when classifying: the path of each record, by its number, and who decided on it",
    "when each message came, and how long it was",
    "no attribute’s name, no value, no count of people, no id",
)
PARTY_LEARNS = {
    Mode.IDS: (
        "at which nodes its own attributes decide",
        "the record numbers of every node: the split of whoever won, as blocks that have no name",
        "with the class, which it is told of all records: how many of each class are in these blocks, though the "
        "attribute is another party’s",
        "when classifying: that a record, by its number, came to one of its own nodes",
        "no gain of another party’s attribute, no value, no name",
    ),
    Mode.SHARED: (
        "at which nodes its own attributes decide",
        "at every node, how many records have each of its own values and each class, and so the class totals there",
        "when classifying: that a record, by its number, came to one of its own nodes",
        "no record numbers of a node, no gain of another party’s attribute, no value, no name",
    ),
}
LABELLED = "it holds the class of every record itself"
ASSUMED = (
    "All sides follow the protocol, and try to learn from what they see (honest but curious).",
    "No two sides put together what they saw.",
    "Keys of certificates stay with their owners, and all sides use the same session file.",
)
BROKEN = {
    Mode.IDS: (
        "The miner together with one party learns all that the relay hides: every node’s records, and the names of "
        "that party’s nodes.",
        "A party that lies about its gains decides where the tree splits, and sees what that shows; nobody notices.",
        "Two parties together know each node’s block by the value of whichever of them won it.",
    ),
    Mode.SHARED: (
        "The miner together with ONE party opens the columns of ALL parties: it dealt the masks, and parties send what "
        "is masked to each other.",
        "A party that lies about its counts or gains decides where the tree splits; nobody notices.",
        "A pure leaf with few people tells whoever gets its totals their class, as the tree itself does.",
    ),
}
SELF = (
    "The tree itself: leaves and paths say something about people whatever the protocol hides. That is what the audit "
    "is about."
)
NOBODY = (
    "Nobody holds the joined table here, so that the tree could not be audited over people. That is no pass: audit it "
    "where the table may be joined, before anybody publishes it."
)
LEFT_OUT = "The audits were left out; the trees may not be published before they are done."
MOST_FINDINGS = 12
BEFORE_THE_ROOT = frozenset(
    {
        Kind.GROUP_KEY,
        Kind.HIDDEN_IDS,
        Kind.COMMON_IDS,
        Kind.LABELS,
        Kind.WIDTH,
        Kind.SEED,
        Kind.MASKED_TABLE,
        Kind.SHARE,
        Kind.ASK,
        Kind.BRANCH,
        Kind.END,
        Kind.BYE,
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
    sides: Sequence[Seen],
    skeleton: Skeleton | None,
    audits: Iterable[tuple[str, Decision]] = (),
    *,
    whose: str = "",
    is_left_out: bool = False,
) -> LeakageDocument:
    """Return what sides learnt; ``whose`` is the side whose log it is, "" where all are seen at once."""
    judged = tuple(_audited(name, decision) for name, decision in audits)
    is_ideal = any(each.kind is Kind.KEY for each in log.entries)
    why = "" if judged else LEFT_OUT if is_left_out else NOBODY
    return LeakageDocument(
        title=f"What {whose or 'each side'} learnt in the session “{about.name}”",
        headline=_headline(about, skeleton, judged),
        meaning=IDEAL if is_ideal else REAL,
        confidential=CONFIDENTIAL,
        is_ideal=is_ideal,
        whose=whose,
        session=_agreed(about),
        tree=None
        if skeleton is None
        else Size(inner=skeleton.inner, leaves=skeleton.leaves, depth=skeleton.depth),
        sides=tuple(_side(each, about.session) for each in sides),
        messages=len(log.entries),
        bytes=sum(each.size for each in log.entries),
        flow=_flow(log.entries, about.session.parties),
        assumed=ASSUMED,
        broken_by=(*BROKEN[about.session.mode], SELF),
        audits=judged,
        not_audited=why,
        version=about.version,
    )


def _headline(about: About, skeleton: Skeleton | None, audits: Sequence[Audited]) -> str:
    session = about.session
    who = counted(len(session.parties), "party", "parties")
    if skeleton is None:
        return (
            f"{who} and a miner grew a tree over {counted(session.records, 'record', 'records')}."
        )
    nodes = counted(skeleton.inner, "inner node", "inner nodes")
    grew = f"{who} and a miner grew a tree of {nodes} over {counted(session.records, 'record', 'records')}"
    bad = [each for each in audits if each.verdict != "PASS"]
    if bad:
        return f"{grew}. Do not publish it as it is: {bad[0].name} {bad[0].verdict}."
    return f"{grew}." if audits else f"{grew}. It was not audited."


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


def _side(seen: Seen, session: Session) -> Side:
    is_miner = seen.name == role(MINER, session.parties)
    is_labelled = seen.name == session.parties[session.labelled]
    learnt = MINER_LEARNS if is_miner else PARTY_LEARNS[session.mode]
    return Side(
        name=seen.name,
        learnt=(*learnt, *((LABELLED,) if is_labelled else ())),
        received=tuple(
            Traffic(kind=each.kind.value, messages=each.messages, bytes=each.size)
            for each in seen.received
        ),
        messages=sum(each.messages for each in seen.received),
        bytes=sum(each.size for each in seen.received),
        counts=seen.counts,
        ids=seen.ids,
        blocks=_share(seen.blocks),
        privacy=_share(None if seen.blocks is None else 1 - seen.blocks),
    )


def _share(of: float | None) -> Value | None:
    return None if of is None else value(exactly(of), "share")


def _flow(entries: Sequence[Entry], names: tuple[str, ...]) -> tuple[Traffic, ...]:
    """Return what was said about the root, each sender, receiver and kind once."""
    messages, sizes = Counter[tuple[int, int, Kind]](), Counter[tuple[int, int, Kind]]()
    for each in entries:
        if each.node == 0 and each.kind not in BEFORE_THE_ROOT:
            messages[each.sender, each.receiver, each.kind] += 1
            sizes[each.sender, each.receiver, each.kind] += each.size
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


def _audited(name: str, decision: Decision) -> Audited:
    open_ones = [each for each in decision.findings if each.verdict is not Verdict.PASS]
    told = [f"{word(each.verdict)}: {each.clause}: {each.message}" for each in open_ones]
    more = len(told) - MOST_FINDINGS
    if more > 0:
        told = [*told[:MOST_FINDINGS], f"and {count(more)} more"]
    return Audited(
        name=name,
        verdict=word(decision.verdict),
        headline=f"{counted(len(open_ones), 'finding is', 'findings are')} no pass"
        if open_ones
        else "every clause of the policy holds",
        policy=decision.pack.name,
        policy_sha256=decision.pack.digest,
        findings=tuple(told),
    )
