"""How long a message of each kind can be, from what is public: whoever says more is not listened to."""

from __future__ import annotations

from treewarden.ppdm_models.vertical.by_shares import MOST_WIDTH, PADDED, ring_of
from treewarden.ppdm_models.vertical.messages import MINER, Kind
from treewarden.ppdm_models.vertical.miner import MOST_BRANCHES
from treewarden.ppdm_models.vertical.sealing import KEY_BYTES, OVERHEAD
from treewarden.ppdm_models.vertical.secure import Plan
from treewarden.ppdm_models.vertical.session import Session

IDEAL = frozenset({Kind.KEY, Kind.WINNER})
"""What only the ideal box of simulations hears and says: between real sides it is refused."""
MOST_OTHER = 1 << 26
PER_RECORD = 64
"""Kinds without a rule of their own may have so many bytes, and so many more for each record."""


class Limits:
    """The longest bodies of one session; ``asked`` is how many records are classified at most."""

    def __init__(self, session: Session, asked: int) -> None:
        ring = ring_of(session.records).itemsize
        classes, records = len(session.classes), session.records
        vector, share = classes * ring, records * classes * ring
        sealed = 1 + -(-records // 8) + OVERHEAD
        parties = len(session.parties)
        self._session, self._row, self._records = session, vector, records * ring
        self._most = {
            Kind.GROUP_KEY: KEY_BYTES,
            Kind.LABELS: 2 * records,
            Kind.WIDTH: 4,
            Kind.SEED: KEY_BYTES,
            Kind.SHARE: share,
            Kind.SUMS: 0,
            Kind.SUM: vector + OVERHEAD,
            Kind.TOKEN: 1 + parties * (vector + OVERHEAD),
            Kind.LEAF: 2,
            Kind.SPLIT: 0,
            Kind.SCORE: 0,
            Kind.MASKED_SHARE: share,
            Kind.COMPARING: Plan(session).most_bytes,
            Kind.WON: 0,
            Kind.BRANCHES: 6,
            Kind.MEMBERS: 6,
            Kind.RELAY: MOST_BRANCHES * sealed,
            Kind.RELAYED: parties * MOST_BRANCHES * sealed,
            Kind.MASKED_BRANCHES: MOST_BRANCHES * records * ring,
            Kind.ASK: 4 * asked,
            Kind.BRANCH: 2 * asked,
            Kind.END: 0,
            Kind.BYE: 0,
            Kind.ABORT: 3,
        }
        self._other = MOST_OTHER + PER_RECORD * records
        self._share = share

    def of(self, kind: Kind, sender: int, receiver: int) -> int:
        """Return how many bytes the body of a message may have; less than none: it may not be sent at all."""
        match kind:
            case _ if kind in IDEAL:
                return -1
            case Kind.MASKED_TABLE:
                return self._records * self._width(sender)
            case Kind.COUNTS:
                return self._row * self._width(receiver)
            case Kind.CORRECTION:
                return max(self._row * self._width(receiver), MOST_BRANCHES * self._share)
            case _:
                return self._most.get(kind, self._other)

    def unread(self, sender: int, receiver: int) -> int:
        """Return how many bytes of a side may wait to be read: two of each kind, as no side runs further ahead."""
        return 2 * sum(max(0, self.of(kind, sender, receiver)) for kind in Kind)

    def _width(self, party: int) -> int:
        """Return how many columns of categories a party can have; the miner has none."""
        if party == MINER:
            return 0
        own = min(len(self._session.ranks[party]) * MOST_BRANCHES, MOST_WIDTH)
        return -(-own // PADDED) * PADDED
