"""The pages on policies show packs that are read, and the table names every key."""

import re
import tomllib

import pytest

from tests.kit import places
from tests.kit.schemas import validator_of
from treewarden.policies.clause import Clause, Waivers
from treewarden.policies.pack import json_schema, read_pack

PAGE = (places.ROOT / "docs" / "policy-file.md").read_text(encoding="utf-8")
HOW_TO = (places.ROOT / "docs" / "policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```toml\n(.*?)```", HOW_TO + PAGE, re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: tomllib.loads(block)["name"])
def test_a_pack_on_the_page_is_read(block):
    assert read_pack(block.encode(), "page.toml").clauses
    validator_of(json_schema()).validate(tomllib.loads(block))


def test_the_page_has_an_example_of_each_part_of_the_grammar():
    shown = "\n".join(BLOCKS)
    for key in ("all", "any", "not", "scope", "under", "when", "extends", "drop", "loosen"):
        assert re.search(rf"\b{key} = ", shown)


def test_the_table_of_keys_names_every_key():
    told = set(re.findall(r"`([a-z_]+)`", "".join(re.findall(r"^\| .*? \|", PAGE, re.MULTILINE))))
    keys = {
        field.alias or name
        for model in (Clause, Waivers)
        for name, field in model.model_fields.items()
    }
    assert keys | {"name", "version", "title", "description", "extends", "drop"} <= told
