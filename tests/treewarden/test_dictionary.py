"""What columns and values mean, said by a dictionary or by the table's file: shown to people, and judged by nobody."""

import json

import pandas
import pyreadstat
import pytest

import treewarden as tw

WORDS = (
    "column,label,value,value_label\n"
    "flu,influenza this winter,yes,had it\nflu,,no,was spared\n"
    "Age,<b>age</b> at the interview,,\n"
    "sex,,F,women\n"
)
OF_VALUES = ("had it", "was spared", "women")


@pytest.fixture
def words(files):
    path = files.folder / "words.csv"
    path.write_text(WORDS, encoding="utf-8")
    return path


def report(files, form, *more, command="audit"):
    outcome = files.run(command, *more, "--format", form)
    return outcome.stdout


def test_a_dictionary_explains_the_report_and_changes_no_verdict(files, words):
    plain = json.loads(report(files, "json"))
    told = json.loads(report(files, "json", "--dictionary", words))
    assert plain["columns"] == []
    assert [each["name"] for each in told["columns"]] == ["flu", "age", "sex"]
    flu, age, sex = told["columns"]
    assert (flu["label"], flu["is_sensitive"]) == ("influenza this winter", True)
    assert flu["values"] == [
        {"name": "yes", "text": "had it"},
        {"name": "no", "text": "was spared"},
    ]
    assert (age["label"], age["is_sensitive"]) == ("<b>age</b> at the interview", False)
    assert (sex["label"], sex["values"]) == ("", [{"name": "F", "text": "women"}])
    for part in ("verdict", "findings", "readings", "population", "model", "tree", "knowledge"):
        assert told[part] == plain[part]
    assert (
        "the column “flu” (influenza this winter) from the tree than the policy allows"
        in told["meaning"]
    )
    assert told["meaning"].replace(" (influenza this winter)", "") == plain["meaning"]
    assert any("“yes” (had it)" in lesson["text"] for lesson in told["lessons"])


@pytest.mark.parametrize("form", ["html", "text", "compliance"])
def test_reports_have_a_section_on_what_the_columns_mean(files, words, form):
    heading = "Meaning of the columns"
    assert heading not in report(files, form)
    page = report(files, form, "--dictionary", words)
    assert heading in page
    assert "influenza this winter" in page
    assert "yes = had it; no = was spared" in page
    assert ("<b>age</b>" in page) == (form == "text")
    assert ("&lt;b&gt;age&lt;/b&gt; at the interview" in page) == (form != "text")


def test_the_filed_form_calls_columns_by_their_labels(files, words):
    page = report(files, "compliance", "--dictionary", words)
    assert "influenza this winter (flu)" in page
    assert "&lt;b&gt;age&lt;/b&gt; at the interview (age); sex" in page
    assert "Path: &lt;b&gt;age&lt;/b&gt; at the interview " in page


def test_a_report_says_of_which_columns_every_value_has_a_label(files, words):
    told = json.loads(report(files, "json", "--dictionary", words))
    assert {each["name"]: each["all_labelled"] for each in told["columns"]} == {
        "flu": True,
        "age": False,
        "sex": False,
    }
    redacted = json.loads(report(files, "json", "--dictionary", words, "--redacted"))
    assert not any(each["all_labelled"] for each in redacted["columns"])


@pytest.mark.parametrize("form", ["html", "text", "compliance", "json"])
def test_a_redacted_report_has_no_label_of_a_value(files, words, form):
    page = report(files, form, "--redacted", "--dictionary", words)
    assert "influenza this winter" in page
    assert [each for each in OF_VALUES if each in page] == []


def test_what_the_table_lacks_is_a_warning(files, words):
    words.write_text(WORDS + "fluu,slip,,\n", encoding="utf-8")
    told = json.loads(report(files, "json", "--dictionary", words))
    assert [each for each in told["warnings"] if "words.csv" in each] == [
        "--dictionary: words.csv describes columns or values that the table does not have: "
        "'fluu'; correct the names, or leave them out"
    ]


def test_a_bad_dictionary_ends_without_an_audit_and_without_a_report(files, words):
    words.write_text("column,text\na,b\n", encoding="utf-8")
    out = files.folder / "report.html"
    outcome = files.run("audit", "--dictionary", words, "--format", f"html={out}")
    assert outcome.exit_code == 4
    assert "words.csv, headings: no 'label'" in outcome.output
    assert not out.exists()


def test_nothing_is_written_over_a_dictionary(files, words):
    outcome = files.run("audit", "--dictionary", words, "--format", f"html={words}")
    assert outcome.exit_code == 4
    assert "words.csv" in outcome.output
    assert words.read_text(encoding="utf-8") == WORDS


def test_python_takes_it_by_its_name_and_says_what_is_wrong_with_it(files, words):
    result = tw.audit(files.model, files.table, sensitive="flu", dictionary=words)
    assert result.to_dict()["columns"][0]["label"] == "influenza this winter"
    with pytest.raises(tw.TreewardenError, match="dictionary: give the path of a CSV file"):
        tw.audit(files.model, files.table, sensitive="flu", dictionary=3)


def test_a_repair_is_explained_too(files, words):
    out = files.folder / "repaired.pmml"
    more = ("--dictionary", words, "-o", out, "--policy", files.policy("harsh"))
    told = files.folder / "report.json"
    files.run("repair", *more, "--format", f"json={told}")
    document = json.loads(told.read_text(encoding="utf-8"))
    assert document["verdict"] == "PASS"
    assert document["columns"][0]["label"] == "influenza this winter"


def test_a_file_alone_is_explained_too(files, words):
    words_of_command = ["audit", files.model, "--no-table", "--dictionary", words]
    told = json.loads(files.run_words(*words_of_command, "--format", "json").stdout)
    assert [each["name"] for each in told["columns"]] == ["flu", "age", "sex"]
    assert not any("words.csv" in each for each in told["warnings"])


def test_a_file_of_spss_explains_itself_and_a_dictionary_goes_before_it(files, words):
    frame = pandas.read_csv(files.table)
    path = files.folder / "p.sav"
    labels = {"flu": "flu in 2026", "sex": "sex at birth"}
    pyreadstat.write_sav(frame, str(path), column_labels=labels)
    order = ["audit", files.model, "--data", path, "--sensitive", "flu", "--format", "json"]
    own = json.loads(files.run_words(*order).stdout)
    assert {each["name"]: each["label"] for each in own["columns"]} == labels
    both = json.loads(files.run_words(*order, "--dictionary", words).stdout)
    assert [each["label"] for each in both["columns"]] == [
        "influenza this winter",
        "<b>age</b> at the interview",
        "sex at birth",
    ]
    assert both["findings"] == own["findings"]


def test_a_report_with_labels_is_verified_with_its_dictionary_and_open_without(files, words):
    words.write_text(WORDS + "fluu,slip,,\n", encoding="utf-8")
    path = files.folder / "report.json"
    files.run("audit", "--dictionary", words, "--format", f"json={path}")
    order = ["verify", path, "--model", files.model, "--data", files.table]
    same = files.run_words(*order, "--dictionary", words)
    assert same.exit_code == 0, same.output
    without = files.run_words(*order)
    assert without.exit_code == 3
    (only,) = without.stdout.partition(" items agree")[0].splitlines()[:-1]
    assert "labels of columns" in only
    assert "--dictionary" in only
    words.write_text(WORDS.replace("winter", "summer"), encoding="utf-8")
    other = files.run_words(*order, "--dictionary", words)
    assert other.exit_code == 1
    assert "labels of columns" in other.output


def test_the_command_of_a_repair_names_the_dictionary(files, words):
    told = json.loads(
        report(files, "json", "--dictionary", words, "--policy", files.policy("harsh"))
    )
    (command,) = [each for each in told["next_steps"] if each.startswith("treewarden repair")]
    assert f"--dictionary {words}" in command
