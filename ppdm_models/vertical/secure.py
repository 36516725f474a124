"""Whose key is the smallest, by MPyC: keys are shared among all sides, compared as shares, and one index is opened.

The parties and the miner compute together, so that two parties are enough: no more than a threshold of them learn
anything by putting their heads together. What they say goes over the session's channel like all else.
"""

from __future__ import annotations

import asyncio
import hashlib

from ppdm_models.vertical.channel import Channel
from ppdm_models.vertical.comparing import Comparison
from ppdm_models.vertical.engine import Engine, settings
from ppdm_models.vertical.errors import ProtocolError, Reason
from ppdm_models.vertical.lanes import Lane, Sizes
from ppdm_models.vertical.messages import MINER, Kind, Message
from ppdm_models.vertical.session import Session
from ppdm_models.vertical.smallest import WIDTH, Smallest

MANY = 8
"""From so many sides on, common seeds for random numbers cost more than they save."""


def threshold(parties: int) -> int:
    """Return how many of the parties and the miner together learn nothing from their shares."""
    return max(1, (parties - 1) // 2)


class SecureComparison(Comparison):
    """One side's part; to be closed when the session ends. ``seconds`` is how long it waits while nothing comes.

    Raises:
        PartyError: MPyC is not installed.
        ValueError: another one is open in this process.
    """

    def __init__(self, session: Session, channel: Channel, seconds: float) -> None:
        self._session, self._channel, self._seconds = session, channel, seconds
        self._loop = asyncio.get_running_loop()
        self._miner, self._node = len(session.parties), 0
        self._broken: asyncio.Future[None] = self._loop.create_future()
        self._greeted: asyncio.Future[None] = self._loop.create_future()
        sides, bits = self._miner + 1, session.nothing.bit_length() + 1  # one for the sign
        options = settings(sides, threshold(self._miner), has_seeds=sides < MANY)
        self._engine = Engine(self._pid(channel.own), sides, options, self._failed)
        self._smallest = Smallest(self._engine.runtime, bits, self._miner)
        self._sizes = Sizes(self._smallest.share_bytes)
        alike = repr((self._engine.version, sorted(vars(options).items()), sides, bits, WIDTH))
        self._alike = hashlib.sha256(alike.encode()).digest()
        self._lanes = {pid: self._lane(pid) for pid in range(sides) if pid != self._engine.own}
        self._engine.connect(self._lanes)
        self._strangers = set(self._lanes)
        for pid in self._lanes:
            self._post(pid, self._alike + self._engine.seeds_for(pid))
        channel.divert(Kind.COMPARING, self._take)

    async def give(self, node: int, key: int) -> None:
        if not 0 <= key <= self._session.nothing:
            raise ValueError("a key that can be none of this session")
        await self._compare(node, key)

    async def winner(self, node: int) -> int:
        found = await self._compare(node, 0)
        if found is None or not 0 <= found < self._miner:
            raise ProtocolError(MINER, "compared keys, and nobody's is the smallest")
        return found

    def close(self) -> None:
        """Send what is still to be sent, and leave nothing that waits."""
        for lane in self._lanes.values():
            lane.flush()
        self._greeted.cancel()
        self._broken.cancel()
        self._engine.close()

    async def _compare(self, node: int, key: int) -> int | None:
        self._node = node
        self._sizes.clear()
        for lane in self._lanes.values():
            lane.heard = self._loop.time()
        task = self._loop.create_task(self._compared(key))
        try:
            while not task.done() and not self._broken.done():
                heard = max(lane.heard for lane in self._lanes.values())
                left = heard + self._seconds - self._loop.time()
                if left <= 0:
                    raise self._late()
                both = (task, self._broken)
                await asyncio.wait(both, timeout=left, return_when=asyncio.FIRST_COMPLETED)
            if self._broken.done():
                self._broken.result()
            return await task
        finally:
            task.cancel()

    async def _compared(self, key: int) -> int | None:
        try:
            await asyncio.shield(self._greeted)
            return await self._smallest.of(key, self._miner)
        except (ArithmeticError, LookupError, ValueError) as error:
            raise self._odd() from error

    def _take(self, message: Message) -> None:
        if self._broken.done():
            return
        pid = self._pid(message.sender)
        try:
            if pid in self._strangers:
                self._greet(pid, message.body)
            else:
                self._lanes[pid].take(message.body)
        except ProtocolError as error:
            self._break(error)

    def _greet(self, pid: int, body: bytes) -> None:
        size = len(self._alike)
        if body[:size] != self._alike or not self._engine.take_seeds(pid, body[size:]):
            problem = (
                "compares keys otherwise; use one version of treewarden and of mpyc on all sides"
            )
            raise ProtocolError(self._lanes[pid].who, problem)
        self._strangers.remove(pid)
        if not self._strangers and not self._greeted.done():
            self._greeted.set_result(None)

    def _late(self) -> ProtocolError:
        """Return who has said nothing for longest, of those who are waited for."""
        waited = {
            pid: lane
            for pid, lane in self._lanes.items()
            if pid in self._strangers or lane.is_waited_for
        }
        late = min((waited or self._lanes).values(), key=lambda lane: lane.heard)
        problem = f"did not compare keys for {self._seconds:g} seconds"
        return ProtocolError(late.who, problem, Reason.LATE)

    def _failed(self, error: BaseException) -> None:
        """Hear that a step of the computation has failed."""
        self._break(error if isinstance(error, ProtocolError) else self._odd())

    def _break(self, error: ProtocolError) -> None:
        if not self._broken.done():
            self._broken.set_exception(error)
            self._broken.exception()  # whether or not anybody compares again

    def _odd(self) -> ProtocolError:
        """Return that what came makes no sense, where nobody can tell from whom."""
        problem = "could not compare keys: some side sends what are no shares of keys"
        return ProtocolError(self._channel.own, problem, Reason.TROUBLE)

    def _lane(self, pid: int) -> Lane:
        return Lane(self._number(pid), self._sizes, lambda body: self._post(pid, body))

    def _post(self, pid: int, body: bytes) -> None:
        self._channel.post(self._number(pid), Kind.COMPARING, self._node, body)

    def _pid(self, number: int) -> int:
        return self._miner if number == MINER else number

    def _number(self, pid: int) -> int:
        return MINER if pid == self._miner else pid
