"""A repository with three small models, their table, and a configuration that they pass."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import CLAUSE, GROUPS, PMML, POLICIES

NAMES = ("flu", "cold", "cough")
PASSING = """policy = "lenient.toml"

[[model]]
path = "models/*.pmml"
table = "people.csv"
sensitive = "flu"
"""


@dataclass(frozen=True)
class Repository:
    """A folder with models, and ways to change it and to run the gate in it."""

    folder: Path

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def configure(self, text):
        """Configure some of the models; the others need no audit."""
        return self.write("treewarden.toml", f'ignore = ["models"]\n{text}')

    def model(self, name="flu"):
        return self.folder / "models" / f"{name}.pmml"

    def change(self, name="flu"):
        """Change the bytes of a model, and nothing that an audit sees."""
        text = self.model(name).read_text(encoding="utf-8")
        self.model(name).write_text(text.replace("<Header/>", '<Header description="new"/>'))

    def run(self, *arguments):
        config = self.folder / "treewarden.toml"
        asked = ["gate", "--config", config, *arguments]
        return run_command(*asked)

    def git(self, *arguments):
        named = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
        command = ["git", *named, *map(str, arguments)]
        return subprocess.run(command, cwd=self.folder, check=True, capture_output=True)

    def commit(self):
        if not (self.folder / ".git").exists():
            self.git("init", "-q", "-b", "main")
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x", "--allow-empty")


@pytest.fixture
def repository(tmp_path):
    """Write the models, the table, the policies and a configuration."""
    found = Repository(tmp_path)
    for name in NAMES:
        found.write(f"models/{name}.pmml", PMML)
    rows = [f"{age},{sex},{flu}" for age, sex, flu, times in GROUPS for _ in range(times)]
    found.write("people.csv", "\n".join(["age,sex,flu", *rows, ""]))
    for name, (measure, rule, limit) in POLICIES.items():
        text = CLAUSE.format(name=name, measure=measure, rule=rule, limit=limit)
        found.write(f"{name}.toml", text)
    demands_nothing = CLAUSE.format(
        name="undecided", measure="k_anonymity", rule="at_least", limit=5
    )
    found.write("undecided.toml", demands_nothing + 'severity = "warning"\n')
    found.configure(PASSING)
    return found
