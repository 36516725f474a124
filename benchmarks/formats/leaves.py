"""Measures the leaves of every tree of a forest, for people drawn at random, in a process of its own."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.formats.reading import processor_seconds, say
from tests.kit.large_pmml import CLASSES, FIELDS
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.measures import MeasureCall
from treewarden.audit.population.population import build_population
from treewarden.audit.run import run
from treewarden.ppdm_models.files.load import read_model
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.ppdm_models.tree.ensemble import Ensemble, Model
from treewarden.ppdm_models.tree.nodes import NodeTable
from treewarden.ppdm_models.tree.tree import Quality, Tree

PEOPLE, QUICK_PEOPLE = 1_000, 100
MEASURES = ("k_anonymity", "distinct_diversity", "label_disclosure")


def measure_leaves(path: Path) -> float:
    """Return the seconds that the measures take; the forest is read before."""
    model = _without_counts(read_model(path))
    draw = np.random.default_rng(0)
    size = PEOPLE if path.stat().st_size > 10_000_000 else QUICK_PEOPLE
    columns: dict[str, list[object]] = {
        f"attribute_{number}": draw.uniform(0, 100, size).round(2).tolist()
        for number in range(FIELDS)
    }
    columns["risk"] = draw.choice(CLASSES, size).tolist()
    start = processor_seconds()
    people = build_population(model, table_of(columns), sensitive="risk")
    run(model, people, Knowledge(), [MeasureCall(name) for name in MEASURES])
    return processor_seconds() - start


def _without_counts(model: Model) -> Model:
    """Return the forest with no counts published: the people are drawn, and would contradict them."""
    assert isinstance(model, Ensemble)
    members = []
    for member in model.members:
        assert isinstance(member.model, Tree)
        assert isinstance(member.model.nodes, NodeTable)  # no node is made outside the time
        nodes = replace(member.model.nodes, records=None, class_counts=None)
        tree = replace(member.model, nodes=nodes, quality=Quality.ABSENT)
        members.append(replace(member, model=tree))
    return replace(model, members=tuple(members))


if __name__ == "__main__":
    say(measure_leaves(Path(sys.argv[1])))
