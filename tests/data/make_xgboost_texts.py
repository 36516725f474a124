"""Makes the dumps under formats/xgboost_text/: good ones with XGBoost 3.2, one as JSON too, and bad ones from them.

Run ``python tests/data/make_xgboost_texts.py``; the messages beside bad files are written by hand.
"""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import xgboost

FOLDER = Path(__file__).parent / "formats" / "xgboost_text"
RANDOM = np.random.default_rng(5)


def main():
    table = pd.DataFrame(
        {
            "hours a week: {1,2}": RANDOM.integers(0, 9, 80).astype(float),
            "town": pd.Categorical(RANDOM.choice(list("pqrst"), 80)),
            "x": RANDOM.normal(size=80),
        }
    )
    table.iloc[3, 0] = np.nan
    codes = table["town"].cat.codes
    pay = table.iloc[:, 0].fillna(3) * 2 + codes * 3 + RANDOM.normal(size=80)
    data = xgboost.DMatrix(table, label=pay, enable_categorical=True)
    booster = xgboost.train({"max_depth": 3, "max_cat_to_onehot": 1, "nthread": 1}, data, 2)
    (FOLDER / "good").mkdir(parents=True, exist_ok=True)
    (FOLDER / "bad").mkdir(parents=True, exist_ok=True)
    for name, with_stats in (("statistics", True), ("plain", False)):
        booster.dump_model(FOLDER / "good" / f"{name}.txt.dump", with_stats=with_stats)
    beside = FOLDER.parent.parent / "xgboost_text.json"
    booster.dump_model(beside, with_stats=True, dump_format="json")
    text = (FOLDER / "good" / "plain.txt.dump").read_text(encoding="utf-8")
    lines = text.split("\n")
    for name, changed in {
        "child_of_two": text.replace("no=2", "no=1", 1),
        "no_such_child": text.replace("no=2", "no=99", 1),
        "cycle": text.replace("yes=1", "yes=0", 1),
        "unreached": text.replace("booster[1]", "\t\t\t99:leaf=1\nbooster[1]"),
        "node_twice": text.replace(lines[1], f"{lines[1]}\n{lines[1]}", 1),
        "tree_left_out": text.replace("booster[1]", "booster[2]"),
        "no_line": text.replace("leaf=", "leave=", 1),
        "missing_elsewhere": re.sub(r"missing=\d", "missing=7", text, count=1),
        "empty_tree": "booster[0]:\nbooster[1]:\n0:leaf=1\n",
        "bare": "booster[0]:\n",
        "far_leaf": "booster[0]:\n0:leaf=1e39\n",
        "list_of_words": "booster[0]:\n0:leaf=[1,a]\n",
        "too_deep_by_tabs": text.replace("\n\t2:", "\n\t\t2:", 1),
    }.items():
        (FOLDER / "bad" / f"{name}.dump").write_text(changed, encoding="utf-8")


if __name__ == "__main__":
    main()
