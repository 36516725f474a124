"""Random small tables with hostile cells, and the trees that real learners grow on them: one case per kind and seed."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tests.judges.learners.learners import Case, best_first_case, id3_case, sklearn_case
from treewarden.ppdm_models.learn.growers import BestFirst
from treewarden.ppdm_models.tree.tree import Quality

KINDS = {
    "missing": "missing cells",
    "blanked": "one cell blanked in a column that no split uses",
    "floats": "numbers that are neighbours in 32 bits",
    "labels": "leaf counts withheld, labels of inner nodes kept",
    "weights": "sampling weights",
    "ties": "ID3, which takes the first of equally good splits",
    "settings": "scikit-learn's other settings",
    "own": "the canonical learner: many branches, sets of categories, the category *",
}
NAN = float("nan")
HOSTILE = (
    (1.0, 1.00000012, 1.0000002384185791, 1.0000001, 2.0),
    (0.0, 1e-7, 0.9e-7, 1.1e-7, 2e-7, -1e-7),
    (0.0, -0.0, 1e-45, 3e-45, 1e-46, -1e-45),
    (3e38, -3e38, 3.4e38, 0.0, 3.3999999e38),
    (0.1, 0.1 + 1e-12, 0.1 - 1e-12, 0.2, 0.30000000000000004, 0.3),
    (0.0, 0.9e-7, 1.8e-7, 2.7e-7, 3.6e-7, 4.5e-7),
    (16777216.0, 16777217.0, 16777218.0, 16777219.0, 16777220.0),
    (0.5, 0.5 + 5.96e-8, 0.5 + 1.192e-7, 0.5 + 1.79e-7, 0.49999997),
    (-1.0, -1.0000001192092896, -0.99999994, -0.9999999, -1.00000024),
    (2.0, 2.0 + 2.4e-7, 1.9999999, 1.9999998, 2.0000002),
)
"""Values that 32-bit numbers, or a step of 1e-7, run together or tell apart only just."""
MOST_TRIES = 200


def draw_case(kind: str, seed: int) -> Case:
    """Return the case of a kind and seed: the first table on which a tree of the kind grows."""
    draw = np.random.default_rng([seed, 6, list(KINDS).index(kind)])
    for _ in range(MOST_TRIES):
        case = DRAWN[kind](draw)
        if case is not None:
            return replace(case, kind=kind)
    raise RuntimeError(f"no case after {MOST_TRIES} tries")


def _missing(draw: np.random.Generator) -> Case | None:
    columns = {
        name: _with_gaps(draw, values) for name, values in _numbers(draw, _size(draw)).items()
    }
    return _at_some_level(draw, sklearn_case(columns, _labels(draw, columns), _settings(draw)))


def _blanked(draw: np.random.Generator) -> Case | None:
    columns = _numbers(draw, _size(draw), least=2)
    settings = _settings(draw)
    labels = _labels(draw, columns)
    before = sklearn_case(columns, labels, settings)
    if before is None:
        return None
    used = {node.column for node in before.nodes}
    cells = [(name, row) for name in columns if name not in used for row in range(len(labels))]
    for place in draw.permutation(len(cells)).tolist():
        name, row = cells[place]
        values = [NAN if r == row else v for r, v in enumerate(columns[name])]
        after = sklearn_case({**columns, name: values}, labels, settings)
        if after is not None and after.tree.nodes == before.tree.nodes:
            told = _at_some_level(draw, after)
            same = {"level": told.level, "sees_truth": told.sees_truth, "kind": "blanked"}
            same |= {"knows_splits": told.knows_splits}
            return replace(told, before=replace(before, **same), blanked=name)
    return None


def _floats(draw: np.random.Generator) -> Case | None:
    size = _size(draw)
    columns = {}
    for place in range(int(draw.integers(1, 4))):
        pool = HOSTILE[int(draw.integers(len(HOSTILE)))] if draw.random() < 0.8 else (0.0, 1.0, 2.0)
        columns[f"x{place}"] = draw.choice(pool, size=size).tolist()
    if draw.random() < 0.15:
        columns["x0"] = _with_gaps(draw, columns["x0"])
    return _at_some_level(draw, sklearn_case(columns, _labels(draw, columns), _settings(draw)))


def _withheld(draw: np.random.Generator) -> Case | None:
    is_id3 = draw.random() < 0.3
    columns = _texts(draw, _size(draw)) if is_id3 else _numbers(draw, _size(draw))
    labels = _labels(draw, columns)
    case = (
        id3_case(columns, labels, *_limits(draw))
        if is_id3
        else sklearn_case(columns, labels, _settings(draw))
    )
    if case is None:
        return None
    says_records = draw.random() < 0.5
    nodes = tuple(
        replace(
            node,
            class_counts=None,
            class_shares=None,
            records=node.records if says_records else None,
        )
        for node in case.tree.nodes
    )
    quality = Quality.EXACT if says_records else Quality.ABSENT
    return replace(
        case,
        tree=replace(case.tree, nodes=nodes, quality=quality),
        level="labels",
        says_inner_labels=True,
        knows_splits=bool(draw.random() < 0.7),
        sees_truth=bool(draw.random() < 0.7),
    )


def _weighted(draw: np.random.Generator) -> Case | None:
    columns = _numbers(draw, min(_size(draw), 8))
    labels = _labels(draw, columns)
    pool = ((1.0, 2.0), (1.0, 2.0, 3.0, 5.0), (0.5, 1.5, 2.25), (1.0, 10.0))[int(draw.integers(4))]
    weights = draw.choice(pool, size=len(labels)).tolist()
    case = sklearn_case(columns, labels, _settings(draw), weights)
    return None if case is None else replace(case, sees_truth=bool(draw.random() < 0.8))


def _id3(draw: np.random.Generator) -> Case | None:
    columns = _texts(draw, _size(draw))
    if draw.random() < 0.3:
        name = f"x{draw.integers(len(columns))}"
        columns[name] = _with_gaps(draw, columns[name])
    return _at_some_level(draw, id3_case(columns, _labels(draw, columns), *_limits(draw)))


def _other_settings(draw: np.random.Generator) -> Case | None:
    columns = _numbers(draw, min(_size(draw), 8))
    labels = _labels(draw, columns)
    settings = _settings(draw)
    match draw.choice(["monotone", "class weights", "shares", "pruned", "best first"]):
        case "monotone" if len(set(labels)) == 2:
            settings["monotonic_cst"] = draw.integers(-1, 2, size=len(columns)).tolist()
        case "class weights":
            several = draw.choice([1.0, 2.0, 3.0], size=len(set(labels)))
            settings["class_weight"] = dict(enumerate(several.tolist()))
        case "shares":
            settings["min_samples_leaf"] = 1
            settings["min_weight_fraction_leaf"] = float(draw.choice([0.1, 0.2, 0.3, 0.34]))
        case "pruned":
            settings["ccp_alpha"] = float(draw.choice([0.01, 0.1]))
            settings["min_impurity_decrease"] = float(draw.choice([0.0, 0.01, 0.1]))
        case _:
            settings["max_leaf_nodes"] = int(draw.integers(2, 5))
    case = _at_some_level(draw, sklearn_case(columns, labels, settings))
    if case is None:
        return None
    share = settings.get("min_weight_fraction_leaf", 0.0) * len(labels)
    return replace(case, min_leaf=max(case.min_leaf, math.ceil(share)))


def _own(draw: np.random.Generator) -> Case | None:
    columns = {**_texts(draw, min(_size(draw), 8))}
    form = str(draw.choice(["plain", "multiway", "sets"]))
    if draw.random() < 0.3:
        columns["x0"] = [{"v0": "*"}.get(value, value) for value in columns["x0"]]
    if draw.random() < 0.2:
        columns["x1"] = [float(value[1:]) for value in columns["x1"]]
    learner = BestFirst(
        criterion=str(draw.choice(["gini", "entropy", "gain-ratio"])),
        multiway=form == "multiway",
        sets=form == "sets",
        min_leaf=int(draw.choice([1, 1, 2, 3])),
    )
    splits = int(draw.integers(1, 4))
    case = best_first_case(columns, _labels(draw, columns), learner, splits)
    return _at_some_level(draw, case)


def _size(draw: np.random.Generator) -> int:
    return int(draw.choice([4, 5, 6, 7, 8, 9, 10], p=[0.15, 0.2, 0.2, 0.15, 0.15, 0.1, 0.05]))


def _numbers(draw: np.random.Generator, size: int, least: int = 1) -> dict[str, list]:
    names = [f"x{place}" for place in range(int(draw.integers(least, 4)))]
    return {name: draw.integers(draw.integers(2, 5), size=size) * 1.0 for name in names}


def _texts(draw: np.random.Generator, size: int) -> dict[str, list]:
    return {
        name: [f"v{int(v)}" for v in values]
        for name, values in _numbers(draw, size, least=2).items()
    }


def _with_gaps(draw: np.random.Generator, values: Sequence) -> list:
    """Return a column with some cells missing, sometimes none and sometimes all."""
    share = float(draw.choice([0.0, 0.2, 0.4, 0.7, 1.0], p=[0.3, 0.3, 0.25, 0.1, 0.05]))
    nothing = None if isinstance(values[0], str) else NAN
    return [nothing if draw.random() < share else value for value in values]


def _labels(draw: np.random.Generator, columns: dict[str, list]) -> tuple[int, ...]:
    """Return classes: random, or driven by a column and some noise."""
    size = len(columns["x0"])
    classes = 3 if size <= 7 and draw.random() < 0.2 else 2
    driver = [str(value) for value in columns[f"x{draw.integers(len(columns))}"]]
    code = np.unique(driver, return_inverse=True)[1].reshape(-1) % classes
    noise = draw.random(size) < draw.choice([0.0, 0.3, 1.0])
    labels = np.where(noise, draw.integers(classes, size=size), code)
    labels[draw.choice(size, size=classes, replace=False)] = np.arange(classes)
    return tuple(labels.tolist())


def _at_some_level(draw: np.random.Generator, case: Case | None) -> Case | None:
    if case is None:
        return None
    return replace(
        case,
        level=str(draw.choice(["counts", "counts", "counts", "rates", "labels"])),
        knows_splits=bool(draw.random() < 0.9),
        sees_truth=bool(draw.random() < 0.7),
    )


def _limits(draw: np.random.Generator) -> tuple[str, float]:
    return str(draw.choice(["gini", "entropy"])), float(draw.integers(2, 5))


def _settings(draw: np.random.Generator) -> dict:
    return {
        "criterion": str(draw.choice(["gini", "entropy"])),
        "max_depth": int(draw.integers(1, 4)),
        "min_samples_leaf": int(draw.choice([1, 1, 2, 3])),
        "random_state": int(draw.integers(100)),
    }


DRAWN = {
    "missing": _missing,
    "blanked": _blanked,
    "floats": _floats,
    "labels": _withheld,
    "weights": _weighted,
    "ties": _id3,
    "settings": _other_settings,
    "own": _own,
}
