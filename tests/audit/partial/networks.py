"""Small networks of people over leaves, for tests."""

import numpy as np

from tests.judges import partial_cases
from treewarden.audit.partial.fitting.margin_fitting import fit_margins
from treewarden.audit.partial.reachability import proofs, shares


class Small:
    """Who can be where, ``arcs`` (P, L), who truly is, ``world`` (P, L), and the classes of each leaf, (L, m)."""

    def __init__(self, arcs, world, classes):
        case = partial_cases.Small(np.array(arcs) > 0, np.array(world), np.array(classes))
        sizes = case.classes.sum(axis=1).astype(float)
        assert (case.world.sum(axis=0) == sizes).all()
        self.tables, self.people, self.classes = (
            case.tables,
            case.people,
            case.classes.astype(float),
        )
        self.net = made = case.network
        self.spread = fit_margins(made)
        self.proved = proofs(made, self.classes, self.classes)
        self.estimate = shares(made, self.spread, self.classes / sizes[:, None], sizes)
        self.leaves = self.spread.people.toarray()[:, made.group_of]
