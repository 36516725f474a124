"""Runs the commands that a page shows, in order and in one folder, and holds what they print against the page.

``python -m docs._ext.console docs/tutorial.md`` writes what they print now into the page. Understood are blocks marked
``console``, whose lines after ``$`` are commands (``treewarden``, ``python FILE``, ``mkdir FOLDER``, ``cd FOLDER``,
``cat FILE``, ``git``, ``echo $?``, each perhaps ``2>&1`` or ``| head -N``), and blocks of code with a caption, which is
the file that they are. A page with ``<!-- continues PAGE.md -->`` runs in the folder in which that page was run before.
"""

from __future__ import annotations

import contextlib
import os
import re
import runpy
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from click.testing import CliRunner

from treewarden.cli import cli

BLOCK = re.compile(
    r"```\{code-block\} \w+\n:caption: (?P<file>[\w./-]+)\n+(?P<text>.*?)```|```console\n(?P<shown>.*?)```",
    re.DOTALL,
)
EXPIRES = re.compile(r"^expires = (\S+)", re.MULTILINE)
HEAD = re.compile(r"(.*) \| head -(\d+)")
CONTINUES = re.compile(r"<!-- continues (\S+) -->")
DOCS = Path(__file__).resolve().parents[1]


@dataclass
class Session:
    """A folder in which commands run, and what the last one ended with."""

    folder: Path
    exit_code: int = 0

    def run(self, command: str) -> str:
        """Return what a command prints on stdout."""
        piped = HEAD.fullmatch(command)
        if piped:
            lines = self.run(piped[1]).splitlines(keepends=True)
            return "".join(lines[: int(piped[2])])
        shows_errors = command.endswith(" 2>&1")
        name, *words = shlex.split(command.removesuffix(" 2>&1"))
        if name == "echo" and words == ["$?"]:
            return f"{self.exit_code}\n"
        with contextlib.chdir(self.folder):
            if name == "mkdir":
                os.mkdir(words[0])
            elif name == "cd":
                self.folder = self.folder / words[0]
            elif name == "cat":
                return Path(words[0]).read_text("utf-8")
            elif name == "git":
                done = subprocess.run([name, *words], check=True, capture_output=True, text=True)
                return done.stdout
            elif name == "python":
                runpy.run_path(words[0], run_name="__main__")
            elif name == "treewarden":
                outcome = CliRunner().invoke(cli, words)
                self.exit_code = outcome.exit_code
                return outcome.output if shows_errors else outcome.stdout
            else:
                raise ValueError(f"{command}: not a command that pages can run")
        return ""


def replayed(page: str, folder: Path) -> str:
    """Return a page with what its commands print when they are run in this folder.

    The page that it continues is run first.

    A waiver that the page shows is still in force whenever that is: its last day is another one while they run.
    """
    before = CONTINUES.search(page)
    if before is not None:
        replayed((DOCS / before[1]).read_text("utf-8"), folder)
    expires = EXPIRES.search(page)
    if expires is None:
        return _replayed(page, folder)
    last = str(datetime.now(UTC).date() + timedelta(days=90))
    return _replayed(page.replace(expires[1], last), folder).replace(last, expires[1])


def _replayed(page: str, folder: Path) -> str:
    session = Session(folder)

    def told(block: re.Match[str]) -> str:
        if block["file"]:
            (folder / block["file"]).write_text(block["text"], "utf-8")
            return block[0]
        printed = (f"$ {command}\n{session.run(command)}" for command in commands(block["shown"]))
        return "```console\n" + "".join(printed) + "```"

    return BLOCK.sub(told, page)


def commands(shown: str) -> Iterator[str]:
    """Yield the commands of a block."""
    for line in shown.splitlines():
        if line.startswith("$ "):
            yield line[2:]


def main() -> None:
    """Bring the pages that are named up to date."""
    for file in map(Path, sys.argv[1:]):
        with tempfile.TemporaryDirectory() as folder:
            file.write_text(replayed(file.read_text("utf-8"), Path(folder)), "utf-8")


if __name__ == "__main__":
    main()
