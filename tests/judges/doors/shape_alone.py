"""Trees of which only labels are known, and no criterion: what the shape says, judged by listing every table.

A table fits where every label is that of no fewer records than another class, where the training accuracy is right if
that is known, and, of a learner that stops at pure nodes, where inner nodes are mixed. Of an unknown learner nobody may
be certain by the last, and nobody who would be may be called possible otherwise.
"""

from __future__ import annotations

import re

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from tests.judges.doors import Judge, Trial
from tests.judges.doors._refits import Drawn, ask, draw_table, every_labelling, forced_in, is_sound
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn

LEARNERS = (None, None, "rpart", "spark", "weka", "treewarden")
MOST_TRIES = 50


class ShapeAlone(Judge):
    """PMML with labels, audited with and without a known learner."""

    def judge(self, seed: int) -> Trial:
        draw, trial = np.random.default_rng([seed, 19]), Trial()
        for _ in range(MOST_TRIES):
            settings = {
                "max_depth": int(draw.integers(1, 4)),
                "random_state": int(draw.integers(100)),
            }
            drawn = draw_table(draw, settings, most=8)
            model = drawn.fit(drawn.labels)
            if model.tree_.node_count > 1:
                break
        classes = [str(k) for k in range(int(drawn.labels.max()) + 1)]
        learner = LEARNERS[int(draw.integers(len(LEARNERS)))]
        keeps_counts, knows_accuracy = bool(draw.random() < 0.4), bool(draw.random() < 0.6)
        tree = from_sklearn(model, feature_names=list(drawn.columns), class_names=classes)
        data = writers()["pmml"].write(tree).decode()
        data = re.sub(r'\s*<Extension name="treewarden:(?!quality)[^>]*/>', "", data)
        if not keeps_counts:
            data = re.sub(r"\s*<ScoreDistribution[^>]*/>", "", data)
        known = Knowledge(leaf="labels", split="none", accuracy=knows_accuracy, learner=learner)
        answer = ask(load_tree(data.encode(), "tree.pmml"), drawn, classes, known, [*drawn.columns])
        assert answer is not None
        trial.counts["known learner" if learner else "unknown learner"] += 1
        loose = _fitting(drawn, model, knows_accuracy=knows_accuracy)
        mixed = _mixed(drawn, model, loose)
        forced, sure = forced_in(mixed, drawn), answer.certain >= 0
        trial.counts["tables"] += len(loose)
        trial.counts["forced by the shape"] += int((forced & ~forced_in(loose, drawn)).sum())
        trial.counts["certain"] += int(sure.sum())
        is_sound(trial, answer, mixed if learner else loose)
        lost = forced & ~sure & ~answer.is_open
        trial.claim(not lost.any(), f"{int(lost.sum())} forced records called possible otherwise")
        needless = answer.is_open & ~forced
        trial.counts["not decided, though not forced"] += int(needless.sum())
        return trial


def _fitting(drawn: Drawn, model: DecisionTreeClassifier, *, knows_accuracy: bool) -> np.ndarray:
    """Return the tables, (K, n), with these labels of leaves and this training accuracy; not every class need occur."""
    leaf, kept = model.apply(drawn.matrix), []
    predicted = model.predict(drawn.matrix)
    right = int((predicted == drawn.labels).sum())
    for labels in every_labelling(drawn, is_all=False):
        counts = [np.bincount(labels[leaf == node]) for node in np.unique(leaf)]
        names = [int(predicted[leaf == node][0]) for node in np.unique(leaf)]
        leads = all(
            name < len(each) and each[name] == each.max()
            for name, each in zip(names, counts, strict=True)
        )
        if leads and (not knows_accuracy or int((predicted == labels).sum()) == right):
            kept.append(labels)
    return np.array(kept)


def _mixed(drawn: Drawn, model: DecisionTreeClassifier, tables: np.ndarray) -> np.ndarray:
    """Return those tables in which no inner node has one class alone."""
    paths = model.decision_path(drawn.matrix).toarray().astype(bool)
    inner = [paths[:, node] for node in np.flatnonzero(model.tree_.children_left >= 0)]
    keeps = [all(len(set(row[inside].tolist())) > 1 for inside in inner) for row in tables]
    return tables[np.array(keeps, dtype=bool)]


JUDGE = ShapeAlone()
