"""Commands that the documentation shows can be given as they stand."""

from __future__ import annotations

import re
import shlex

import click

from tests.docs import pages
from tests.kit.rows import rows
from treewarden.cli import cli

COMMAND = re.compile(r"^\s*(?:\$ |- |\.venv/bin/)?treewarden +([a-z]+\b[^\n|]*)", re.MULTILINE)
SHOWN = {
    (pages.name(page), line)
    for page in pages.WRITTEN
    for line in COMMAND.findall(pages.code(page.read_text("utf-8")))
}


def command_of(words):
    """Return the command that words begin with, and the words left: a group is followed into its own."""
    command, left = cli, list(words)
    while isinstance(command, click.Group) and left and not left[0].startswith("-"):
        command = command.get_command(click.Context(command), left.pop(0))
        assert command is not None, words
    return command, left


def options(command):
    every = [each for each in command.params if isinstance(each, click.Option)]
    known = {text: each for each in every for text in (*each.opts, *each.secondary_opts)}
    return known | dict.fromkeys(("-h", "--help"))


def test_commands_are_found_in_blocks_and_in_sentences():
    named = {page for page, _ in SHOWN}
    assert {"README.md", "docs/tutorial.md", "docs/gate.md", "docs/commands.md"} <= named


@rows("page", sorted({page for page, _ in SHOWN}))
def test_a_command_and_its_options_exist(page):
    for line in sorted(line for other, line in SHOWN if other == page):
        command, words = command_of(shlex.split(line, comments=True))
        known = options(command)
        for place, word in enumerate(words):
            if word.startswith("-") and word != "-":
                assert word.split("=")[0] in known, line
                kind = getattr(known[word.split("=")[0]], "type", None)
                if isinstance(kind, click.Choice):
                    assert words[place + 1].rstrip(",") in {*kind.choices}, line
