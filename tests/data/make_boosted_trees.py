"""Makes the small XGBoost and LightGBM files under formats/, good ones with the tools and bad ones from them.

Run with xgboost 3.2 and lightgbm 4.7: ``python tests/data/make_boosted_trees.py``; the messages beside bad files are
written by hand.
"""

import json
from pathlib import Path

import lightgbm
import numpy as np
import xgboost

FORMATS = Path(__file__).parent / "formats"
RANDOM = np.random.default_rng(7)
NAMES = ["age", "income"]
TABLE = np.column_stack([RANDOM.integers(18, 80, 120), RANDOM.integers(10, 90, 120)]).astype(float)
LABELS = (TABLE[:, 0] + TABLE[:, 1] > 95).astype(float)


def put(name, data):
    path = FORMATS / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def edited(document, *edits):
    copy = json.loads(json.dumps(document))
    for *steps, last, value in edits:
        place = copy
        for step in steps:
            place = place[step]
        place[last] = value
    return json.dumps(copy)


def xgboost_files():
    table = xgboost.DMatrix(TABLE, label=LABELS, feature_names=NAMES)
    settings = {"objective": "binary:logistic", "max_depth": 2, "nthread": 1}
    booster = xgboost.train(settings, table, 2)
    put("xgboost_model/good/loan.json", bytes(booster.save_raw("json")))
    put("xgboost_model/good/loan.ubj", bytes(booster.save_raw("ubj")))
    model = json.loads(booster.save_raw("json"))
    at = ("learner", "gradient_booster", "model")
    tree = (*at, "trees", 0)
    for name, edit in {
        "cycle": (*tree, "left_children", 0, 0),
        "short_column": (*tree, "default_left", [0]),
        "threshold_beyond_32_bits": (*tree, "split_conditions", 0, 1e39),
        "unknown_feature": (*tree, "split_indices", 0, 7),
        "tree_of_no_output": (*at, "tree_info", 1, 4),
        "base_score_of_two": ("learner", "learner_model_param", "base_score", "2E0"),
        "configuration": ("learner", "gradient_booster", {"name": "gbtree"}),
        "linear": ("learner", "gradient_booster", {"name": "gblinear", "model": {}}),
        "negative_sum": (*tree, "sum_hessian", 1, -1.0),
    }.items():
        put(f"xgboost_model/bad/{name}.json", edited(model, edit))
    put("xgboost_model/bad/cut_off.ubj", bytes(booster.save_raw("ubj"))[:900])
    dump = f"[{','.join(booster.get_dump(with_stats=True, dump_format='json'))}]"
    trees = json.loads(dump)
    put("xgboost_dump/good/loan.json", json.dumps(trees, indent=1))
    for name, edit in {
        "same_id_twice": (0, "children", 1, "nodeid", 1),
        "missing_goes_nowhere": (0, "missing", 9),
        "one_child": (0, "children", [trees[0]["children"][0]]),
        "infinite_leaf": (0, "children", 0, {"nodeid": 1, "leaf": 1e999}),
    }.items():
        put(f"xgboost_dump/bad/{name}.json", edited(trees, edit))


def lightgbm_files():
    table = lightgbm.Dataset(TABLE, label=LABELS, feature_name=NAMES)
    settings = {"objective": "binary", "num_leaves": 4, "num_threads": 1, "verbose": -1}
    booster = lightgbm.train(settings, table, 2)
    text = booster.model_to_string()
    put("lightgbm_text/good/loan.model", text)
    for name, old, new in (
        ("cut_off", text[text.index("end of trees") :], ""),
        ("short_column", "\nright_child=", "\nright_child=0 "),
        ("cycle", "\nleft_child=", "\nleft_child=0 "),
        ("key_twice", "\nnum_cat=0", "\nnum_cat=0\nnum_cat=0"),
        ("nan_leaf", "\nleaf_value=", "\nleaf_value=nan "),
        ("negative_count", "\nleaf_count=", "\nleaf_count=-"),
        ("unknown_decision", "\ndecision_type=2", "\ndecision_type=98"),
    ):
        changed = text.replace(old, new, 1)
        if name in ("cycle", "nan_leaf"):
            line = next(line for line in changed.split("\n") if line.startswith(new.strip("\n")))
            changed = changed.replace(line, line.rsplit(" ", 1)[0], 1)
        put(f"lightgbm_text/bad/{name}.model", changed)
    dump = booster.dump_model()
    put("lightgbm_dump/good/loan.json", json.dumps(dump, indent=1))
    root = ("tree_info", 0, "tree_structure")
    for name, edit in {
        "unknown_feature": (*root, "split_feature", 5),
        "unknown_decision": (*root, "decision_type", "<"),
        "no_child": (*root, "left_child", None),
        "negative_count": (*root, "internal_count", -3),
        "incomplete_iteration": ("num_tree_per_iteration", 3),
    }.items():
        put(f"lightgbm_dump/bad/{name}.json", edited(dump, edit))


if __name__ == "__main__":
    xgboost_files()
    lightgbm_files()
