"""The way JSON is written holds nothing: blanks, digits and escapes as programs choose them are known, others told."""

import json

import pytest

from tests.kit import places
from tests.kit.rows import rows
from treewarden.ppdm_models.formats.common.json import opens_json
from treewarden.ppdm_models.formats.common.json_layout import odd_layout

GOOD = places.ROOT / "tests" / "data" / "formats"
DOCUMENT = {
    "trees": [{"split": 0.5, "kids": [1, 2]}, {"split": -1e-07, "kids": []}],
    "names": ["a/b", "Zoë"],
    "rows": [[1, 2.5], [3, 0.1 + 0.2]],
}
HAND_WRITTEN = {"treewarden_json/good/golf.json"}


@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
@pytest.mark.parametrize("indent", [None, 1, 2, 4, "\t"])
@pytest.mark.parametrize("is_ascii", [True, False])
def test_what_a_program_writes_is_plain(separators, indent, is_ascii):
    text = json.dumps(DOCUMENT, separators=separators, indent=indent, ensure_ascii=is_ascii)
    for data in (text, text + "\n", text.replace("/", "\\/"), text.replace("\n", "\r\n")):
        assert odd_layout(data.encode()) == ""


def test_the_files_of_tools_are_plain():
    odd = [
        str(path.relative_to(GOOD))
        for path in sorted(GOOD.glob("*/good/*[!j]"))
        if opens_json(data := path.read_bytes()) in (b"{", b"[") and odd_layout(data)
    ]
    assert set(odd) <= HAND_WRITTEN


PLAIN = json.dumps(DOCUMENT, ensure_ascii=False)
LINES = json.dumps(DOCUMENT, indent=2)


@rows(
    "text",
    [
        PLAIN.replace(": 0.5", ":  0.5"),
        PLAIN.replace(": 0.5", ":\t0.5"),
        PLAIN.replace(": 0.5", ":0.5"),
        PLAIN.replace(": 0.5", ": 0.50"),
        PLAIN.replace(": 0.5", ": 5e-1").replace("1e-07", "1E-07"),
        PLAIN.replace("0.30000000000000004", "0.30000000000000004441"),
        PLAIN.replace("0.30000000000000004", "0.30000000000000006"),
        PLAIN.replace("0.30000000000000004", "0.300000000000000041"),
        PLAIN.replace('"rows"', '"\\u0072ows"'),
        PLAIN.replace("Zoë", "Zo\\u00eb").replace("names", "näme"),
        PLAIN + "  ",
        PLAIN + "\n\n",
        "  " + PLAIN,
        LINES.replace('  "names"', '   "names"'),
        LINES.replace('  "names"', '\n  "names"'),
        LINES.replace('  "names"', '\t"names"'),
        LINES.replace("\n", "\r\n", 3),
    ],
)
def test_room_for_a_message_is_told(text):
    assert json.loads(text)
    assert odd_layout(text.encode())
