"""Whose key is the smallest: keys are shared among sides, compared as shares, and one index is opened to the miner.

Three parties or more compute among themselves, as many of them as the threshold asks for; two have the miner help. What
they say goes over the session's channel like all else: one message to each of the others for each step.
"""

from __future__ import annotations

from collections.abc import Sequence

from treewarden.ppdm_models.vertical import planes
from treewarden.ppdm_models.vertical.channel import Channel
from treewarden.ppdm_models.vertical.comparing import Comparison
from treewarden.ppdm_models.vertical.errors import ProtocolError, Reason
from treewarden.ppdm_models.vertical.messages import MINER, Kind
from treewarden.ppdm_models.vertical.planes import Planes
from treewarden.ppdm_models.vertical.session import Session
from treewarden.ppdm_models.vertical.sharing import Sharing
from treewarden.ppdm_models.vertical.smallest import Smallest


def threshold(parties: int) -> int:
    """Return how many sides together learn nothing from their shares."""
    return max(1, (parties - 1) // 2)


class Plan:
    """Who computes, and how: what a session has in public decides."""

    def __init__(self, session: Session) -> None:
        parties = len(session.parties)
        self.sharing = Sharing(threshold(parties))
        self.smallest = Smallest(parties, session.nothing.bit_length(), self.sharing.bits)
        self.computing: tuple[int, ...] = (*range(parties), MINER)[: self.sharing.sides]
        self.opening = self.computing[: self.sharing.threshold + 1]
        """Those who send the miner their shares of who is the smallest."""

    @property
    def most_bytes(self) -> int:
        """How long a message is at most."""
        return planes.size_of(self.sharing.bits, self.smallest.most_lanes)


class SecureComparison(Comparison):
    """One side's part."""

    def __init__(self, session: Session, channel: Channel) -> None:
        self._session, self._channel, self._plan = session, channel, Plan(session)
        self._sharing, self._smallest = self._plan.sharing, self._plan.smallest

    async def give(self, node: int, key: int) -> None:
        if not 0 <= key <= self._session.nothing:
            raise ValueError("a key that can be none of this session")
        lanes = self._smallest.lanes
        dealt = self._sharing.dealt(self._smallest.written(key), lanes)
        own = self._tell(node, dealt, lanes)
        if own is None:
            return
        found = await self._computed(node, own)
        if self._channel.own in self._plan.opening:
            body = planes.bytes_of(found, self._smallest.keys)
            self._channel.post(MINER, Kind.COMPARING, node, body)

    async def winner(self, node: int) -> int:
        if MINER in self._plan.computing:
            await self._computed(node, None)
        lanes = self._smallest.keys
        shares = [await self._heard(each, node, lanes) for each in self._plan.opening]
        ones, *rest = self._sharing.opened(shares)
        if ones.bit_count() != 1 or any(rest):
            problem = "could not compare keys: some party sends what are no shares of keys"
            raise ProtocolError(MINER, problem, Reason.TROUBLE)
        return ones.bit_length() - 1

    async def _computed(self, node: int, own: Planes | None) -> Planes:
        """Return the own shares of who is the smallest; ``own`` is that of the own key, where there is one."""
        side = self._plan.computing.index(self._channel.own)
        keys = range(self._smallest.keys)
        shares = {} if own is None else {self._channel.own: own}
        for each in keys:
            if each != self._channel.own:
                shares[each] = await self._heard(each, node, self._smallest.lanes)
        steps = self._smallest.steps([shares[each] for each in keys])
        products = next(steps)
        while True:
            lanes = products.lanes
            dealt = self._sharing.dealt_anew(side, products.values, lanes)
            found = self._tell(node, dealt, lanes) or []
            for other in self._plan.computing:
                if other != self._channel.own:
                    found = planes.plus(found, await self._heard(other, node, lanes))
            try:
                products = steps.send(found)
            except StopIteration as done:
                return done.value  # type: ignore[no-any-return]  # what steps return

    def _tell(self, node: int, dealt: Sequence[Planes], lanes: int) -> Planes | None:
        """Give each side that computes its shares; return the own ones."""
        own = None
        for each, shares in zip(self._plan.computing, dealt, strict=True):
            if each == self._channel.own:
                own = shares
            else:
                body = planes.bytes_of(shares, lanes)
                self._channel.post(each, Kind.COMPARING, node, body)
        return own

    async def _heard(self, of: int, node: int, lanes: int) -> Planes:
        bits = self._sharing.bits
        body = await self._channel.receive(of, Kind.COMPARING, node)
        if len(body) != planes.size_of(bits, lanes):
            raise ProtocolError(of, "sent what is no share of a key", Reason.GARBAGE)
        return planes.of_bytes(body, bits, lanes)
