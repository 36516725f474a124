"""Several releases from the command line: who joined or left, what each adds, and what cannot be joined."""

from __future__ import annotations

import json

import pytest

import treewarden
from tests.kit.grown_models import FOLDER
from tests.kit.releases import CERTAIN, LEAVES, a_table, a_tree
from tests.kit.run import audit_files, run_command
from treewarden.reports.document.packing import unpack

NUMBERS = (
    '<?xml version="1.0" encoding="UTF-8"?><PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/>'
    '<DataDictionary numberOfFields="2"><DataField name="place" optype="categorical" dataType="string">'
    '<Value value="a"/><Value value="b"/></DataField><DataField name="score" optype="continuous" dataType="double"/>'
    '</DataDictionary><TreeModel functionName="regression" splitCharacteristic="multiSplit"><MiningSchema>'
    '<MiningField name="place"/><MiningField name="score" usageType="target"/></MiningSchema>'
    '<Node id="0" score="25" recordCount="{people}"><True/>{leaves}</Node></TreeModel></PMML>'
)
VALUES = CERTAIN.replace("certain_disclosure", "value_disclosure")
PEOPLE = [
    f"{n} {place} {ill}"
    for n, (place, ill) in enumerate(zip("aaabbbccc", ["yes", "no", "no"] * 3, strict=True))
]
NEW = "9 a yes"


def one_leaf(_):
    return "all"


@pytest.fixture
def folder(tmp_path):
    before, after = a_table(*PEOPLE), a_table(*PEOPLE, NEW)
    for name, table in (("before", before), ("after", after)):
        (tmp_path / f"{name}.csv").write_text(table)
        (tmp_path / f"{name}.pmml").write_bytes(a_tree(table, leaf_of=one_leaf))
    (tmp_path / "certain.toml").write_text(CERTAIN)
    return tmp_path


def audited(
    folder, *words, models=("before", "after"), data=("before", "after"), sensitive="illness"
):
    files = [folder / f"{name}.pmml" for name in models]
    tables = [folder / f"{name}.csv" for name in data]
    return audit_files(files, tables, sensitive, folder / "certain.toml", "--quiet", *words)


def test_each_by_itself_passes_and_both_together_fail(folder):
    for name in ("before", "after"):
        assert audited(folder, models=[name], data=[name]).exit_code == 0
    outcome = audited(folder, "--id", "id", "--format", "json")
    assert outcome.exit_code == 1
    document = unpack(json.loads(outcome.stdout))
    found = document["ensemble"]
    assert [each["name"] for each in found["releases"]] == ["before.pmml", "after.pmml"]
    assert [each["joined"] for each in found["releases"]] == [0, 1]
    assert [each["certain_so_far"] for each in found["releases"]] == [0, 1]
    assert "in after.pmml but not in before.pmml, 1 has “yes”" in found["differences"][0]
    assert document["worlds"]["records_certain"] == 1
    assert [each["model"]["name"] for each in document["provenance"]["earlier"]] == ["before.pmml"]
    known = " ".join(document["knowledge"]["sentences"])
    assert "The model before.pmml, published beside this one, and which people" in known
    place = document["findings"][0]["where"][0]
    assert place["profile"] == "place = a, in before.pmml = no"


def test_the_text_and_the_page_say_what_each_release_adds(folder):
    said = " ".join(audited(folder, "--id", "id", "--verbose").stdout.split())
    assert (
        "after.pmml (10 people, 1 joined): this release alone proves the values of at least 0 people, all"
        in said
    )
    page = audited(folder, "--id", "id", "--format", "html").stdout
    assert "Results by release" in page
    assert "Earlier release" in page


def test_who_left_is_told_of_in_the_release_that_held_them(folder):
    outcome = audited(
        folder,
        "--id",
        "id",
        "--format",
        "json",
        models=("after", "before"),
        data=("after", "before"),
    )
    assert outcome.exit_code == 1
    document = json.loads(outcome.stdout)
    failing = [each for each in document["findings"] if each["verdict"] == "FAIL"]
    assert [each["of"] for each in failing] == ["after.pmml with all releases"]


def test_places_in_the_trees_of_an_earlier_release_are_told_by_that_release(folder):
    (folder / "before.pmml").write_bytes(a_tree(a_table(*PEOPLE, NEW)))
    (folder / "certain.toml").write_text(CERTAIN + LEAVES)
    outcome = audited(folder, "--format", "json", data=("after",))
    assert outcome.exit_code == 1
    document = json.loads(outcome.stdout)
    failing = [each for each in document["findings"] if each["clause"] == "leaves"]
    assert [each["of"] for each in failing] == ["", "before.pmml with all releases"]
    assert [each["verdict"] for each in failing] == ["PASS", "FAIL"]
    assert not document["leaves"]


@pytest.mark.parametrize("form", ["text", "html"])
def test_what_ten_releases_break_alike_is_told_once(folder, form):
    names = [f"grown{number}" for number in range(9)]
    for name in names:
        (folder / f"{name}.pmml").write_bytes((folder / "before.pmml").read_bytes())
    (folder / "after.pmml").write_bytes((folder / "before.pmml").read_bytes())
    (folder / "certain.toml").write_text(CERTAIN + LEAVES.replace("5", "50"))
    said = audited(folder, "--format", form, models=(*names, "after"), data=("before",)).stdout
    said = " ".join(said.split())
    assert (
        "The same check for other releases, with all releases combined: grown8.pmml, grown7.pmml"
        in said
    )
    message = {"text": "FAIL leaves: ", "html": '<th scope="row" class="clause">leaves'}[form]
    assert said.count(message) == 1
    assert "Of grown" not in said


def test_ids_that_are_written_otherwise_are_warned_of(folder):
    table = (folder / "before.csv").read_text()
    (folder / "before.csv").write_text(table.replace("\n1,", "\nP1,").replace("\n2,", "\nP2,"))
    outcome = audited(folder, "--id", "id", "--format", "json")
    (said,) = [
        each for each in json.loads(outcome.stdout)["warnings"] if "different people" in each
    ]
    assert said.startswith("2 of 2 records of before.csv whose 'id' is not in after.csv are equal")


def test_of_releases_of_numbers_whoever_joined_is_pinned_by_all_and_by_neither_alone(folder):
    scores = [11, 87, 13, 95, 17, 22, 41, 80, 10, 99, 63, 38]
    for name, size in (("before", 11), ("after", 12)):
        rows = [f"{n},{'ab'[n % 2]},{score}" for n, score in enumerate(scores[:size])]
        (folder / f"{name}.csv").write_text("\n".join(["id,place,score", *rows, ""]))
        leaves = "".join(
            f'<Node id="{n + 1}" score="{sum(own) / len(own)}" recordCount="{len(own)}"><SimplePredicate '
            f'field="place" operator="equal" value="{"ab"[n]}"/></Node>'
            for n, own in enumerate((scores[:size:2], scores[1:size:2]))
        )
        (folder / f"{name}.pmml").write_text(NUMBERS.format(leaves=leaves, people=size))
    (folder / "certain.toml").write_text(VALUES)
    outcome = audited(folder, "--id", "id", "--format", "json", sensitive="score")
    assert outcome.exit_code == 1
    document = json.loads(outcome.stdout)
    assert (
        "Of the one person in after.pmml but not in before.pmml, the number is 38: the difference of the two "
        "totals proves it."
    ) in document["ensemble"]["differences"]
    told = document["ensemble"]["releases"]
    assert [each["trees"] for each in told] == [1, 1]
    assert [each["joined"] for each in told] == [0, 1]
    assert [each["certain_alone"] for each in told] == [0, 0]
    assert [each["certain_so_far"] for each in told] == [0, 1]
    assert document["ensemble"]["records_certain"] == 1
    assert document["values"]["exact"] == 1
    known = " ".join(document["knowledge"]["sentences"])
    assert (
        "The model before.pmml, published beside this one, and which people each release holds."
        in known
    )
    assert "The smallest and the largest value of “score” in each release’s table" in known
    assert "whole multiples of one step" in known
    said = " ".join(audited(folder, "--id", "id", "--verbose", sensitive="score").stdout.split())
    assert said.count("38: the difference of the two totals proves it") == 1
    assert (
        "after.pmml (12 people, 1 joined): this release alone proves the values of at least 0 people, all"
        in said
    )
    found = {each["of"]: each["verdict"] for each in document["findings"]}
    assert found == {"": "FAIL"}
    for name in ("before", "after"):
        assert audited(folder, models=(name,), data=(name,), sensitive="score").exit_code == 0


def test_releases_of_one_table_need_no_id(folder):
    outcome = audited(folder, "--format", "json", models=("before", "before"), data=("before",))
    assert outcome.exit_code == 0
    found = json.loads(outcome.stdout)["ensemble"]["releases"]
    assert [each["name"] for each in found] == ["before.pmml (1)", "before.pmml (2)"]


def test_releases_with_one_file_name_are_told_apart_by_their_folders(folder):
    for name in ("spring", "autumn"):
        (folder / name).mkdir()
        (folder / name / "model.pmml").write_bytes((folder / "before.pmml").read_bytes())
    models = ("spring/model", "autumn/model", "before")
    outcome = audited(folder, "--format", "json", models=models, data=("before",))
    document = json.loads(outcome.stdout)
    names = [each["name"] for each in document["ensemble"]["releases"]]
    assert names == ["spring/model.pmml", "autumn/model.pmml", "before.pmml"]
    outcome = audited(folder, "--format", "json", models=models[1::-1], data=("before",))
    assert json.loads(outcome.stdout)["title"] == "Privacy audit of spring/model.pmml"


def test_releases_with_one_file_name_are_told_apart_in_warnings_which_are_said_once(tmp_path):
    files = []
    for folder, name in (("spring", "plain"), ("autumn", "weighed")):
        files.append(tmp_path / folder / "model.json")
        files[-1].parent.mkdir()
        files[-1].write_bytes((FOLDER / f"{name}.json").read_bytes())
    asked = ["audit", *files, "--data", FOLDER / "two.csv", "--sensitive", "y", "--format", "json"]
    outcome = run_command(*asked, "--policy", "baseline", "--quiet")
    document = json.loads(outcome.stdout)
    said = [*document["warnings"], *document["model"]["notes"], document["ensemble"]["summary"]]
    assert "spring/model.json and autumn/model.json names no target" in " ".join(said)
    assert sum("names no target" in each for each in said) == 1
    assert all(" model.json" not in f" {each}" for each in said)
    assert "combined: autumn/model.json: node" in document["ensemble"]["summary"]
    assert document["model"]["notes"][0].startswith("autumn/model.json: ")


@pytest.mark.parametrize(
    ("words", "data", "code", "says"),
    [
        ((), ("before", "after", "after"), 2, "give one --data for all models, or one per model"),
        (("--id", "id"), ("before",), 2, "--id matches the people of several tables"),
        (("--no-table",), (), 2, "several models can be audited only with their tables"),
        (("--id", "name"), ("before", "after"), 4, "no column 'name'"),
    ],
)
def test_what_cannot_be_asked_is_said(folder, words, data, code, says):
    outcome = audited(folder, *words, data=data)
    assert outcome.exit_code == code
    assert says in " ".join(outcome.output.split())


def test_a_baseline_knows_what_releases_prove_together(folder):
    baseline = folder / "known.json"
    assert audited(folder, "--id", "id", "--write-baseline", str(baseline)).exit_code == 1
    assert audited(folder, "--id", "id", "--baseline", str(baseline)).exit_code == 0
    more = a_table(*PEOPLE, NEW, "10 b yes")
    (folder / "more.csv").write_text(more)
    (folder / "more.pmml").write_bytes(a_tree(more, leaf_of=one_leaf))
    names = ("before", "after", "more")
    outcome = audited(folder, "--id", "id", models=names, data=names)
    assert outcome.exit_code == 1


def test_a_notebook_says_the_same(folder):
    found = treewarden.audit(
        folder / "after.pmml",
        folder / "after.csv",
        sensitive="illness",
        policy=folder / "certain.toml",
        earlier=[(folder / "before.pmml", folder / "before.csv")],
        id="id",
    )
    assert found.verdict is treewarden.Verdict.FAIL
    assert found.to_dict()["ensemble"]["releases"][1]["certain_so_far"] == 1


def test_other_forms_tell_the_findings_of_each_release_apart(folder):
    forms = [f"{form}={folder / name}" for form, name in (("sarif", "x.sarif"), ("junit", "x.xml"))]
    words = [word for form in forms for word in ("--format", form)]
    assert (
        audited(
            folder, "--id", "id", *words, models=("after", "before"), data=("after", "before")
        ).exit_code
        == 1
    )
    (run,) = json.loads((folder / "x.sarif").read_text())["runs"]
    rules = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
    assert len(rules) == len(set(rules))
    assert "Check of after.pmml with all releases" in run["results"][0]["message"]["text"]
    assert "Check of after.pmml with all releases" in (folder / "x.xml").read_text()


def test_a_report_of_several_releases_is_not_verified_by_one_of_them(folder):
    report = folder / "report.json"
    assert audited(folder, "--id", "id", "--format", f"json={report}").exit_code == 1
    files = ["--model", folder / "after.pmml", "--data", folder / "after.csv"]
    asked = ["verify", report, *files, "--policy", folder / "certain.toml"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 4
    assert "covers several releases" in " ".join(outcome.output.split())


CONFIGURATION = """ignore = ["before.pmml"]

[[model]]
path = "after.pmml"
table = "after.csv"
sensitive = "illness"
policy = "certain.toml"
id = "id"
earlier = [{ path = "before.pmml", table = "before.csv" }]
"""


def gated(folder, configuration):
    (folder / "treewarden.toml").write_text(configuration)
    asked = ["gate", "--config", str(folder / "treewarden.toml"), "--quiet"]
    return run_command(*asked)


def test_a_gate_holds_a_model_against_the_releases_before_it(folder):
    alone = CONFIGURATION.partition("id =")[0]
    assert gated(folder, alone).exit_code == 0
    assert gated(folder, CONFIGURATION).exit_code == 1
    # What came of it is kept, but not beyond a change of an earlier release.
    (folder / "before.pmml").write_bytes((folder / "after.pmml").read_bytes())
    (folder / "before.csv").write_bytes((folder / "after.csv").read_bytes())
    assert gated(folder, CONFIGURATION).exit_code == 0


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        (
            "before.pmml",
            "other.pmml",
            "'earlier' is 'other.pmml': there is no such file",
        ),
        ("before.pmml", "../other.pmml", "outside"),
        ("before.csv", "absent", "several models can be audited only with their tables"),
        (', table = "before.csv"', "", "'id' matches people across tables"),
        ('{ path = "before.pmml", table = "before.csv" }', '"after.pmml"', "'id' matches"),
        ('path = "before.pmml"', 'path = "after.pmml"', "the model itself"),
        ('id = "id"', 'id = "ident"', "no column 'ident'"),
    ],
)
def test_a_gate_says_what_cannot_be_joined(folder, old, new, says):
    outcome = gated(folder, CONFIGURATION.replace(old, new))
    assert outcome.exit_code == 4
    assert says in " ".join(outcome.output.split())


def test_a_gate_takes_a_path_alone_for_a_model_of_the_same_table(folder):
    plain = CONFIGURATION.replace('{ path = "before.pmml", table = "before.csv" }', '"other.pmml"')
    (folder / "other.pmml").write_bytes(a_tree(a_table(*PEOPLE, NEW), leaf_of=one_leaf))
    assert gated(folder, plain.replace('id = "id"\n', "")).exit_code == 0


@pytest.mark.parametrize(
    ("given", "says"),
    [({"earlier": "before.pmml"}, "a list of models"), ({"id": 5}, "the name of a column")],
)
def test_a_notebook_says_what_cannot_be_asked(folder, given, says):
    files = folder / "after.pmml", folder / "after.csv"
    with pytest.raises(treewarden.TreewardenError, match=says):
        treewarden.audit(*files, sensitive="illness", **given)
