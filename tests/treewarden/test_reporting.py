"""A renderer is one more file in a folder, and its bytes arrive as they are: on stdout and in files."""

from __future__ import annotations

import subprocess
import sys

import pytest

BYTES = b"\xff\xfe\x00\r\n\x80no text at all"
STRANGE = f'''"""Bytes that are no text, as a picture or an archive has them."""

from reports.renderers import Renderer


class Strange(Renderer):
    media_type = "application/octet-stream"
    suffix = "bin"

    def render(self, document):
        return {BYTES!r}


RENDERER = Strange()
'''
RUN = """
import sys
import reports.renderers
reports.renderers.__path__.append(sys.argv.pop(1))
from treewarden.cli import main
main()
"""


@pytest.fixture
def strange(files):
    """Return a way to run the command with one renderer more, in a process of its own."""
    folder = files.folder / "renderers"
    folder.mkdir()
    (folder / "strange.py").write_text(STRANGE, encoding="utf-8")

    def run(*arguments):
        known = ["audit", files.model, "--data", files.table, "--no-worlds", "-q"]
        words = [folder, *known, "--policy", files.policy("lenient"), *arguments]
        command = [sys.executable, "-c", RUN, *map(str, words), "--format", "strange"]
        return subprocess.run(command, capture_output=True, check=True).stdout

    return run


def test_bytes_that_are_no_text_go_to_stdout_as_they_are(strange):
    assert strange() == BYTES


def test_bytes_that_are_no_text_go_into_a_file_as_they_are(strange, files):
    assert strange("--out", files.folder).startswith(b"PASS")
    assert (files.folder / "audit.bin").read_bytes() == BYTES
