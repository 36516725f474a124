"""Small networks of people over leaves, for tests."""

import numpy as np
from scipy import sparse

from audit.partial.learned import proofs, shares
from audit.partial.network import network
from audit.partial.scaling import spread


class Small:
    """Who can be where, ``arcs`` (P, L), who truly is, ``world`` (P, L), and the classes of each leaf, (L, m)."""

    def __init__(self, arcs, world, classes):
        self.arcs, self.world = np.array(arcs), np.array(world)
        self.classes = np.array(classes, dtype=float)
        self.people = self.world.sum(axis=1)
        sizes = self.classes.sum(axis=1)
        assert (self.world.sum(axis=0) == sizes).all()
        made = network(
            sparse.csr_array(self.arcs.astype(float)), sparse.csr_array(self.world.astype(float))
        )
        self.net, self.spread = made, spread(made)
        self.proved = proofs(made, self.classes, self.classes)
        self.estimate = shares(made, self.spread, self.classes / sizes[:, None], sizes)
        self.leaves = self.spread.people.toarray()[:, made.group_of]

    def tables(self):
        """Yield every table of people by profile, leaf and class that fits, (P, L, m)."""
        cells = [
            (leaf, klass, int(count))
            for leaf, counts in enumerate(self.classes)
            for klass, count in enumerate(counts)
        ]

        def fill(at, left, table):
            if at == len(cells):
                if not left.any():
                    yield table.copy()
                return
            leaf, klass, count = cells[at]
            able = np.flatnonzero(self.arcs[:, leaf])
            for part in parts(count, left[able].tolist()):
                table[able, leaf, klass] = part
                left[able] -= part
                yield from fill(at + 1, left, table)
                left[able] += part
                table[able, leaf, klass] = 0

        shape = (*self.arcs.shape, self.classes.shape[1])
        yield from fill(0, self.people.copy(), np.zeros(shape, dtype=int))


def parts(total, most):
    """Yield every way to part a number into whole numbers of at most so much each."""
    if not most:
        if total == 0:
            yield []
        return
    for first in range(min(total, most[0]) + 1):
        for rest in parts(total - first, most[1:]):
            yield [first, *rest]


def drawn(rng):
    """Return a random small network with its classes."""
    profiles, leaves, m = rng.integers(1, 4), rng.integers(1, 4), rng.integers(2, 4)
    arcs = rng.random((profiles, leaves)) < 0.6
    arcs[np.arange(profiles), rng.integers(leaves, size=profiles)] = True
    world = np.zeros((profiles, leaves), dtype=int)
    for _ in range(rng.integers(profiles, 8)):
        profile = rng.integers(profiles)
        world[profile, rng.choice(np.flatnonzero(arcs[profile]))] += 1
    kept, used = world.sum(axis=1) > 0, world.sum(axis=0) > 0
    arcs, world = arcs[kept][:, used], world[kept][:, used]
    classes = [rng.multinomial(size, rng.dirichlet(np.full(m, 0.5))) for size in world.sum(axis=0)]
    return Small(arcs, world, classes)
