"""What the tutorials show is what the commands print, in the order in which a reader types them."""

from __future__ import annotations

import pytest

from docs._ext import console
from docs._ext.console import Session, commands, replayed
from tests.docs import pages
from tests.kit.tiers import cases


@pytest.mark.parametrize(
    "name",
    cases(
        ["policy-review", "tutorial", "gate-tutorial", "neighbour", "policy-tests", "gate-waiver"],
        quick=1,
    ),
)
def test_a_page_shows_what_is_printed(tmp_path, name):
    pytest.importorskip("sklearn", reason="the demo extra is not installed")
    pytest.importorskip("statsmodels", reason="the demo extra is not installed")
    page = (pages.DOCS / f"{name}.md").read_text("utf-8")
    assert replayed(page, tmp_path) == page


def test_a_page_goes_on_in_the_folder_of_the_page_before(tmp_path, monkeypatch):
    pages_folder = tmp_path / "docs"
    pages_folder.mkdir()
    (pages_folder / "first.md").write_text("```{code-block} text\n:caption: a.csv\n\nx,y\n```")
    monkeypatch.setattr(console, "DOCS", pages_folder)
    page = "<!-- continues first.md -->\n```console\n$ cat a.csv\n```"
    assert "$ cat a.csv\nx,y\n" in replayed(page, tmp_path)


def test_a_session_changes_its_folder(tmp_path):
    session = Session(tmp_path)
    session.run("mkdir inner")
    session.run("cd inner")
    assert session.folder == tmp_path / "inner"


def test_output_that_is_out_of_date_is_replaced(tmp_path):
    page = "```console\n$ treewarden inspect missing.pmml | head -1\nold\n$ echo $?\n```"
    shown = replayed(page, tmp_path)
    assert (
        shown
        == "```console\n$ treewarden inspect missing.pmml | head -1\nmissing.pmml\n$ echo $?\n4\n```"
    )


def test_a_captioned_block_becomes_its_file(tmp_path):
    replayed("```{code-block} text\n:caption: a.csv\n\nx,y\n```", tmp_path)
    assert (tmp_path / "a.csv").read_text() == "x,y\n"


def test_commands_are_the_lines_with_a_prompt():
    assert list(commands("$ echo $?\n0\n$ mkdir a\n")) == ["echo $?", "mkdir a"]


def test_a_command_that_pages_cannot_run_is_refused(tmp_path):
    with pytest.raises(ValueError, match="rm -r x: not a command"):
        Session(tmp_path).run("rm -r x")
