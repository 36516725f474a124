"""Commands that the documentation shows can be given as they stand."""

from __future__ import annotations

import re
import shlex

import click
import pytest

from tests.docs import pages
from treewarden.cli import COMMANDS, cli

COMMAND = re.compile(r"^\s*(?:\$ |- |\.venv/bin/)?treewarden +([a-z]+\b[^\n|]*)", re.MULTILINE)
SHOWN = {
    (pages.name(page), line)
    for page in pages.WRITTEN
    for line in COMMAND.findall(pages.code(page.read_text("utf-8")))
}


def options(name, words):
    command = cli.get_command(click.Context(cli), name)
    if isinstance(command, click.Group) and words and words[0].islower():
        command = command.get_command(click.Context(command), words[0])
        assert command is not None
    every = [each for each in command.params if isinstance(each, click.Option)]
    known = {text: each for each in every for text in (*each.opts, *each.secondary_opts)}
    return known | dict.fromkeys(("-h", "--help"))


def test_commands_are_found_in_blocks_and_in_sentences():
    named = {page for page, _ in SHOWN}
    assert {"README.md", "docs/tutorial.md", "docs/gate.md", "docs/commands.md"} <= named


@pytest.mark.parametrize(("page", "line"), sorted(SHOWN))
def test_a_command_and_its_options_exist(page, line):
    name, *words = shlex.split(line, comments=True)
    assert name in COMMANDS
    known = options(name, words)
    for place, word in enumerate(words):
        if word.startswith("-") and word != "-":
            assert word.split("=")[0] in known
            kind = getattr(known[word.split("=")[0]], "type", None)
            if isinstance(kind, click.Choice):
                assert words[place + 1].rstrip(",") in {*kind.choices}
