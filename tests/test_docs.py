"""The documentation says what there is."""

from __future__ import annotations

import re

import pytest

from tests.kit import places
from tests.kit.rows import rows
from treewarden.cli import COMMANDS
from treewarden.policies.pack import calls, load_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.reports.document.document import Document
from treewarden.terminal.exits import EXITS, MEANINGS

TOP = places.ROOT
README = (TOP / "README.md").read_text(encoding="utf-8")
COMMANDS_DOC = (TOP / "docs" / "commands.md").read_text(encoding="utf-8")
TERMS = (TOP / "docs" / "terms.md").read_text(encoding="utf-8")
JSON_DOC = (TOP / "docs" / "json.md").read_text(encoding="utf-8")
CONTRIBUTING = (TOP / "CONTRIBUTING.md").read_text(encoding="utf-8")


@rows("command", COMMANDS)
def test_the_page_of_commands_has_every_command(command):
    assert f"| `treewarden {command}" in COMMANDS_DOC


@pytest.mark.parametrize("code", MEANINGS)
def test_the_page_of_commands_has_every_exit_code(code):
    assert f"\n| {code} | " in COMMANDS_DOC


@pytest.mark.parametrize("code", EXITS.values())
def test_the_readme_has_the_exit_code_of_every_verdict(code):
    assert f"**{code}** " in README


@pytest.mark.parametrize("pack", shipped_packs())
def test_the_readme_has_every_pack(pack):
    assert f"`{pack}`" in README


OF_POLICIES = sorted({call.measure for name in shipped_packs() for call in calls(load_pack(name))})


@rows("metric", OF_POLICIES)
def test_the_terms_have_every_metric_of_a_built_in_policy(metric):
    assert f"`{metric}`" in TERMS


def test_the_json_keys_are_documented_and_no_others():
    rows = [line.split("|")[1] for line in JSON_DOC.splitlines() if line.startswith("| `")]
    documented = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    keys = {field.alias or name for name, field in Document.model_fields.items()} | {"places"}
    assert documented == keys


@pytest.mark.parametrize("folder", re.findall(r"\| `(\w+/\w+/)` \|", CONTRIBUTING))
def test_the_folders_that_contributors_are_sent_to_are_there(folder):
    assert (TOP / folder).is_dir()
