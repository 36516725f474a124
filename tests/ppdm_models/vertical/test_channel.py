"""What is said in one process: in order, and kinds that go elsewhere."""

import asyncio

from ppdm_models.vertical.channel import LocalNetwork
from ppdm_models.vertical.messages import Kind


def test_a_kind_that_goes_elsewhere_does_not_stand_in_the_way():
    taken = []

    async def play():
        network = LocalNetwork()
        one, two = network.end(0), network.end(1)
        one.post(1, Kind.COMPARING, 0, b"early")
        await one.send(1, Kind.SUMS, 3)
        two.divert(Kind.COMPARING, lambda message: taken.append(message.body))
        one.post(1, Kind.COMPARING, 0, b"late")
        await two.receive(0, Kind.SUMS, 3)
        await asyncio.sleep(0)
        return len(network.log.entries)

    assert asyncio.run(play()) == 3
    assert taken == [b"early", b"late"]
