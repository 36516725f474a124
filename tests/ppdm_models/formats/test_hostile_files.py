"""Reading a hostile file opens no other file and no socket."""

import subprocess
import sys

import pytest

from tests.kit import places

BAD = places.DATA / "formats" / "pmml" / "bad"
HOSTILE = ["external_entity.pmml", "parameter_entity.pmml", "billion_laughs.pmml", "entity.pmml"]

WATCHED = """
import sys
from pathlib import Path
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import formats, load_tree
from tests.kit import places

list(formats().values())
data = Path(sys.argv[1]).read_bytes()
opened = []
watched = ("open", "socket.", "subprocess.", "urllib.", "os.system")
sys.addaudithook(lambda event, arguments: opened.append((event, arguments)) if event.startswith(watched) else None)
try:
    load_tree(data, "hostile.pmml")
    said = "read"
except TreeFormatError as error:
    said = "refused"
print(said, opened)
"""


def reading(path):
    run = subprocess.run(
        [sys.executable, "-c", WATCHED, str(path)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return run.stdout.strip()


@pytest.mark.parametrize("name", HOSTILE)
def test_entities_are_refused_and_nothing_else_is_opened(name):
    assert reading(BAD / name) == "refused []"


@pytest.mark.parametrize(
    "prolog",
    [
        '<!DOCTYPE PMML PUBLIC "pmml20.dtd" "http://localhost:9/pmml20.dtd">',
        '<!DOCTYPE PMML SYSTEM "file:///etc/hostname">',
        "<!DOCTYPE PMML [<!ELEMENT PMML ANY>]>",
        '<!DOCTYPE PMML [<!ENTITY unused "me">]>',
        '<?xml-stylesheet href="http://localhost:9/x.xsl" type="text/xsl"?>',
    ],
)
def test_a_document_type_is_allowed_and_never_fetched(prolog, tmp_path):
    good = (BAD.parent / "good" / "golf.pmml").read_text(encoding="utf-8")
    path = tmp_path / "doctype.pmml"
    path.write_text(good.replace("<PMML", f"{prolog}<PMML", 1), encoding="utf-8")
    assert reading(path) == "read []"


def test_an_xinclude_is_not_followed(tmp_path):
    good = (BAD.parent / "good" / "golf.pmml").read_text(encoding="utf-8")
    include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/hostname" parse="text"/>'
    path = tmp_path / "include.pmml"
    path.write_text(good.replace("<Header/>", f"<Header>{include}</Header>"), encoding="utf-8")
    assert reading(path) == "read []"
