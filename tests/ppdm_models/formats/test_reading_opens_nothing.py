"""Reading bytes opens no file and no socket, starts nothing, and unpickles nothing, whatever the format."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import formats

FIXTURES = places.DATA / "formats"

WATCHED = """
import json, sys, warnings
from pathlib import Path
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import open_model

warnings.simplefilter("ignore")
FORBIDDEN = ("open", "socket.", "subprocess.", "urllib.", "os.system", "os.exec", "pickle.", "ctypes.dlopen", "shutil.")
files = [(path, path.read_bytes()) for path in sorted(Path(sys.argv[1]).rglob("*")) if path.is_file()]
seen = {}
watching = []

def hook(event, arguments):
    if watching and event.startswith(FORBIDDEN):
        seen.setdefault(watching[-1], []).append(event)

def read(path, data):
    try:
        open_model(data, path.name)
    except TreeFormatError:
        return

for path, data in files:
    read(path, data)  # libraries are imported when they are first needed
sys.addaudithook(hook)
for path, data in files:
    watching.append(str(path))
    read(path, data)
    watching.pop()
watching.append("this test")
open("/dev/null").close()
watching.pop()
print(json.dumps({"files": [str(path) for path, _ in files], "seen": seen}))
"""


@pytest.fixture(scope="module")
def told():
    """What one process that reads the files of all formats says of each."""
    run = subprocess.run(
        [sys.executable, "-c", WATCHED, str(FIXTURES)],
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
        cwd=places.ROOT,
    )
    return json.loads(run.stdout)


@pytest.mark.processes
@pytest.mark.parametrize("name", sorted(formats()))
def test_reading_opens_no_file_and_no_socket(name, told):
    folder = FIXTURES / name
    assert [path for path in told["files"] if folder in Path(path).parents]
    assert {path for path in told["seen"] if folder in Path(path).parents} == set()
    assert told["seen"]["this test"] == ["open"]
