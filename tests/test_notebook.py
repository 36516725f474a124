"""The notebook of the documentation runs, and its outputs are what it gives."""

import asyncio
import os
import sys
from concurrent.futures import ThreadPoolExecutor

import nbformat
import pytest
from nbclient import NotebookClient

from tests.kit import places

NOTEBOOK = places.ROOT / "docs" / "notebook.ipynb"
HERE = {**os.environ, "PYTHONPATH": str(places.ROOT)}
"""The kernel imports what is tested, wherever it is started."""


def told(notebook):
    """Return what each cell shows as text, the cells with code only."""
    return [
        [each.get("text") or each["data"]["text/plain"] for each in cell["outputs"]]
        for cell in notebook["cells"]
        if cell["cell_type"] == "code"
    ]


@pytest.mark.studies
@pytest.mark.filterwarnings("default")  # of the kernel's client, which is not ours
def test_the_notebook_gives_the_outputs_that_stand_in_it(tmp_path):
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    where = {"metadata": {"path": str(tmp_path)}}
    client = NotebookClient(notebook, timeout=600, resources=where, record_timing=False)
    with ThreadPoolExecutor(
        1
    ) as own:  # a browser's tests leave an event loop running in this thread
        own.submit(asyncio.run, client.async_execute(env=HERE)).result()
    assert told(notebook) == told(nbformat.read(NOTEBOOK, as_version=4))
    assert {each.name for each in tmp_path.iterdir()} == {
        "audit.json",
        "repair.html",
        "tree-repaired.pmml",
    }


def test_the_notebook_was_run_whole_and_shows_cards():
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    shown = [each["data"].get("text/html", "") for each in code[1]["outputs"]]
    assert any("FAIL" in html and "<iframe" in html for html in shown)
    assert not any("<script" in html for html in shown)


if __name__ == "__main__":  # write the outputs anew
    found = nbformat.read(NOTEBOOK, as_version=4)
    folder = {"metadata": {"path": sys.argv[1]}}
    NotebookClient(found, timeout=600, resources=folder, record_timing=False).execute(env=HERE)
    nbformat.write(found, NOTEBOOK)
