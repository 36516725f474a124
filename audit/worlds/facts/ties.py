"""Which candidates a learner with a known order looked at before the split that it chose: none of them is as good."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from treewarden.audit.facts.case import Case
from treewarden.audit.facts.rows import Grouping, SplitFamily
from treewarden.ppdm_models.tree.predicate import features_of


def parted(
    case: Case, family: SplitFamily, strict_ties: bool
) -> Iterator[tuple[SplitFamily, bool]]:
    """Yield a family's candidates with whether they must be strictly worse than the chosen split.

    ID3 takes the first of equally good splits: by attribute in the order of the file, by threshold upwards within one.
    So those before the chosen split are worse, and those after it may be as good. Where the order is not known (trees
    of two branches, attributes that the file does not list) all may be.
    """
    names = [feature.name for feature in case.tree.features]
    chosen = _chosen(case, family.node)
    if (
        not strict_ties
        or not case.tree.learner.multiway
        or not {chosen, family.attribute} <= {*names}
    ):
        yield family, False
    elif chosen != family.attribute or family.grouping is not Grouping.THRESHOLD:
        yield family, names.index(family.attribute) < names.index(chosen)
    else:
        cut = family.bins[family.chosen == family.chosen[family.bins.argmin()]].max()
        for inside, is_before in (
            (family.admissible < cut, True),
            (family.admissible > cut, False),
        ):
            if inside.any():
                yield replace(family, admissible=np.asarray(family.admissible[inside])), is_before


def _chosen(case: Case, node: int) -> str:
    """Return the attribute that a node splits on; "" where it is not one."""
    tree = case.tree
    used = {
        name for child in tree.nodes[node].children for name in features_of(tree.nodes[child].test)
    }
    return used.pop() if len(used) == 1 else ""
