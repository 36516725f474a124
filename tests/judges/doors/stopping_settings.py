"""Settings by which scikit-learn stops, at every level of leaves and splits: refits prove nothing more than is said."""

from __future__ import annotations

import numpy as np

from tests.judges.doors import Judge, Trial
from tests.judges.doors._refits import Published, ask, compare, draw_table, is_sound, regrown
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn

MOST_TRIES = 50


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
        answer = ask(tree, drawn, classes, Knowledge(leaf=level, split=split), names)
        published = Published(level, len(classes))
        trial.counts[level] += 1
        if split == "none" and answer is not None:
            # Who is assumed not to use how splits were chosen proves less than refits do, and nothing that is wrong.
            is_sound(trial, answer, regrown(drawn, published))
        else:
            compare(trial, answer, drawn, published)
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
