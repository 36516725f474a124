"""What holds of every renderer, of those there are and those to come."""

import hashlib
import os
import subprocess
import sys

import pytest

from tests.kit.rendering import rendered
from tests.kit.tiers import cases
from tests.reports.conftest import ALL
from tests.reports.forms import TEXTS
from treewarden.ppdm_models.errors import OutputError
from treewarden.reports.renderers import Renderer, names, renderer

RENDER = """
import hashlib, sys
from pathlib import Path
from treewarden.reports.document.document import Document
from treewarden.reports.renderers import names, renderer
document = Document.model_validate_json(Path(sys.argv[1]).read_bytes())
for name in names():
    print(name, hashlib.sha256(renderer(name).render(document)).hexdigest())
"""


def run_script(code, *arguments, **environment):
    done = subprocess.run(
        [sys.executable, "-c", code, *arguments],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, **environment},
    )
    return done.stdout


@pytest.mark.parametrize("name", names())
def test_a_renderer_is_found_by_its_name(name):
    assert isinstance(renderer(name), Renderer)


@pytest.mark.parametrize("name", names())
@pytest.mark.parametrize("of", cases(ALL, quick=("several_trees", "several_adversaries", "nasty")))
def test_every_document_is_rendered_to_the_same_bytes_each_time(name, of, request):
    document = request.getfixturevalue(of)
    assert rendered(name, document) == renderer(name).render(document)


@pytest.mark.parametrize("name", TEXTS)
def test_text_is_utf_8_and_ends_its_last_line(name, any_document):
    assert rendered(name, any_document).decode("utf-8").endswith("\n")


@pytest.mark.processes
def test_another_process_renders_the_same_bytes_in_every_form(document, tmp_path):
    file = tmp_path / "document.json"
    file.write_text(document.model_dump_json(by_alias=True), encoding="utf-8")
    other = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
    assert run_script(RENDER, str(file), PYTHONHASHSEED=other).splitlines() == [
        f"{name} {hashlib.sha256(rendered(name, document)).hexdigest()}" for name in names()
    ]


def test_an_unknown_renderer_is_refused_with_the_choices():
    with pytest.raises(OutputError, match=f"no format 'word'; have {', '.join(names())}$"):
        renderer("word")


def test_text_and_json_do_not_load_the_plotting_library():
    code = "import sys; from treewarden.reports.renderers import renderer; renderer('text'); renderer('json'); "
    assert run_script(code + "print('matplotlib' in sys.modules)") == "False\n"
