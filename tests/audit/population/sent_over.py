"""A forest and its people, small but in many batches, and how they are sent over others; for tests to share."""

from __future__ import annotations

import threading

import numpy as np

from tests.kit.forests import by_sex, forest, stump
from treewarden.audit.population.population import build_population
from treewarden.audit.population.routing import sent
from treewarden.audit.workers.pool import WORKERS
from treewarden.ppdm_models.tables.read_table import table_of

TREES = [stump(float(age), "no", "yes") for age in range(20, 80, 3)] + [by_sex("no", "yes")]
FOREST = forest(*TREES)


def people(model=FOREST, size=200, **settings):
    """Return random people, of whom some lack an age."""
    random = np.random.default_rng(3)
    ages = [None if age < 20 else age for age in random.integers(17, 90, size).tolist()]
    columns = {"age": ages, "sex": random.choice(["F", "M"], size).tolist()}
    columns |= {"flu": random.choice(["no", "yes"], size).tolist()}
    columns |= {"weight": random.choice([0.3, 1.7, 2.1], size).tolist()}
    return build_population(model, table_of(columns), sensitive="flu", **settings)


def said(found):
    """Return all bytes of what was found out."""
    stops, standing = found
    parts = [(each.people, each.classes, each.weighed, each.weighed_classes) for each in standing]
    return (
        (stops.dtype.str, stops.shape, stops.tobytes()),
        [
            [None if part is None else (part.shape, part.tobytes()) for part in each]
            for each in parts
        ],
        [each.spread for each in standing],
    )


def sent_by_others_too(population, jobs, pool=WORKERS, model=FOREST):
    """Send people through a forest; this process goes on only when others have answered too."""
    answered = threading.Event()

    def share(done, of, what):
        if threading.current_thread() is not threading.main_thread():
            answered.set()
        elif done < of:
            assert answered.wait(60), "no other process answered"

    found = sent(model, population, share, jobs, pool)
    assert answered.is_set()
    return found
