"""Growth under a policy, judged by growing again: every table of a few people, and what an audit says of each of them.

The learner draws, so a table can have grown a file if some run of it does. Whoever knows the learner, the policy and
everybody's features can tell somebody's class if it is the same in every such table.
"""

from itertools import product

import numpy as np
import pytest

from tests.kit.tiers import seeds
from treewarden.audit.options import AuditOptions
from treewarden.audit.reading import Undetermined
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import audit_file
from treewarden.learn import PolicyTreeClassifier
from treewarden.policies.pack import pack_of
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.read_table import table_of

RECORDS = 6
RUNS = 400
PAIRS = {"measure": "k_anonymity", "rule": "at_least", "limit": 2}
MIXED = {"measure": "distinct_diversity", "rule": "at_least", "limit": 2}
NOBODY = {"measure": "certain_disclosure", "rule": "at_most", "limit": 0}
POLICIES = {"pairs": [PAIRS], "mixed": [PAIRS, MIXED], "nobody certain": [PAIRS, NOBODY]}
"""Leaves of two people or more; of two values too; of any values, cut back until nobody is certain."""


def policy(name):
    clauses = [{"id": f"clause-{place}", **clause} for place, clause in enumerate(POLICIES[name])]
    return {"name": "small", "version": "1", "title": "small", "clause": clauses}


def grown(columns, labels, rules, *, audit=False):
    learner = PolicyTreeClassifier(rules, max_depth=2, share_drawn=0.5, audit=audit)
    return learner.fit(columns, labels)


def file_of(model):
    """Return all that the published tree says: its splits, and the class counts of its leaves."""
    tree = model.tree_
    counts = np.rint(tree.value[:, 0, :] * tree.weighted_n_node_samples[:, None])
    return tuple(
        part.tobytes()
        for part in (tree.children_left, tree.feature, tree.threshold, counts.astype(int))
    )


def can_grow(columns, labels, rules, file):
    """Whether some run grows the file; where it is audited too it passes, and is not cut back."""
    models = (grown(columns, labels, rules) for _ in range(RUNS))
    same = next((model for model in models if file_of(model) == file), None)
    return same is not None and audited(same, columns, labels, rules)[0] == "PASS"


def audited(model, columns, labels, rules):
    table = table_of({"x0": columns[:, 0], "x1": columns[:, 1], "y": labels.astype(str)})
    opened = open_fitted(model, target="y", names=("x0", "x1"))
    options = AuditOptions(sensitive="y", jobs=1, levels=False)
    done = audit_file(Request(opened, table, options, policy=pack_of(rules, "policy")))
    population = done.subject.population
    worlds = done.audit.full.evidence.worlds
    assert not isinstance(worlds, Undetermined)
    place = {
        (population.columns["x0"].numbers[row], population.columns["x1"].numbers[row]): row
        for row in range(len(population.counts))
    }
    profile = np.array([place[tuple(line)] for line in columns])
    verdict = done.decision.verdict.name
    return verdict, worlds.certain_class[profile], worlds.open_profiles[profile]


@pytest.mark.filterwarnings("ignore:PolicyTreeClassifier. no tree")
@pytest.mark.parametrize("name", POLICIES)
@pytest.mark.parametrize("seed", seeds(8, quick=(0,), second=3))
def test_who_is_certain_is_so_in_every_table_that_can_grow_the_same_tree(name, seed):
    draw = np.random.default_rng(seed)
    columns = draw.permuted(np.tile(np.arange(RECORDS, dtype=float), (2, 1)), axis=1).T
    labels = draw.permutation(np.array([0, 0, 0, 1, 1, 1]))
    rules = policy(name)
    model = grown(columns, labels, rules, audit=True)
    leaf = model.apply(columns)
    file = file_of(model)
    alike = [
        other
        for other in map(np.array, product((0, 1), repeat=RECORDS))
        if len(set(other)) == 2
        and all(other[leaf == node].sum() == labels[leaf == node].sum() for node in set(leaf))
    ]
    assert all(can_grow(columns, other, rules, file) for other in alike)
    forced = (np.array(alike) == labels).all(axis=0)
    _, certain, is_open = audited(model, columns, labels, rules)
    assert (certain[certain >= 0] == labels[certain >= 0]).all()
    assert ((certain >= 0) <= forced).all(), "certain, but not in every table that grows the tree"
    assert (forced <= ((certain >= 0) | is_open)).all(), "certain, and passed over in silence"
    if name == "nobody certain":
        assert not forced.any()
