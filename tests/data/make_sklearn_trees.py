"""Makes the fixtures of scikit-learn's formats: make_sklearn_trees.py <formats folder>; needs scikit-learn, skops."""

import json
import sys
from pathlib import Path

import skops.io
from sklearn.datasets import load_iris
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, export_graphviz, export_text

folder = Path(sys.argv[1])
x, y = load_iris(return_X_y=True, as_frame=True)
tree = DecisionTreeClassifier(max_depth=3, random_state=0).fit(x, y)
scaled = make_pipeline(StandardScaler(), DecisionTreeClassifier(max_depth=2, random_state=0)).fit(
    x, y
)
skops.io.dump(tree, folder / "skops_file/good/iris.skops")
skops.io.dump(scaled, folder / "skops_file/good/iris_scaled.skops")
inner = tree.tree_.__getstate__()
kinds = inner["nodes"].dtype
whole = {
    "estimator": type(tree).__name__,
    "params": tree.get_params(),
    "feature_names_in": list(x.columns),
    "classes_": tree.classes_.tolist(),
    "n_features": 4,
    "nodes_dtype": [[name, str(kinds[name])] for name in kinds.names],
    "nodes": [[value.item() for value in row] for row in inner["nodes"]],
    "values": inner["values"].tolist(),
}
(folder / "sklearn_json/good/iris.json").write_text(json.dumps(whole) + "\n", encoding="utf-8")
text = export_text(tree, feature_names=list(x.columns), show_weights=True)
(folder / "sklearn_text/good/iris.txt").write_text(text, encoding="utf-8")
drawing = export_graphviz(tree, feature_names=list(x.columns), special_characters=True, filled=True)
(folder / "graphviz_dot/good/iris.dot").write_text(drawing + "\n", encoding="utf-8")
