"""docs/formats.md shows what the program prints."""

from __future__ import annotations

import re

import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.policies.pack import read_pack

TOP = places.ROOT
PAGE = (TOP / "docs" / "formats.md").read_text(encoding="utf-8")
SHOWN = re.findall(r"```console\n\$ treewarden inspect (\S+)\n(.*?)```", PAGE, re.DOTALL)
CORPUS = TOP.parent / "shared" / "models"


@pytest.mark.parametrize(("file", "output"), SHOWN, ids=[file for file, _ in SHOWN])
def test_the_output_shown_is_what_inspect_prints(file, output, monkeypatch):
    if not (CORPUS / file).exists():
        pytest.skip("the corpus of published models is not here")
    monkeypatch.chdir(CORPUS)
    assert run_command("inspect", file).stdout == output


def test_the_clauses_shown_are_a_policy():
    clauses = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    text = 'name = "shown"\nversion = "1"\ntitle = "shown"\n' + "".join(clauses)
    assert len(read_pack(text.encode(), "shown").clauses) == 2
