"""Files that list tested columns only: who knows other columns too, which the learner compared, is left open.

Drawings, printed trees and PMML of scikit-learn's trees, with all columns as quasi-identifiers.
"""

from __future__ import annotations

import re

import numpy as np
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text

from tests.judges.doors import Judge, Trial
from tests.judges.doors._refits import Drawn, Published, ask, compare, draw_table
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.files.load import load_tree, writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tree.tree import Tree

MOST_TRIES = 50


class UnlistedColumns(Judge):
    """A file of a tree that tests some of its columns, audited for who knows them all."""

    def judge(self, seed: int) -> Trial:
        draw, trial = np.random.default_rng([seed, 18]), Trial()
        for _ in range(MOST_TRIES):
            settings = {
                "criterion": str(draw.choice(["gini", "entropy"])),
                "max_depth": int(draw.integers(1, 3)),
                "min_samples_leaf": int(draw.choice([1, 2, 3])),
                "random_state": int(draw.integers(100)),
            }
            drawn = draw_table(draw, settings)
            model = drawn.fit(drawn.labels)
            tested = set(model.tree_.feature[model.tree_.feature >= 0].tolist())
            if tested and len(tested) < len(drawn.columns):
                break
        kind = str(draw.choice(["drawing", "text", "pmml"]))
        if kind == "text" and not _names_classes(model, drawn):
            kind = "pmml"
        classes = [str(k) for k in range(int(drawn.labels.max()) + 1)]
        tree = _file(kind, model, drawn, classes, tested)
        trial.counts[kind] += 1
        # A printed tree names no criterion: who knows it is asked about, and who can only suppose it.
        is_told = kind != "drawing" and bool(draw.integers(2))
        split = settings["criterion"] if is_told else "as-published"
        trial.counts["supposed"] += kind != "drawing" and not is_told
        answer = ask(tree, drawn, classes, Knowledge(split=split), list(drawn.columns))
        level = "as-published" if kind == "drawing" else "counts"
        compare(trial, answer, drawn, Published(level, len(classes)))
        return trial


def _names_classes(model: DecisionTreeClassifier, drawn: Drawn) -> bool:
    """Return whether a printed tree tells which weight is whose: each class leads some leaf, and nobody else does."""
    state = model.tree_
    values = state.value[state.children_left < 0, 0]
    leads = values == values.max(axis=1, keepdims=True)
    alone = leads[leads.sum(axis=1) == 1]
    return bool(alone.any(axis=0).all()) and len(alone) == len(leads)


def _file(
    kind: str, model: DecisionTreeClassifier, drawn: Drawn, classes: list[str], tested: set[int]
) -> Tree:
    """Return what is read of a file that lists the tested columns alone."""
    names = list(drawn.columns)
    if kind == "drawing":
        drawing = export_graphviz(model, feature_names=names, precision=12)
        return load_tree(drawing.encode(), "tree.dot")
    if kind == "text":
        text = export_text(model, feature_names=names, show_weights=True, decimals=6)
        return load_tree(text.encode(), "tree.txt")
    tree = from_sklearn(model, feature_names=names, class_names=classes)
    data = writers()["pmml"].write(tree).decode()
    for place, name in enumerate(names):
        if place not in tested:
            data = re.sub(rf'\s*<(MiningField|DataField) name="{name}"[^>]*/>', "", data)
    data = re.sub(r'\s*<Extension name="treewarden:(?!quality)[^>]*/>', "", data)
    return load_tree(data.encode(), "tree.pmml")


JUDGE = UnlistedColumns()
