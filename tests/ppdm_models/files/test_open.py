"""A model file is opened once: its model, its leaks, and what can be changed in it come from one parse."""

import sys
from xml.parsers import expat

import pytest

from tests.kit import places
from tests.kit.rows import rows
from tests.kit.tiers import few
from treewarden.ppdm_models import limits
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.files.load import load_model, open_model, read_model, writers
from treewarden.ppdm_models.formats import Rewritable, Strippable
from treewarden.ppdm_models.formats.common import json, xml
from treewarden.ppdm_models.formats.common.xml_edit import XmlDocument
from treewarden.ppdm_models.formats.lightgbm import _lines
from treewarden.ppdm_models.formats.pmml import pmml
from treewarden.ppdm_models.formats.xgboost import _ubjson
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.side_channels import LeakKind

DATA = places.DATA / "formats"
UNNAMED = (
    *(
        "catboost_json/good/depthwise.json",
        "eland_json/good/tree.json",
        "graphviz_dot/good/j48.dot",
    ),
    *(
        "graphviz_dot/good/iris.dot",
        "h2o_json/good/printmojo.json",
        "lightgbm_text/good/loan.model",
    ),
    *("ltr_text/good/two_trees.ltr", "ranklib/good/forest.ranklib", "solr_ltr/good/ranker.json"),
    *("rpart_text/good/plain.txt", "sklearn_json/good/iris.json", "sklearn_text/good/iris.txt"),
    *("skops_file/good/iris.skops", "spark_rows/good/classes.jsonl", "spark_text/good/tree.debug"),
    *("weka_text/good/j48.txt", "xgboost_model/good/loan.json", "r_forest_json/good/ranger.json"),
)
"""Files of which the format does not say what the predicted column is called."""


def opened(name):
    return open_model((DATA / name).read_bytes(), name)


def calls_of(function, work):
    """Return how often a function, of Python or of C, is called while some work is done."""
    calls, code = [], getattr(function, "__code__", None)

    def note(frame, event, argument):
        is_ours = event == "call" and frame.f_code is code
        if is_ours or (event == "c_call" and argument is function):
            calls.append(event)

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return len(calls)


@pytest.mark.parametrize(
    ("name", "parser"),
    [
        ("lightgbm_dump/good/loan.json", json.read_json),
        ("lightgbm_text/good/loan.model", _lines.lines_of),
        ("pmml/good/golf.pmml", xml.parse),
        ("pmml/good/golf.pmml", expat.ParserCreate),
        ("pmml/good/surrogate.pmml", expat.ParserCreate),
        ("skops_file/good/iris.skops", limits.entries),
        ("treewarden_json/good/golf.json", json.read_json),
        ("xgboost_dump/good/loan.json", json.read_json),
        ("xgboost_model/good/loan.json", json.read_json),
        ("xgboost_model/good/loan.ubj", _ubjson.read_ubjson),
    ],
)
def test_a_file_is_parsed_once_for_its_model_and_its_leaks(name, parser):
    assert calls_of(parser, lambda: opened(name)) == 1


PIECES = (
    *(" Ann ", "&#65;", "<![CDATA[Ann]]>", "\n\n", "<!-- Ann 3 -->", "<?do it?>", "<foo/>"),
    *("<True/>", '<Node id="Ann"/>', "<Node><True/>Ann<Node/></Node>", "<True><True/></True>"),
    *("<Array>3 Ann</Array>", "<Timestamp>Ann</Timestamp>", '<Extension name="x" value="Ann"/>'),
    '<ScoreDistribution value="Ann" recordCount="0"><b>Ann</b></ScoreDistribution>',
    '<CompoundPredicate booleanOperator="surrogate"><True/>Ann<False/></CompoundPredicate>',
    '<CompoundPredicate booleanOperator="and"><True/><Node/></CompoundPredicate>',
    '<SimplePredicate field="humidity" operator="isMissing" value="Ann"/>',
    '<SimplePredicate field="humidity" operator="equal" value="1.00000000000000000001"/>',
    '<Node xmlns="http://www.dmg.org/PMML-4_1" id="9" score="Ann"/>',
    '<Node xmlns:q="http://example.org/Ann"/>',
    "<MiningBuildTask><Node>/home/ann/x</Node></MiningBuildTask>",
    "<Partition><PartitionFieldStats/></Partition>",
)


@pytest.mark.in_both
@rows("piece", PIECES)
@pytest.mark.parametrize("name", ["golf", "surrogate", "two_tree_models"])
def test_leaks_found_while_a_model_is_read_are_those_of_a_pass_of_their_own(name, piece):
    """A model that is read with the leaks is the one that is read alone, and neither changes what refuses it."""
    data = (DATA / f"pmml/good/{name}.pmml").read_bytes()
    ends = [place + 1 for place, byte in enumerate(data) if byte == ord(">")]
    behind_root = data.index(b">", data.index(b"<Node")) + 1
    for end in [behind_root, *few(ends, 6, 25)]:
        odd = data[:end] + piece.encode() + data[end:]
        together, alone = told(pmml._open, odd), told(pmml._read, odd)
        if isinstance(alone, str):
            assert together == alone
            continue
        model, leaks = together
        assert model == alone
        assert leaks == pmml._leaks_of(XmlDocument(odd, "x", whole=False))


def told(work, data):
    """Return what is read, or why nothing is."""
    try:
        return work(data, "x")
    except TreeFormatError as error:
        return str(error)


def test_a_file_of_lines_is_parsed_once_for_all_its_changes():
    file = opened("lightgbm_text/good/loan.model")
    assert isinstance(file.opened, Rewritable)
    first = file.opened.rewrite(file.model)
    assert calls_of(_lines.lines_of, lambda: file.opened.rewrite(file.model)) == 0
    assert file.opened.rewrite(file.model) == first


def test_a_change_leaves_the_opened_file_as_it_was():
    file = opened("lightgbm_text/good/loan.model")
    assert isinstance(file.opened, Strippable)
    whole = file.opened.rewrite(file.model)
    assert file.opened.without(frozenset(LeakKind)) != whole
    assert file.opened.rewrite(file.model) == whole


def test_an_opened_file_says_what_its_reader_may_have_passed_over():
    (rest,) = opened("ltr_text/good/two_trees.ltr").leaks
    assert rest.is_possible
    assert opened("sklearn_text/good/iris.txt").leaks == ()


@rows("name", UNNAMED)
def test_a_target_that_the_file_does_not_name_has_no_name(name):
    model = read_model(DATA / name)
    assert {model.target, *(tree.target for tree in trees_of(model))} == {""}


@pytest.mark.parametrize("name", writers())
def test_a_tree_without_a_named_target_is_written_and_keeps_its_classes(name):
    tree = read_model(DATA / "sklearn_text/good/iris.txt")
    again = load_model(writers()[name].write(tree), "again")
    assert (again.target, again.classes) == ("", tree.classes)
