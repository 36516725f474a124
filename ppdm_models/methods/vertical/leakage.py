"""What each side was shown in a session: messages by kind, counts, and records as unnamed blocks.

The paper reports "privacy" without a definition. Here it is one less the share of cells (record, attribute) that a
party does not hold and is shown as unnamed blocks: a split by another party's attribute tells which records have the
same value of it, not which value.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from treewarden.ppdm_models.methods.vertical.messages import Log, MessageKind, role
from treewarden.ppdm_models.methods.vertical.party_view import Codes, PartyAttribute, WholeTree
from treewarden.ppdm_models.methods.vertical.session import Mode, Session


@dataclass(frozen=True, slots=True)
class KindTraffic:
    """Messages of one kind that a side received."""

    kind: MessageKind
    messages: int
    size: int


@dataclass(frozen=True, slots=True)
class SideView:
    """What one side was shown.

    ``won`` are the nodes at which it decides, ``counts`` numbers of records by own value and class that it could see,
    ``ids`` the nodes of others of which it was shown which record goes where, ``blocks`` the share of all cells of
    others' attributes that it saw as unnamed blocks; None where that cannot be told.
    """

    name: str
    received: tuple[KindTraffic, ...]
    won: int
    counts: int
    ids: int
    blocks: float | None


def seen_by(
    who: int,
    session: Session,
    log: Log,
    own: Sequence[PartyAttribute],
    shown: Sequence[int] | None,
    *,
    blocks: int | None = None,
) -> SideView:
    """Return what a side was shown, by the log.

    ``own`` are the attributes that it holds, ``shown`` are for each attribute, by rank, the cells that blocks were made
    of: None where nobody can know them. A side of a real session has counted its own instead: ``blocks``, in cells.
    """
    messages, sizes = Counter[MessageKind](), Counter[MessageKind]()
    for entry in log.entries:
        if entry.receiver == who:
            messages[entry.kind] += 1
            sizes[entry.kind] += entry.size
    received = tuple(
        KindTraffic(kind, messages[kind], sizes[kind]) for kind in MessageKind if messages[kind]
    )
    name = role(who, session.parties)
    if who < 0:
        return SideView(name, received, 0, 0, 0, 0.0)
    won = messages[MessageKind.WON]
    cells = sum(len(party_attribute.categories) for party_attribute in own) * len(session.classes)
    # each time it scores a node it sees a count for every own value and class, and with a token those of the classes
    counts = messages[MessageKind.SCORE] * cells + messages[MessageKind.TOKEN] * len(
        session.classes
    )
    if session.mode is Mode.SHARED:
        return SideView(name, received, won, counts, 0, 0.0)
    held = set(session.ranks[who])
    if shown is not None:
        blocks = sum(count for rank, count in enumerate(shown) if rank not in held)
    foreign = session.records * (session.attributes - len(held))
    share = None if blocks is None else blocks / max(foreign, 1)
    return SideView(name, received, won, counts, messages[MessageKind.RELAYED] - won, share)


def cells_split(known: WholeTree, attributes: Sequence[PartyAttribute]) -> list[int]:
    """Return for each attribute how many records pass a node that tests it: its cells that become blocks."""
    found = [0] * len(attributes)
    records = len(attributes[0].codes) if attributes else 0
    waiting: list[tuple[int, Codes]] = [(0, np.arange(records))]
    while waiting:
        number, rows = waiting.pop()
        place, attribute = known.skeleton.places[number], known.attributes[number]
        if place.is_leaf:
            continue
        found[attribute] += len(rows)
        codes = attributes[attribute].codes[rows]
        waiting += [(child, rows[codes == slot]) for slot, child in enumerate(place.children)]
    return found
