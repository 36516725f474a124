"""The page about the configuration names every key, and its example runs."""

from __future__ import annotations

import re

from tests.docs import pages
from tests.kit.rows import rows
from tests.treewarden.conftest import CLAUSE, GROUPS, PMML
from treewarden.jobs.gate.config import ModelSection, read_configuration
from treewarden.jobs.gate.gating import gate

PAGE = (pages.DOCS / "gate-configuration.md").read_text("utf-8")
(EXAMPLE,) = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
HOW_TO = re.findall(r"```toml\n(.*?)```", (pages.DOCS / "gate.md").read_text("utf-8"), re.DOTALL)


KEYS = [field.alias or name for name, field in ModelSection.model_fields.items()]


@rows("key", KEYS)
def test_a_key_is_on_the_page(key):
    assert f"`{key}`" in PAGE


def test_the_example_runs(tmp_path):
    """Its models are the flu's, under the names that it has for columns."""
    (tmp_path / "models").mkdir()
    (tmp_path / "tables").mkdir()
    loans = PMML.replace('"flu"', '"repaid"').replace('"sex"', '"town"')
    ill = PMML.replace('"flu"', '"ill"')
    for name, text in (("loan", loans), ("flu-1", ill), ("flu-2", ill), ("cold", ill)):
        (tmp_path / "models" / f"{name}.pmml").write_text(text)
    rows = [f"{age},{sex},{flu}" for age, sex, flu, times in GROUPS for _ in range(times)]
    for name, header in (("loans", "age,town,repaid"), ("patients", "age,sex,ill")):
        (tmp_path / "tables" / f"{name}.csv").write_text("\n".join([header, *rows, ""]))
    clause = CLAUSE.format(name="p", measure="k_anonymity", rule="at_least", limit=5)
    (tmp_path / "policy.toml").write_text(clause)
    (tmp_path / "treewarden-waivers.toml").write_text("")
    path = tmp_path / "treewarden.toml"
    path.write_text(EXAMPLE, encoding="utf-8")
    found = {entry.name: entry for entry in gate(read_configuration(path)).gate.entries}
    assert list(found) == ["loan", "models/cold.pmml", "models/flu-1.pmml", "models/flu-2.pmml"]
    assert found["loan"].outcome == "PASS"
    assert "NO AUDIT" not in {entry.outcome for entry in found.values()}


def test_the_example_of_the_how_to_page_is_understood(tmp_path):
    path = tmp_path / "treewarden.toml"
    for text in HOW_TO:
        path.write_text(text, encoding="utf-8")
        assert read_configuration(path).said.models
