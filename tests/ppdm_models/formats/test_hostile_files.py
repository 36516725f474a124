"""Reading a hostile file opens no other file and no socket."""

import subprocess
import sys

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


def readings(paths):
    """Return, of each file, whether it was read and what else was opened meanwhile, all in a process of their own."""
    run = subprocess.run(
        [sys.executable, "-c", WATCHED, *map(str, paths)],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(zip(paths, run.stdout.splitlines(), strict=True))


def test_entities_are_refused_and_nothing_else_is_opened():
    paths = [BAD / name for name in HOSTILE]
    assert readings(paths) == dict.fromkeys(paths, "refused []")


def test_a_document_type_is_never_fetched_and_an_inclusion_not_followed(tmp_path):
    good = (BAD.parent / "good" / "golf.pmml").read_text(encoding="utf-8")
    texts = [good.replace("<PMML", f"{prolog}<PMML", 1) for prolog in PROLOGS]
    texts.append(good.replace("<Header/>", f"<Header>{INCLUDE}</Header>"))
    paths = [tmp_path / f"{number}.pmml" for number in range(len(texts))]
    for path, text in zip(paths, texts, strict=True):
        path.write_text(text, encoding="utf-8")
    assert readings(paths) == dict.fromkeys(paths, "read []")
