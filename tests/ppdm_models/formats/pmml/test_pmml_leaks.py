"""What a PMML file gives away beside its trees, and the file without it."""

import pytest

from tests.kit import places
from treewarden.ppdm_models.files.load import formats, load_model, open_model
from treewarden.ppdm_models.tree.side_channels import LeakKind

PMML = formats()["pmml"]
GOLF = (places.DATA / "formats/pmml/good/golf.pmml").read_text("utf-8")

HEADER = "<Header/>"
MODEL = "</TreeModel>"
SCHEMA = "</MiningSchema>"
FIELD = '<DataField name="temperature" optype="continuous" dataType="double"/>'
STATISTICS = '<ModelStats><UnivariateStats field="temperature">{}</UnivariateStats></ModelStats>'

CASES = [
    (LeakKind.AUTHOR, HEADER, '<Header copyright="Jo Doe"/>', "copyright", None),
    (
        LeakKind.AUTHOR,
        HEADER,
        '<Header><Extension name="user" value="jdoe"/></Header>',
        "the user",
        None,
    ),
    (LeakKind.UNKNOWN, HEADER, "<Header><Annotation>Jo</Annotation></Header>", "a note", None),
    (
        LeakKind.AUTHOR,
        HEADER,
        '<Header><Application name="a" version="jo@x.org"/></Header>',
        "mail",
        None,
    ),
    (LeakKind.PATH, HEADER, '<Header><Application name="/home/jo/x"/></Header>', "a path", None),
    (
        LeakKind.IDENTIFIER,
        HEADER,
        '<Header description="id 5b1552bec7736e268f00046c"/>',
        "an identifier",
        None,
    ),
    (LeakKind.TIMESTAMP, HEADER, "<Header><Timestamp>2020</Timestamp></Header>", "when", None),
    (
        LeakKind.OLD_MODEL,
        HEADER,
        "<Header/><!-- <Node><True/></Node> -->",
        "1 nodes of another tree",
        None,
    ),
    (LeakKind.UNKNOWN, HEADER, "<Header/><!-- made for ward 3 -->", "a comment of 17", None),
    (LeakKind.PERSON, HEADER, "<Header/><!-- ask jo@x.org -->", "a comment of", None),
    (
        LeakKind.PERSON,
        HEADER,
        '<Header/><MiningBuildTask><Extension name="a" value="jo@x.org"/></MiningBuildTask>',
        "a mail address",
        None,
    ),
    (
        LeakKind.REPLAY,
        HEADER,
        "<Header/><MiningBuildTask><Extension>DecisionTreeClassifier(random_state=7)</Extension></MiningBuildTask>",
        "the random seed",
        None,
    ),
    (
        LeakKind.EXTREMES,
        FIELD,
        FIELD.replace(
            "/>", '><Interval closure="closedClosed" leftMargin="64" rightMargin="85"/></DataField>'
        ),
        "the range of 'temperature'",
        None,
    ),
    (
        LeakKind.EXTREMES,
        SCHEMA,
        SCHEMA + STATISTICS.format('<NumericInfo minimum="64" maximum="85"/>'),
        "minimum and maximum of 'temperature'",
        None,
    ),
    (
        LeakKind.HISTOGRAM,
        SCHEMA,
        SCHEMA + STATISTICS.format('<DiscrStats><Array type="int">30 12 0 40</Array></DiscrStats>'),
        "3 cells, the smallest of 12",
        12,
    ),
    (
        LeakKind.MEDIANS,
        SCHEMA,
        SCHEMA + STATISTICS.format('<NumericInfo median="72" interQuartileRange="9"/>'),
        "median and interQuartileRange of 'temperature'",
        None,
    ),
    (
        LeakKind.MEDIANS,
        SCHEMA,
        SCHEMA
        + STATISTICS.format(
            '<NumericInfo><Quantile quantileLimit="25" quantileValue="7"/></NumericInfo>'
        ),
        "a quantile of 'temperature'",
        None,
    ),
    (
        LeakKind.AVERAGES,
        SCHEMA,
        SCHEMA + STATISTICS.format('<NumericInfo mean="73" standardDeviation="6"/>'),
        "mean and standardDeviation of 'temperature'",
        None,
    ),
    (
        LeakKind.TARGET_STATISTICS,
        SCHEMA,
        SCHEMA + STATISTICS.format("<Anova/>"),
        "how the target depends on 'temperature'",
        None,
    ),
    (
        LeakKind.TARGET_STATISTICS,
        SCHEMA,
        SCHEMA
        + '<ModelExplanation><PredictiveModelQuality dataUsage="test"><ConfusionMatrix/></PredictiveModelQuality>'
        "</ModelExplanation>",
        "as a ConfusionMatrix",
        None,
    ),
    (
        LeakKind.HISTOGRAM,
        "<True/>",
        '<True/><Partition name="p"><PartitionFieldStats field="temperature"/></Partition>',
        "statistics of the records of one node",
        None,
    ),
    (
        LeakKind.RAW_RECORDS,
        HEADER,
        "<Header/><MiningBuildTask><Extension><InlineTable><row><x>1</x></row></InlineTable></Extension>"
        "</MiningBuildTask>",
        "a table of 1 rows",
        1,
    ),
    (
        LeakKind.RAW_RECORDS,
        "<True/>",
        "<Extension><InlineTable><row><x>1</x></row></InlineTable></Extension><True/>",
        "a table that the model does not use",
        None,
    ),
    (
        LeakKind.SMALL_COUNTS,
        SCHEMA,
        SCHEMA + STATISTICS.format('<Counts totalFreq="14" missingFreq="2"/>'),
        "missingFreq of 'temperature' is 2",
        2,
    ),
    (
        LeakKind.TARGET_STATISTICS,
        SCHEMA,
        SCHEMA
        + '<Targets><Target field="play"><TargetValue value="yes" priorProbability="0.6"/></Target></Targets>',
        "the share of each of 1 classes",
        None,
    ),
    (
        LeakKind.TARGET_STATISTICS,
        SCHEMA,
        SCHEMA
        + '<ModelExplanation><PredictiveModelQuality dataUsage="training" numOfRecords="14"/></ModelExplanation>',
        "made|training with: 14",
        None,
    ),
    (
        LeakKind.RAW_RECORDS,
        MODEL,
        '<ModelVerification recordCount="2"><InlineTable><row><x>1</x></row><row><x>2</x></row></InlineTable>'
        f"</ModelVerification>{MODEL}",
        "2 complete records",
        2,
    ),
]


def ids(case):
    return f"{case[0]}: {case[3]}"


def judged(data):
    """Return what a file gives away, but for what is named only as it is not part of the model."""
    return [leak for leak in PMML.open(data, "x").leaks if "not part of the model" not in leak.what]


@pytest.mark.parametrize("case", CASES, ids=ids)
def test_a_leak_is_found_with_its_line(case):
    kind, place, instead, said, records = case
    text = GOLF.replace(place, instead, 1)
    (leak,) = [leak for leak in judged(text.encode()) if leak.removable]
    line = text[: text.index(instead)].count("\n") + 1
    assert (leak.kind, leak.where, leak.records) == (kind, f"line {line}", records)
    assert any(part in leak.what for part in said.split("|"))


@pytest.mark.parametrize("case", CASES, ids=ids)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "iso-8859-1"])
def test_without_it_the_model_is_the_same_and_nothing_is_left(case, encoding):
    kind, place, instead, _, _ = case
    text = GOLF.replace(place, instead, 1).replace("UTF-8", encoding, 1)
    data = text.encode(encoding)
    clean = PMML.open(data, "x").without(frozenset({kind}))
    assert not any(leak.removable for leak in judged(clean))
    assert load_model(clean, "x") == load_model(data, "x")


def test_all_other_bytes_stay_as_they_were():
    data = GOLF.replace(HEADER, "<Header>\n\t<Timestamp>2020</Timestamp>\n</Header>", 1).encode()
    data = data.replace(b"\n", b"\r\n").replace(b"<Node ", b"<Node  ")
    expected = data.replace(b"\r\n\t<Timestamp>2020</Timestamp>", b"")
    assert PMML.open(data, "x").without(frozenset(LeakKind)) == expected


def test_other_kinds_stay():
    text = GOLF.replace(HEADER, '<Header copyright="Jo"><Timestamp>2020</Timestamp></Header>', 1)
    clean = PMML.open(text.encode(), "x").without(frozenset({LeakKind.TIMESTAMP}))
    assert clean.decode() == text.replace("<Timestamp>2020</Timestamp>", "")


def test_a_file_that_gives_nothing_else_away_stays_as_it_is():
    assert PMML.open(GOLF.encode(), "x").leaks == ()
    assert PMML.open(GOLF.encode(), "x").without(frozenset(LeakKind)) == GOLF.encode()


def test_rare_values_go_with_their_counts():
    some = '<DiscrStats><Array type="int">30 2</Array><Array type="string">a b</Array></DiscrStats>'
    rare = GOLF.replace(SCHEMA, SCHEMA + STATISTICS.format(some), 1).encode()
    kinds = [LeakKind.HISTOGRAM, LeakKind.RARE_VALUES]
    assert [leak.kind for leak in PMML.open(rare, "x").leaks] == kinds
    for kind in kinds:
        assert PMML.open(PMML.open(rare, "x").without(frozenset({kind})), "x").leaks == ()


@pytest.mark.parametrize(
    ("treatment", "kind"), [("asMedian", LeakKind.MEDIANS), ("asMean", LeakKind.AVERAGES)]
)
def test_what_missing_values_become_is_named_though_the_model_needs_it(treatment, kind):
    field = '<MiningField name="temperature"'
    told = f'{field} missingValueReplacement="73" missingValueTreatment="{treatment}"'
    (leak,) = PMML.open(GOLF.replace(field, told, 1).encode(), "x").leaks
    assert (leak.kind, leak.removable) == (kind, False)


def test_surrogate_splits_are_named_though_they_stay():
    surrogate = (places.DATA / "formats/pmml/good/surrogate.pmml").read_bytes()
    found = PMML.open(surrogate, "x").leaks
    assert [leak.kind for leak in found if not leak.removable] == [LeakKind.DIFFERENCING]


def test_the_secret_itself_is_not_repeated():
    text = GOLF.replace(
        HEADER, '<Header copyright="Jo Doe"><Timestamp>2020-02-30</Timestamp></Header>'
    )
    said = "".join(leak.what for leak in PMML.open(text.encode(), "x").leaks)
    assert "Doe" not in said
    assert "2020" not in said


@pytest.mark.parametrize("above", ["MapValues", "TextIndexNormalization"])
def test_a_table_that_the_model_looks_up_is_none_of_records(above):
    table = f"<{above}><InlineTable><row><x>1</x></row></InlineTable></{above}>"
    text = GOLF.replace(
        HEADER, f"{HEADER}<TransformationDictionary>{table}</TransformationDictionary>"
    )
    assert judged(text.encode()) == []


def test_the_instances_of_another_kind_of_model_are_records_that_stay():
    table = "<TrainingInstances><InlineTable><row><x>1</x></row></InlineTable></TrainingInstances>"
    (leak,) = judged(GOLF.replace(HEADER, HEADER + table).encode())
    assert (leak.kind, leak.records, leak.removable) == (LeakKind.RAW_RECORDS, 1, False)


@pytest.mark.parametrize(
    ("word", "where"),
    [
        ("sunny", "a value of 'outlook'"),
        ("yes", "the name of a class"),
        ("temperature", "the name of a feature"),
    ],
)
def test_a_mail_address_in_the_tree_itself_names_a_person(word, where):
    text = GOLF.replace(f'"{word}"', '"jo@example.org"').encode()
    (leak,) = open_model(text, "x").leaks
    assert (leak.kind, leak.what) == (LeakKind.PERSON, f"{where} contains a mail address")
