"""Example 1 of Zhu & Du 2010: what the product gives, and where the split rows end by their definition."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from tests.judges.estimate.definitions import after
from tests.judges.estimate.product import answer
from treewarden.audit.facts.rows import Case
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.population.population import build_population
from treewarden.audit.population.target import members
from treewarden.audit.system.system import build_system
from treewarden.ppdm_models.learn.growers import grow_id3
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.tree import Criterion, Feature

RECORDS = {
    "Age": ["a", "a", "b", "b", "c", "c"],
    "Education": ["Doctorate", "Doctorate", "Masters", "Doctorate", "Masters", "Masters"],
    "income": ["<=50K"] * 3 + [">50K"] * 3,
}
"""q1 twice, q2, q3, q4 twice."""


def answers(split: str) -> dict[str, float]:
    """Return the estimate P(<=50K | q) of q1..q4 and the divergences, with error rates and this split knowledge."""
    table = table_of(RECORDS)
    columns = {name: table.column(Feature(name, numeric=False)) for name in ("Age", "Education")}
    truth = np.array([[said == "<=50K", said == ">50K"] for said in RECORDS["income"]], dtype=float)
    tree = grow_id3(
        columns,
        truth,
        ("<=50K", ">50K"),
        target="income",
        criterion=Criterion.ENTROPY,
        min_records=3,
    )
    people = build_population(tree, table, sensitive="income")
    knowledge = Knowledge(leaf="rates", split=split)
    posterior, _ = answer(build_system(Case(tree, people, members(tree, people.leaf), knowledge)))
    found = {}
    overall = 0.0
    for q in range(4):
        name = {"a": "q1", "c": "q4"}.get(people.columns["Age"].text(q) or "")
        name = name or ("q2" if people.columns["Education"].text(q) == "Masters" else "q3")
        share = people.truth[q] / people.counts[q]
        own = -float(np.log(posterior.values[q] @ share))
        overall += own * people.counts[q] / 6
        found[name] = float(posterior.values[q, 0])
        found[f"D {name}"] = own
    return {**found, "D": overall}


def edge(split: str) -> float:
    """Return the least P(<=50K | q2) at which Education is no better than Age, from the definition of E."""
    age = np.array([0, 0, 1, 1, 2, 2])
    education = np.array([0, 0, 1, 0, 1, 1])

    def gap(share: float) -> float:
        low = np.array([1, 1, share, 1 - share, 0, 0])
        mass = np.stack([low, 1 - low], axis=1)
        return after(mass, education, split)[0] - after(mass, age, split)[0]

    return float(brentq(gap, 1e-9, 0.5, xtol=1e-14))
