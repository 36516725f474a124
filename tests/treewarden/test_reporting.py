"""A renderer is one more file in a folder, and its bytes arrive as they are: on stdout and in files."""

from __future__ import annotations

import subprocess
import sys

import pytest

BYTES = b"\xff\xfe\x00\r\n\x80no text at all"
STRANGE = f'''"""Bytes that are no text, as a picture or an archive has them."""

from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.renderers import Renderer


class Strange(Renderer):
    media_type = "application/octet-stream"
    suffix = "bin"

    def render(self, document):
        return {BYTES!r}


class Lacking(Strange):
    def check(self):
        raise OutputError("strange", "needs what is not installed")


class NoText(Strange):
    is_text = False


RENDERER = Strange()
'''
RUN = """
import sys
from treewarden.reports import renderers
renderers.__path__.append(sys.argv.pop(1))
from treewarden.cli import main
main()
"""


@pytest.fixture
def strange(files):
    """Return a way to run the command with one renderer more, in a process of its own."""
    folder = files.folder / "renderers"
    folder.mkdir()

    def run(*arguments, kind="Strange", code=0):
        source = STRANGE.replace("RENDERER = Strange()", f"RENDERER = {kind}()")
        (folder / "strange.py").write_text(source, encoding="utf-8")
        known = ["audit", files.model, "--data", files.table, "--no-worlds", "-q"]
        words = [folder, *known, "--policy", files.policy("lenient"), *arguments]
        command = [sys.executable, "-c", RUN, *map(str, words), "--format", "strange"]
        done = subprocess.run(command, capture_output=True, check=False)
        assert done.returncode == code, done.stderr
        return done.stderr.decode() if code else done.stdout

    return run


@pytest.mark.processes
def test_bytes_that_are_no_text_go_to_stdout_as_they_are(strange):
    assert strange() == BYTES


@pytest.mark.processes
def test_bytes_that_are_no_text_go_into_a_file_as_they_are(strange, files):
    assert strange("--out", files.folder).startswith(b"PASS")
    assert (files.folder / "audit.bin").read_bytes() == BYTES


@pytest.mark.processes
def test_what_a_form_needs_is_asked_before_any_work(strange):
    said = strange("--knowledge", "not there", kind="Lacking", code=4)
    assert (
        said
        == "no audit was performed: strange: needs what is not installed; for help: treewarden audit --help\n"
    )


@pytest.mark.processes
def test_what_is_no_text_is_not_shown_in_a_terminal(strange, files):
    assert "strange is not text; give it a file" in strange(kind="NoText", code=2)
    assert strange("--out", files.folder, kind="NoText").startswith(b"PASS")
