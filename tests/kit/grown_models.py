"""Small boosted models with the tables they were trained on, and what their leaves truly hold."""

import numpy as np

from tests.kit import places
from treewarden.audit.inverters import GrownCase, LeafSums, leaf_sums
from treewarden.audit.population.forest import forest_of
from treewarden.audit.population.population import build_population
from treewarden.jobs.inputs import opened, read

FOLDER = places.DATA / "grown"


def case_of(model, table, sensitive="y", **given):
    """Return the model over the people of its table, and these people."""
    file = opened(model) if not hasattr(model, "model") else model
    people = build_population(file.model, read(table), sensitive=sensitive, **given)
    forest = forest_of(file.model, people)
    growth = file.model.growth
    case = GrownCase(growth, forest.trees, forest.stops, people.counts, len(file.model.classes))
    return case, people


def sums_of(name, table="two"):
    """Return what the leaves of a model of ``grown/`` say, or why nothing, and what they truly hold."""
    case, people = case_of(FOLDER / f"{name}.json", FOLDER / f"{table}.csv")
    found = leaf_sums(case)
    return found, truth(case, people, found) if isinstance(found, LeafSums) else None


def truth(case, people, sums):
    """Return how many people of each leaf have the class that its row counts."""
    rows = zip(sums.trees, sums.nodes, sums.output, strict=True)
    return np.array(
        [people.truth[case.stops[tree] == node, output].sum() for tree, node, output in rows]
    )
