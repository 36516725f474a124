"""The commands of the README can be typed as they stand, one after the other, in a folder with a tree and its table."""

from __future__ import annotations

import pytest

import treewarden as tw
from docs._ext.console import Session
from tests.docs import pages
from tests.docs.test_commands import COMMAND
from tests.kit import places
from treewarden.terminal.exits import FAIL, PASS

README = (places.ROOT / "README.md").read_text("utf-8")
ENDS = {
    "inspect": PASS,
    "audit": FAIL,
    "repair": PASS,
    "policy": PASS,
    "gate --init": PASS,
    "gate": FAIL,
}
"""How each command ends in that folder: its tree fails, and can be repaired."""


@pytest.fixture
def folder(tmp_path):
    """A folder with the files that the README names."""
    pandas = pytest.importorskip("pandas", reason="the demo extra is not installed")
    tree = pytest.importorskip("sklearn.tree", reason="the demo extra is not installed")
    rows = [
        (age, smokes, "ill" if case < (2 + 3 * smokes if age > 50 else 1 + smokes) else "well")
        for age in range(20, 80)
        for smokes in (0, 1)
        for case in range(8)
    ]
    rows += [(79, 1, "ill")] * 3 + [(20, 0, "well")] * 3
    table = pandas.DataFrame(rows, columns=["age", "smokes", "diagnosis"])
    table.to_csv(tmp_path / "table.csv", index=False)
    model = tree.DecisionTreeClassifier(max_leaf_nodes=6, random_state=0)
    model.fit(table[["age", "smokes"]], table["diagnosis"])
    tw.audit(model, table, sensitive="diagnosis").save_model(tmp_path / "tree.pmml")
    return tmp_path


def test_every_command_runs_in_order(folder):
    session = Session(folder)
    commands = [line.split("#")[0].strip() for line in COMMAND.findall(pages.code(README))]
    assert {command.split()[0] for command in commands} == {name.split()[0] for name in ENDS}
    for command in commands:
        session.run(f"treewarden {command}")
        ended = next(code for name, code in ENDS.items() if command.startswith(name))
        assert session.exit_code == ended, command
    written = {"tree-repaired.pmml", "treewarden.toml", "treewarden.sarif"}
    assert written <= {path.name for path in folder.iterdir()}
