"""Settings by which scikit-learn stops, at every level of leaves and splits: refits prove nothing more than is said."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from audit.adversary.knowledge import Knowledge
from ppdm_models.codecs.sklearn.fitted import from_sklearn
from tests.judges.doors import Judge, Trial
from tests.judges.doors._refits import ask, compare, draw_table, every_labelling, regrown

MOST_TRIES = 50


class Published:
    """What a fitted tree publishes at a level of leaves: its splits, and of the classes what the level says."""

    def __init__(self, level: str, classes: int) -> None:
        self.level, self.classes = level, classes

    def __call__(self, model: DecisionTreeClassifier, labels: np.ndarray) -> Hashable:
        state = model.tree_
        counts = np.rint(state.value[:, 0] * state.n_node_samples[:, None]).astype(int)
        is_leaf = state.children_left < 0
        of_leaves = tuple(
            (node, self._said(counts[node])) for node in np.flatnonzero(is_leaf).tolist()
        )
        inner = counts[~is_leaf].tobytes() if self.level == "as-published" else b""
        shape = (state.children_left, state.children_right, state.feature, state.threshold)
        return of_leaves, inner, tuple(array.tobytes() for array in shape)

    def of_leaves(self, leaf: np.ndarray, labels: np.ndarray) -> Hashable:
        """Return what would be said of the leaves if these were the labels."""
        return tuple(
            (node, self._said(np.bincount(labels[leaf == node], minlength=self.classes)))
            for node in np.unique(leaf).tolist()
        )

    def _said(self, counts: np.ndarray) -> Hashable:
        if self.level in ("counts", "as-published"):
            return tuple(counts.tolist())
        label = int(counts.argmax())
        return (label, int(counts[label])) if self.level == "rates" else label


class StoppingSettings(Judge):
    """A fitted estimator with random settings, as it is audited."""

    def judge(self, seed: int) -> Trial:
        draw, trial = np.random.default_rng([seed, 17]), Trial()
        for _ in range(MOST_TRIES):
            drawn = draw_table(draw, settings_of(draw))
            model = drawn.fit(drawn.labels)
            if model.tree_.node_count > 1:
                break
        classes = [f"c{k}" for k in range(int(drawn.labels.max()) + 1)]
        level = str(
            draw.choice(["as-published", "counts", "rates", "labels"], p=[0.4, 0.2, 0.2, 0.2])
        )
        split = str(draw.choice(["as-published", "as-published", "none"]))
        names = list(drawn.columns)
        tree = from_sklearn(model, feature_names=names, class_names=classes)
        tables = regrown(drawn, Published(level, len(classes)), every_labelling(drawn))
        answer = ask(tree, drawn, classes, Knowledge(leaf=level, split=split), names)
        trial.counts[level] += 1
        if split == "none" and answer is not None:
            # Who is assumed not to use how splits were chosen proves less than refits; nothing is claimed wrongly.
            wrong = (answer.certain >= 0) & (tables != answer.certain).any(axis=0)
            trial.claim(not wrong.any(), "certain, but a table says otherwise (--split none)")
            return trial
        compare(trial, answer, tables, drawn)
        return trial


def settings_of(draw: np.random.Generator) -> dict[str, object]:
    """Return random settings: often a limit of depth and size, and one of those that stop by what a split gains."""
    found: dict[str, object] = {
        "criterion": str(draw.choice(["gini", "entropy"])),
        "max_depth": [None, 1, 2, 3][int(draw.integers(4))],
        "min_samples_leaf": int(draw.choice([1, 1, 2, 3])),
        "min_samples_split": int(draw.choice([2, 2, 3, 4, 5])),
        "random_state": int(draw.integers(100)),
    }
    match draw.choice(["none", "decrease", "leaves", "pruned", "both", "share", "random"]):
        case "decrease":
            found["min_impurity_decrease"] = float(draw.choice([0.01, 0.02, 0.05, 0.1, 0.2]))
        case "leaves":
            found["max_leaf_nodes"] = int(draw.integers(2, 5))
        case "pruned":
            found["ccp_alpha"] = float(draw.choice([0.01, 0.02, 0.05, 0.1]))
        case "both":
            found["min_impurity_decrease"] = float(draw.choice([0.01, 0.05, 0.1]))
            found["max_leaf_nodes"] = int(draw.integers(2, 5))
            found["ccp_alpha"] = float(draw.choice([0.0, 0.02, 0.05]))
        case "share":
            found["min_weight_fraction_leaf"] = float(draw.choice([0.1, 0.2, 0.3]))
        case "random":
            found["max_features"] = 1
            found["min_impurity_decrease"] = float(draw.choice([0.0, 0.0, 0.05]))
    return found


JUDGE = StoppingSettings()
