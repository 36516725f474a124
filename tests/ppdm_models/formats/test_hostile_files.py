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
texts = [Path(name).read_bytes() for name in sys.argv[1:]]
opened = []
watched = ("open", "socket.", "subprocess.", "urllib.", "os.system")
sys.addaudithook(lambda event, arguments: opened.append((event, arguments)) if event.startswith(watched) else None)
found = []
for text in texts:
    try:
        load_tree(text, "hostile.pmml")
        found.append(("read", opened[:]))
    except TreeFormatError as error:
        found.append(("refused", opened[:]))
    opened.clear()
print(*(f"{said} {opened}" for said, opened in found), sep="\\n")
"""
PROLOGS = [
    '<!DOCTYPE PMML PUBLIC "pmml20.dtd" "http://localhost:9/pmml20.dtd">',
    '<!DOCTYPE PMML SYSTEM "file:///etc/hostname">',
    "<!DOCTYPE PMML [<!ELEMENT PMML ANY>]>",
    '<!DOCTYPE PMML [<!ENTITY unused "me">]>',
    '<?xml-stylesheet href="http://localhost:9/x.xsl" type="text/xsl"?>',
]
INCLUDE = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/hostname" parse="text"/>'


@pytest.fixture(scope="module")
def readings(tmp_path_factory):
    """By name of each file, whether it was read and what else was opened meanwhile, in a process of their own."""
    folder = tmp_path_factory.mktemp("hostile")
    good = (BAD.parent / "good" / "golf.pmml").read_text(encoding="utf-8")
    texts = {prolog: good.replace("<PMML", f"{prolog}<PMML", 1) for prolog in PROLOGS}
    texts[INCLUDE] = good.replace("<Header/>", f"<Header>{INCLUDE}</Header>")
    files = {name: BAD / name for name in HOSTILE}
    for number, (name, text) in enumerate(texts.items()):
        files[name] = folder / f"{number}.pmml"
        files[name].write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, files.values())],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(zip(files, run.stdout.splitlines(), strict=True))


def test_entities_are_refused_and_nothing_else_is_opened(readings):
    assert {name: readings[name] for name in HOSTILE} == dict.fromkeys(HOSTILE, "refused []")


def test_a_document_type_is_never_fetched_and_an_inclusion_not_followed(readings):
    names = [*PROLOGS, INCLUDE]
    assert {name: readings[name] for name in names} == dict.fromkeys(names, "read []")
