"""``treewarden.audit``: whatever form model and table have, the result is the one of the command line."""

import json
import pickle
from types import SimpleNamespace

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import treewarden as tw
from tests.treewarden.api.conftest import pack
from treewarden.api.frames import MOST_REASONS, reasons
from treewarden.api.result import Verdict, in_python
from treewarden.audit.run_tree import INFERRING
from treewarden.reports.document.packing import document_bytes, read_document, unpack

FORMS = {
    "path": lambda path: path,
    "text": str,
    "pandas": pd.read_csv,
    "nullable": lambda path: pd.read_csv(path).convert_dtypes(),
    "categories": lambda path: pd.read_csv(path).astype({"sex": "category", "flu": "category"}),
    "polars": pl.read_csv,
    "Arrow": lambda path: pa.Table.from_pandas(pd.read_csv(path), preserve_index=False),
    "pair": lambda path: (pd.read_csv(path)[["age", "sex"]], pd.read_csv(path)["flu"]),
    "polars pair": lambda path: (pl.read_csv(path)[["age", "sex"]], pl.read_csv(path)["flu"]),
    "columns": lambda path: pd.read_csv(path).to_dict("list"),
}


def report(result_or_text):
    """Return a JSON report without where it comes from, how long it took, and the command that only a terminal has."""
    text = result_or_text if isinstance(result_or_text, str) else result_or_text.to_json()
    said = json.loads(text)
    del said["provenance"], said["solver"]["seconds"]
    steps = said["next_steps"]
    (tries,) = (
        number
        for number, step in enumerate(steps)
        if "audits every changed model, and shows" in step
    )
    del steps[tries:]
    return said


@pytest.fixture
def told(files):
    done = files.run("audit", "--policy", files.policy("harsh"), "--jobs", "1", "--format", "json")
    assert done.exit_code == 1
    said = in_python(read_document(done.stdout.encode()))
    return report(document_bytes(said).decode())


@pytest.mark.parametrize("form", FORMS)
def test_the_report_is_that_of_the_command_line_whatever_holds_the_table(form, files, told):
    data = FORMS[form](files.table)
    result = tw.audit(files.model, data, sensitive="flu", policy=files.policy("harsh"), jobs=1)
    assert result.verdict == "FAIL"
    assert report(result) == told


def test_the_bytes_of_a_model_are_that_model(files, told):
    data = pd.read_csv(files.table)
    for model in (files.model.read_bytes(), bytearray(files.model.read_bytes())):
        result = tw.audit(model, data, sensitive="flu", policy=files.policy("harsh"), jobs=1)
        assert result.to_dict()["findings"] == unpack(told)["findings"]
        assert result.to_dict()["provenance"]["model"]["name"] == "model"


def test_the_target_of_a_file_may_be_spelled_differently_for_a_frame_too(files):
    asked = {"policy": pack(k_anonymity=9), "worlds": False, "jobs": 1}
    for data in (files.table, pd.read_csv(files.table)):
        assert tw.audit(files.model, data, sensitive="FLU", **asked).verdict == "FAIL"
    with pytest.raises(tw.TableError, match=r"no column 'fluu' \(did you mean 'flu'\?\)"):
        tw.audit(files.model, pd.read_csv(files.table), sensitive="fluu", **asked)


def test_a_policy_and_knowledge_may_be_mappings(files, quick):
    asked = {"sensitive": "flu", **quick}
    as_mapping = tw.audit(files.model, files.table, policy=pack(k_anonymity=5), **asked)
    assert as_mapping.passed
    knowledge = {"leaf": "labels", "fact": [{"says": "P(yes | age < 40) >= 0.1"}]}
    told = tw.audit(
        files.model, files.table, policy=pack(k_anonymity=5), knowledge=knowledge, **asked
    )
    assert told.to_dict()["knowledge"]["facts"] == ["P(yes | age < 40) >= 0.1"]


def test_a_fitted_tree_is_audited_on_its_frame_and_on_its_pair(tree, frame, quick):
    whole = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    inputs = frame[["age", "sex"]]
    pair = tw.audit(tree, (inputs, frame["ill"]), policy=pack(k_anonymity=9), **quick)
    arrays = tw.audit(
        tree, (inputs.to_numpy(), frame["ill"].to_numpy()), policy=pack(k_anonymity=9), **quick
    )
    assert whole.verdict is pair.verdict is Verdict.FAIL
    assert report(whole) == report(pair)
    assert arrays.readings.equals(whole.readings)


def test_findings_and_readings_are_frames_of_what_the_report_says(tree, frame, quick):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    said = result.to_dict()
    assert list(result.findings["clause"]) == [each["clause"] for each in said["findings"]]
    assert list(result.findings["verdict"]) == [each["verdict"] for each in said["findings"]]
    assert list(result.readings.index) == list(said["readings"])
    assert result.readings.loc["k_anonymity", "low"] == 8
    unknown = result.readings.loc["world_bounds"]
    assert pd.isna(unknown["low"])
    assert unknown["reason"]


def test_the_posterior_has_a_row_for_each_profile_and_class(tree, frame, quick):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    posterior = result.posterior()
    assert list(posterior.columns) == [
        *("age", "sex", "records", "class", "probability", "low", "high"),
        *("decided", "certain", "proved_value"),
    ]
    assert len(posterior) == 2 * 5
    assert posterior.groupby(["age", "sex"])["probability"].sum().round(9).eq(1).all()


def test_of_numbers_the_posterior_says_between_which_ends_they_lie(frame, quick):
    numbers = frame.assign(pay=frame["age"] * 2.0)
    grown = DecisionTreeRegressor().fit(numbers[["age"]], numbers["pay"])
    data = numbers[["age", "pay"]]
    result = tw.audit(grown, data, sensitive="pay", policy=pack(k_anonymity=9), **quick)
    found = result.posterior()
    assert (found["low"] <= 2 * found["age"]).all()
    assert (found["high"] >= 2 * found["age"]).all()


def test_without_an_estimate_asking_for_the_posterior_says_why(frame, quick):
    grown = GradientBoostingClassifier(n_estimators=2, subsample=0.5).fit(
        frame[["age"]], frame["ill"]
    )
    data = frame[["age", "ill"]]
    result = tw.audit(grown, data, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    with pytest.raises(tw.UndeterminedError, match="no inference"):
        result.posterior()


@pytest.mark.parametrize(("suffix", "start"), [("html", b"<!"), ("json", b"{"), ("txt", b"")])
def test_a_report_is_saved_in_the_form_of_its_suffix(suffix, start, tree, frame, quick, tmp_path):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    path = result.save(tmp_path / f"report.{suffix}")
    assert path.read_bytes().startswith(start)
    assert [each.name for each in tmp_path.iterdir()] == [f"report.{suffix}"]


def test_a_target_that_is_only_spelt_differently_is_found(tree, frame, quick):
    result = tw.audit(tree, frame, sensitive="ILL", policy=pack(k_anonymity=2), **quick)
    assert result.passed
    assert any("'ill' for 'ILL'" in said for said in result.warnings)


def test_an_estimator_that_passes_is_written_and_audited_as_its_report_says(
    tree, frame, quick, tmp_path
):
    asked = {"sensitive": "ill", "policy": pack(k_anonymity=2), **quick}
    result = tw.audit(tree, frame, **asked)
    step = result.to_dict()["next_steps"][0]
    assert "result.save_model('model.pmml')" in step
    file = result.save_model(tmp_path / "model.pmml")
    again = tw.audit(file, frame, **asked)
    assert again.passed
    assert again.to_dict()["model"]["leaves"] == result.to_dict()["model"]["leaves"]
    with pytest.raises(tw.OutputError, match="is not that of a model format; use .pmml"):
        result.save_model(tmp_path / "model.pkl")


def test_a_form_for_pipelines_is_saved_by_its_suffix_or_its_name(tree, frame, quick, tmp_path):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    assert b'"2.1.0"' in result.save(tmp_path / "report.sarif").read_bytes()
    assert result.save(tmp_path / "report.xml", form="junit").read_bytes().startswith(b"<?xml")
    with pytest.raises(tw.OutputError, match="no format 'word'; have "):
        result.save(tmp_path / "report.csv", form="word")
    assert not (tmp_path / "report.csv").exists()


def test_a_redacted_report_is_saved_where_that_is_asked_for(tree, frame, quick, tmp_path):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    page = result.save(tmp_path / "report.html", redacted=True).read_text()
    assert "Redacted: this report contains no group" in page
    assert "Confidential:" not in page


def test_a_report_goes_nowhere_else(tree, frame, quick, tmp_path):
    table = tmp_path / "table.json"
    frame.to_csv(table, index=False)
    result = tw.audit(tree, table, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    for path, message in (
        ("report.docx", "is not that of a report format; use .*html, "),
        ("report", "is not that of a report format"),
        ("nowhere/report.html", "there is no such folder"),
        ("table.json", "is an input, and inputs are never overwritten"),
    ):
        with pytest.raises(tw.OutputError, match=message):
            result.save(str(tmp_path / path))


def test_further_checks_that_do_not_pass_are_counted_in_a_sentence():
    findings = [
        SimpleNamespace(verdict="FAIL", accepted=None, message=f"Check {number} fails.")
        for number in range(MOST_REASONS + 2)
    ]
    document = SimpleNamespace(findings=findings, counts=lambda _: True)
    assert reasons(document)[-2:] == [
        f"Check {MOST_REASONS - 1} fails.",
        "2 more checks did not pass.",
    ]


def test_a_frame_without_the_target_says_which_argument_names_it(frame, quick):
    grown = DecisionTreeClassifier(random_state=0).fit(frame[["age"]], frame["ill"])
    result = tw.audit(grown, frame, policy="standard", **quick)
    with pytest.raises(tw.FailedError, match="that it predicts; add sensitive=COLUMN"):
        result.raise_for_verdict()
    assert not result.readings["reason"].str.contains("--").any()


def test_raise_for_verdict_raises_what_the_verdict_is(tree, frame, quick):
    def result(**limits):
        return tw.audit(tree, frame, sensitive="ill", policy=pack(**limits), **quick)

    result(k_anonymity=5).raise_for_verdict()
    with pytest.raises(tw.FailedError, match="Fewest people in a leaf: 8 people"):
        result(k_anonymity=9).raise_for_verdict()
    with pytest.raises(tw.UndeterminedError, match="The audit could not decide. "):
        result(world_bounds=0.5).raise_for_verdict()
    assert not result(world_bounds=0.5).passed
    assert issubclass(tw.FailedError, tw.TreewardenError)


def test_each_step_is_told_to_a_function_and_nothing_to_nobody(tree, frame, quick, capfd):
    heard = []
    asked = {"sensitive": "ill", "policy": pack(k_anonymity=9), **quick}
    tw.audit(tree, frame, progress=heard.append, **asked)
    assert heard[:3] == ["reading DecisionTreeClassifier", "reading data", INFERRING]
    tw.audit(tree, frame, **asked)
    assert capfd.readouterr() == ("", "")


def test_what_a_listener_raises_ends_the_audit(tree, frame, quick):
    def stop(doing):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        tw.audit(tree, frame, sensitive="ill", progress=stop, **quick)


def test_a_card_shows_the_verdict_first_and_runs_nothing(frame, quick):
    odd = frame.rename(columns={"age": "<script>alert(1)</script>", "ill": '"><b>x'})
    inputs = odd.iloc[:, :2]
    grown = DecisionTreeClassifier(random_state=0).fit(inputs, odd.iloc[:, 2])
    result = tw.audit(grown, odd, sensitive='"><b>x', policy=pack(k_anonymity=9), **quick)
    card = result._repr_html_()
    assert card.index("FAIL") < card.index("Fewest people in a leaf")
    assert '<iframe sandbox=""' in card
    assert "<script" not in card
    assert "<b>x" not in card
    assert card.count("<iframe") == 1


def test_a_card_says_that_a_pickle_of_the_estimator_is_not_what_was_judged(tree, frame, quick):
    tree.beside = frame
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=2), **quick)
    assert result.passed
    assert "A pickle or another file of it contains more" in result._repr_html_()


def test_the_same_input_gives_the_same_card_but_for_the_time(tree, frame, quick):
    asked = {"sensitive": "ill", "policy": pack(k_anonymity=9), **quick}
    one, other = (tw.audit(tree, data, **asked) for data in (frame, pl.DataFrame(frame)))
    assert report(one) == report(other)
    digests = [each.to_dict()["provenance"]["table"] for each in (one, other)]
    assert digests[0] == digests[1]
    changed = tw.audit(tree, frame.iloc[::-1], **asked).to_dict()["provenance"]["table"]
    assert changed["sha256"] != digests[0]["sha256"]


def test_a_tree_of_one_leaf_is_audited_with_whole_records(frame):
    stump = DecisionTreeClassifier(min_samples_leaf=100)
    stump.fit(frame[["age", "sex"]], frame["ill"])
    result = tw.audit(stump, frame, sensitive="ill", policy=pack(k_anonymity=9), jobs=1)
    assert result.passed


def test_a_result_is_short_where_it_is_printed(tree, frame, quick):
    result = tw.audit(tree, frame, sensitive="ill", policy=pack(k_anonymity=9), **quick)
    assert repr(result).startswith("<Result FAIL: DecisionTreeClassifier, ")
    assert pickle.loads(pickle.dumps(result)).verdict is Verdict.FAIL
