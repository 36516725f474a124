"""Plain nodes are split into tags without a call for each, and say what the parser would have said of them."""

import sys

import pytest

from tests.kit.rows import rows
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats.common import xml
from treewarden.ppdm_models.formats.pmml import pmml

COUNTS = (
    '<ScoreDistribution value="a" recordCount="{0}"/>'
    '<ScoreDistribution value="b &gt; c" recordCount="{0}"/>\n'
)
SPLIT = (
    '<Node id="{1}" score="a" recordCount="2">\n'
    '<SimplePredicate field="x" operator="lessOrEqual" value="{0}"/>'
    f"{COUNTS.format(1)}</Node>\n"
    '<Node id="{2}" score="b &gt; c" recordCount="{3}">'
    '<SimplePredicate field="x" operator="greaterThan" value="{0}"/>{4}'
)
DEPTH = 80
"""Each split has a leaf on one side and the next split on the other."""
FILE = (
    """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>
<DataField name="x" optype="continuous" dataType="double"/>
<DataField name="y" optype="categorical" dataType="string"><Value value="a"/><Value value="b &gt; c"/></DataField>
</DataDictionary><TreeModel functionName="classification" splitCharacteristic="binarySplit">
<MiningSchema><MiningField name="x"/><MiningField name="y" usageType="target"/></MiningSchema>
"""
    + f'<Node id="0" score="a" recordCount="{2 * DEPTH + 2}"><True/>{COUNTS.format(DEPTH + 1)}'
    + "".join(
        SPLIT.format(at, 2 * at + 1, 2 * at + 2, 2 * (DEPTH - at), COUNTS.format(DEPTH - at))
        for at in range(DEPTH)
    )
    + "</Node>" * (DEPTH + 1)
    + "</TreeModel></PMML>"
)
ROOT = FILE.index("<Node")
BEHIND_ROOT = FILE.index("<", ROOT + 1)
MIDDLE = FILE.index('<Node id="81"')


def put(place, text):
    """Return the file with a text put in."""
    return FILE[:place] + text + FILE[place:]


FILES = (
    *(FILE, put(BEHIND_ROOT, " Ann "), put(MIDDLE, " Ann "), put(MIDDLE, "<!-- Ann -->")),
    put(MIDDLE, "<!-- </TreeModel><Node>\n<True/><Node/></Node></TreeModel> -->"),
    *(put(MIDDLE, "<![CDATA[<Node>]]>"), put(MIDDLE, "<?go <Node> ?>"), put(MIDDLE, "\r\n\r")),
    *(put(ROOT, "<!-- <Node> -->"), put(ROOT, "<!-- <Node><True/></Node> -->\n")),
    *(put(MIDDLE + 5, ' odd="Ann"'), put(MIDDLE + 5, ' xmlns="http://example.org/Ann"')),
    *(put(MIDDLE + 5, ' id="7"'), put(MIDDLE + 5, ' defaultChild="Ann"'), put(MIDDLE + 5, "\r\n ")),
    *(put(MIDDLE, "<True></True>"), put(MIDDLE, "<Node/>"), put(MIDDLE, "</Node>")),
    *(put(MIDDLE, '<ScoreDistribution value="Ann" recordCount="0"/>'), put(MIDDLE, "<Extension/>")),
    put(MIDDLE, '<CompoundPredicate booleanOperator="surrogate"><True/></CompoundPredicate>'),
    put(MIDDLE, "<MiningSchema/><Node><True/></Node>"),
    put(FILE.index("<PMML"), '<!DOCTYPE PMML [<!ATTLIST ScoreDistribution confidence CDATA "5">]>'),
    put(FILE.index("<PMML"), "<!DOCTYPE PMML [<!-- <Node --><!ENTITY gt '>'>]>"),
    *(FILE.replace(">", ">\r\n"), FILE.replace("\n", "\r"), FILE.replace("\n", "\n\n")),
    *(FILE.replace("b &gt; c", "b > c"), FILE.replace("b &gt; c", "b &#62; c")),
    *(FILE.replace("b &gt; c", "&lt;&gt;&quot;&apos;&amp;gt;"), FILE.replace("b &gt; c", "b\tc")),
    *(FILE.replace("b &gt; c", "&no; c"), FILE.replace("b &gt; c", "b & c")),
    *(FILE.replace("b &gt; c", "b \x01 c"), FILE.replace("b &gt; c", "bø")),
    *(FILE.replace("UTF-8", "ISO-8859-1"), FILE.replace("UTF-8", "utf-7"), FILE[: MIDDLE + 30]),
    FILE.replace("UTF-8", "ISO-8859-1").replace("b &gt; c", "bø"),
    FILE.replace("classification", "regression"),
    *(FILE.replace('value="', "value='").replace('"/>', "'/>"), FILE.replace("Node", "p:Node")),
)


def told(data, *, splits, block):
    """Return what is read, or why nothing is; ``splits`` says whether plain tags are split."""
    kept = xml.NODE_TAG, xml.BLOCK
    xml.NODE_TAG, xml.BLOCK = kept[0] if splits else b"\0", block
    try:
        return pmml._open(data, "x.pmml")
    except TreeFormatError as error:
        return str(error)
    finally:
        xml.NODE_TAG, xml.BLOCK = kept


@rows("text", FILES)
@pytest.mark.parametrize("block", [1 << 20, 300])
def test_tags_that_are_split_say_what_the_parser_says(text, block):
    data = text.encode("iso-8859-1" if "ISO-8859-1" in text else "utf-8")
    assert told(data, splits=True, block=block) == told(data, splits=False, block=block)


@pytest.mark.parametrize(
    ("limit", "most"), [("XML_DEPTH", DEPTH), ("XML_DEPTH", DEPTH + 6), ("XML_ELEMENTS", 900)]
)
def test_tags_that_are_split_count_for_the_limits(limit, most, monkeypatch):
    monkeypatch.setattr(limits, limit, most)
    data = FILE.encode()
    found = [told(data, splits=splits, block=2_000) for splits in (True, False)]
    assert found[0] == found[1]
    assert isinstance(found[0], str) is (most != DEPTH + 6)


def test_a_plain_tree_is_read_without_a_call_for_each_element():
    calls = []

    def note(frame, event, argument):
        if event == "call" and frame.f_code.co_filename == xml.__file__:
            calls.append(frame.f_code.co_name)

    sys.setprofile(note)
    try:
        pmml._open(FILE.encode(), "x.pmml")
    finally:
        sys.setprofile(None)
    assert FILE.count("<") > 800
    assert calls.count("start") + calls.count("end") < 50
