"""The lines of Python that the README shows run as they stand."""

from __future__ import annotations

import re

import pytest

from tests.kit import places
from treewarden.ppdm_models.errors import TreewardenError

README = (places.ROOT / "README.md").read_text("utf-8")
LINES = re.search(r"```python\n(.*?)```", README, re.DOTALL)[1]


def test_the_lines_of_the_readme_audit_a_fitted_tree_and_raise():
    pytest.importorskip("treewarden.api", reason="the Python API is not here")
    pandas = pytest.importorskip("pandas")
    trees = pytest.importorskip("sklearn.tree", reason="the demo extra is not installed")
    data = pandas.DataFrame({"age": range(40), "diagnosis": ["no"] * 39 + ["yes"]})
    model = trees.DecisionTreeClassifier().fit(data[["age"]], data["diagnosis"])
    names = {"model": model, "data": data}
    with pytest.raises(TreewardenError, match="Do not publish"):
        exec(LINES, names)
    assert not names["result"].passed
