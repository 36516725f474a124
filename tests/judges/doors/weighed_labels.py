"""Labels of trees whose classes may have been weighed: scikit-learn's text, which does not say whether they were.

A table fits where scikit-learn, with some weights of classes, either criterion and perhaps shares kept in order along
columns, grows a tree that begins with the printed one: where it stopped, the text does not say. Nobody may be certain
whom one of these tables contradicts. Nobody may be called possible otherwise whom all tables without weights force, by
one criterion, if the true table is one of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from sklearn.tree import DecisionTreeClassifier, export_text

from tests.judges.doors import Judge, Trial
from tests.judges.doors._refits import (
    MANY_SEEDS,
    Drawn,
    ask,
    draw_table,
    every_labelling,
    forced_in,
)
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.files.load import load_tree

MOST_TRIES = 50
RATIOS = (0.1, 0.34, 0.7, 1.5, 3.0, 10.0)
"""Weights of the second class, where all others weigh 1."""
PLAIN = ("gini", "entropy")
SEEDS = range(4)
"""Random states of the learner beside that of the case: of equally good columns each takes others."""
Settings = dict[str, object]


class WeighedLabels(Judge):
    """A text of labels, audited by its table, with and without a known criterion."""

    def judge(self, seed: int) -> Trial:
        draw, trial = np.random.default_rng([seed, 23]), Trial()
        for _ in range(MOST_TRIES):
            drawn = draw_table(draw, {}, most=8)
            settings = _draw_settings(draw, drawn)
            drawn = Drawn(_apart(drawn.columns), drawn.labels, settings)
            names = list(drawn.columns)
            text = str(export_text(drawn.fit(drawn.labels), feature_names=names, decimals=6))
            classes = [str(k) for k in range(int(drawn.labels.max()) + 1)]
            if "<=" in text and all(f"class: {name}\n" in text for name in classes):
                break
        is_plain = settings["class_weight"] is None and settings["monotonic_cst"] is None
        is_told = is_plain and bool(draw.random() < 0.3)
        trial.counts["plain, told" if is_told else "plain" if is_plain else "weighed"] += 1
        known = Knowledge(split=settings["criterion"] if is_told else "as-published")
        tree = load_tree(text.encode(), "tree.txt")
        answer = ask(tree, drawn, classes, known, names)
        assert answer is not None
        certain = np.array([-1 if k < 0 else int(tree.classes[k]) for k in answer.certain])
        criteria = [settings["criterion"]] if is_told else PLAIN
        plain = [_growing(drawn, [_plain(settings, criterion)]) for criterion in criteria]
        others = [] if is_told else [settings, *_possible(settings, draw, drawn)]
        tables = np.concatenate([*plain, _growing(drawn, others)])
        trial.counts["tables"] += len(np.unique(tables, axis=0))
        trial.counts["certain"] += int((certain >= 0).sum())
        trial.counts["not decided"] += int(answer.is_open.sum())
        wrong = (certain >= 0) & (tables != certain).any(axis=0)
        trial.claim(not wrong.any(), f"{int(wrong.sum())} records certain, but a table differs")
        trial.counts["forced by all tables"] += int(forced_in(tables, drawn).sum())
        for criterion, fitting in zip(criteria, plain, strict=True):
            if not (fitting == _sorted(drawn)).all(axis=1).any():
                continue
            lost = forced_in(fitting, drawn) & (certain < 0) & ~answer.is_open
            if lost.any():
                more = _growing(drawn, [_plain(settings, criterion)], MANY_SEEDS)
                lost &= forced_in(more, drawn)
            trial.claim(
                not lost.any(), f"{int(lost.sum())} forced records called possible otherwise"
            )
        return trial


def _apart(columns: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Return columns in which no value lies half way between two others, as a threshold may."""
    return {name: np.exp2(values) - 1 for name, values in columns.items()}


def _draw_settings(draw: np.random.Generator, drawn: Drawn) -> Settings:
    classes = int(drawn.labels.max()) + 1
    weights: object = {k: float(draw.choice([1, 2, 3, 5, 10])) for k in range(classes)}
    moves = classes == 2 and draw.random() < 0.3
    signs = draw.integers(-1, 2, size=len(drawn.columns)).tolist()
    return {
        "criterion": str(draw.choice(PLAIN)),
        "max_depth": int(draw.integers(1, 4)),
        "random_state": int(draw.integers(100)),
        "class_weight": [None, "balanced", weights][int(draw.integers(3))],
        "monotonic_cst": signs if moves else None,
    }


def _plain(settings: Settings, criterion: object) -> Settings:
    return {**settings, "criterion": criterion, "class_weight": None, "monotonic_cst": None}


def _possible(settings: Settings, draw: np.random.Generator, drawn: Drawn) -> Iterator[Settings]:
    """Yield settings that a text may have been trained with."""
    classes, size = int(drawn.labels.max()) + 1, len(drawn.columns)
    signs = draw.integers(-1, 2, size=size).tolist() if classes == 2 else None
    weights = [{k: ratio if k == 1 else 1.0 for k in range(classes)} for ratio in RATIOS]
    for criterion in PLAIN:
        plain = _plain(settings, criterion)
        yield {**plain, "monotonic_cst": signs}
        for each in ("balanced", *weights):
            yield {**plain, "class_weight": each}


def _growing(drawn: Drawn, several: list[Settings], seeds: Sequence[int] = SEEDS) -> np.ndarray:
    """Return the tables, (K, n), of which a tree that begins with the case's grows with one of several settings."""
    printed, kept = drawn.fit(drawn.labels), []
    leaf, label = printed.apply(drawn.matrix), printed.predict(drawn.matrix)
    for labels in every_labelling(drawn):
        for settings in several:
            moves = settings["monotonic_cst"] is not None
            if not moves and not _leads(labels, leaf, label, settings["class_weight"]):
                continue
            one = Drawn(drawn.columns, labels, {**settings, "max_depth": None})
            if any(_begins_with(one.fit(labels, seed), printed) for seed in (None, *seeds)):
                kept.append(labels)
                break
    return np.array(kept, dtype=np.int64).reshape(len(kept), len(drawn.labels))


def _begins_with(full: DecisionTreeClassifier, printed: DecisionTreeClassifier) -> bool:
    """Return whether a tree splits as another one does, and labels each node where that one stops as it does."""
    one, other = full.tree_, printed.tree_
    pairs = [(0, 0)]
    while pairs:
        node, shown = pairs.pop()
        if other.children_left[shown] < 0:
            if one.value[node, 0].argmax() != other.value[shown, 0].argmax():
                return False
            continue
        same = one.feature[node] == other.feature[shown]
        if not same or one.threshold[node] != other.threshold[shown]:
            return False
        pairs.append((one.children_left[node], other.children_left[shown]))
        pairs.append((one.children_right[node], other.children_right[shown]))
    return True


def _leads(labels: np.ndarray, leaf: np.ndarray, label: np.ndarray, weights: object) -> bool:
    """Return whether no class has a greater sum of weights in a leaf than its label, (n,) by record."""
    counts = np.bincount(labels)
    times = np.ones(len(counts))
    if weights == "balanced":
        times = len(labels) / (len(counts) * counts)
    elif isinstance(weights, dict):
        times = np.array([weights[k] for k in range(len(counts))])
    for node in np.unique(leaf):
        inside = leaf == node
        sums = np.bincount(labels[inside], minlength=len(counts)) * times
        if sums[label[inside][0]] < sums.max() * (1 - 1e-9):
            return False
    return True


def _sorted(drawn: Drawn) -> np.ndarray:
    """Return the true classes, (n,), those of records that agree in every column in order, as in listed tables."""
    found = drawn.labels.copy()
    for profile in np.unique(drawn.profile):
        inside = drawn.profile == profile
        found[inside] = np.sort(found[inside])
    return found


JUDGE = WeighedLabels()
