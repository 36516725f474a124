"""Adversaries who know some columns only, from the command line, in reports and files."""

import csv
import json
from importlib import import_module

import pytest

from tests.kit.run import run_command
from treewarden.audit.partial.leaf_table import leaf_table

KNOWN = """
[[adversary]]
name = "neighbour"
knows = ["sex"]

[[adversary]]
name = "register"
knows = "register"
"""


@pytest.fixture
def told(files):
    (files.folder / "known.toml").write_text(KNOWN)
    return files.folder / "known.toml"


def report(files, *words):
    done = files.run("audit", "--policy", files.policy("lenient"), "--format", "json", *words)
    assert done.exit_code in (0, 1, 3), done.output
    return done.exit_code, json.loads(done.stdout)


def test_each_adversary_has_readings_of_his_own_by_hand(files, told):
    _, said = report(files, "--knowledge", told)
    by = {each["name"]: each for each in said["adversaries"]}
    assert list(by) == ["knows all", "neighbour", "register"]
    assert by["neighbour"]["knows"] == ["sex"]
    assert not by["neighbour"]["target_known"]
    assert {each["secret"] for each in by.values()} == {"flu"}
    # All 12 and all 8 below the right side are of one sex, so ten of each are on the left, where 12 of 20 have none.
    sure = by["neighbour"]["readings"]["confidence"]
    assert (sure["low"], sure["high"]) == pytest.approx((12 / 18, 12 / 18))
    assert sure["unit"] == "share"
    assert by["register"]["knows"] == ["age", "sex"]
    assert by["register"]["readings"]["confidence"]["high"] == pytest.approx(0.75)
    assert by["neighbour"]["readings"]["certain_disclosure"]["high"] == 0
    assert said["readings"]["confidence"]["high"] == pytest.approx(0.75)
    assert any("Sweeney" in each for each in said["warnings"])


def test_leaves_are_looked_at_once_for_all_adversaries(files, told, monkeypatch):
    asked = []

    def looked_at(*about):
        asked.append(about)
        return leaf_table(*about)

    monkeypatch.setattr(
        import_module("treewarden.audit.partial.tree_context"), "leaf_table", looked_at
    )
    report(files, "--knowledge", told)
    assert len(asked) == 1


def test_options_declare_one_adversary(files):
    _, said = report(files, "--knows", "sex")
    assert [each["name"] for each in said["adversaries"]] == ["knows all", "who knows sex"]
    _, alone = report(files)
    assert alone["adversaries"] == []
    assert alone["readings"]["confidence"] == said["readings"]["confidence"]


def test_a_posterior_has_the_rows_of_each_and_says_whose_they_are(files, told):
    path = files.folder / "posterior.csv"
    files.run("audit", "--knowledge", told, "--posterior", path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[0] == "adversary"
    assert {row["adversary"] for row in rows} == {"knows all", "neighbour", "register"}
    own = [row for row in rows if row["adversary"] == "neighbour"]
    assert {(row["sex"], row["age"]) for row in own} == {("F", ""), ("M", "")}
    assert sum(float(row["probability"]) for row in own) == pytest.approx(2)


def test_a_policy_passes_only_where_each_adversary_passes(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "sure"\nversion = "1"\ntitle = "sure"\n[[clause]]\nid = "sure"\n'
        'measure = "confidence"\nrule = "at_most"\nlimit = 0.7\n'
    )
    done = files.run("audit", "--policy", pack, "--knowledge", told, "--format", "json")
    said = json.loads(done.stdout)
    assert done.exit_code == 1
    assert {each["of"] for each in said["findings"]} == {"", "the adversary “register”"}
    verdicts = {each["name"]: each["verdict"] for each in said["adversaries"]}
    assert verdicts == {"knows all": "FAIL", "neighbour": "PASS", "register": "FAIL"}
    place = next(each for each in said["findings"] if each["of"])["where"][0]
    assert (place["kind"], place["path"], place["node"]) == ("profile", "", "")
    assert place["profile"].startswith("age = ")


def test_reports_show_the_adversaries_and_what_each_column_is_worth(files, told):
    _, said = report(files, "--knowledge", told)
    register = said["adversaries"][2]
    assert [each["column"] for each in register["lacking"]] == ["age", "sex"]
    without_age = register["lacking"][0]["confidence"]
    assert without_age["high"] == pytest.approx(12 / 18)
    page = files.run("audit", "--knowledge", told, "--format", "html").stdout
    assert 'href="#adversaries"' not in files.run("audit", "--format", "html").stdout
    assert page.count("Adversaries with partial knowledge") == 1
    assert '<a href="#adversaries">Adversaries</a>' in page
    assert "“register” without one of the columns" in page
    assert "What “neighbour” cannot know" in page
    text = files.run("audit", "--knowledge", told, "--verbose").stdout
    assert "Adversaries with partial knowledge" in text
    assert "who knows more may not" in " ".join(text.split())


def test_a_redacted_report_names_adversaries_and_no_readings(files, told):
    done = files.run("audit", "--knowledge", told, "--format", "json", "--redacted")
    said = json.loads(done.stdout)
    assert [each["readings"] for each in said["adversaries"]] == [{}, {}, {}]
    assert [each["worst"] + each["shown"] for each in said["adversaries"]] == [[], [], []]


def test_a_table_that_fits_shows_what_somebody_cannot_know(files):
    _, said = report(files, "--knows", "sex")
    shown = said["adversaries"][1]["shown"]
    assert [each["name"] for each in shown] == ["sex = F", "sex = M"]
    assert all("in a table that fits, no more than" in each["text"] for each in shown)


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--knows", "agee"], "no column 'agee' (did you mean 'age'?)"),
        (["--knows", '"a\nb"'], "no column 'a\\nb'"),
        (["--knows", "flu"], "knows 'flu', which is the secret"),
        (["--knows", "sex", "--target-known"], "knows 'flu', which is the secret"),
        (["--secret", "fluu"], "no column 'fluu' (did you mean 'flu'?)"),
        (["--secret", "sex", "--knows", "sex"], "knows 'sex', which is the secret"),
        (["--knows", "Register"], "is the preset 'register' meant?"),
        (
            ["--secret", "sex", "--bins", "30,60"],
            "bins divide numbers, but 'sex' contains categories",
        ),
        (
            ["--secret", "flu", "--bins", "30,60"],
            "bins divide numbers, but 'flu' contains categories",
        ),
        (["--secret", ""], "secret: a column without a name"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_what_to_do(files, words, problem):
    done = files.run("audit", *words)
    assert done.exit_code == 4
    assert problem in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["--knows", ","], "--knows names no column"),
        (["--knows", "a\nb"], "Invalid value for --knows: a line break outside quotes; put a name"),
        (["--bins", "3\n0"], "Invalid value for --bins: a line break outside quotes; put a name"),
        (["--bins", "30"], "--bins: divides the numbers of a secret column; name it with --secret"),
        (["--secret", "age", "--bins", "x"], "--bins: 'x' is not a number; give numbers"),
        (
            ["--target-known"],
            "--target-known: is about an adversary who knows some columns; name them with --knows",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(files, words, problem):
    done = files.run("audit", *words)
    assert done.exit_code == 2
    assert problem in done.stderr


def test_a_feature_is_secret_of_who_knows_the_rest_and_the_outcome(files):
    _, said = report(files, "--secret", "sex")
    (alone,) = said["adversaries"]
    assert (alone["name"], alone["secret"]) == ("who knows all else", "sex")
    assert (alone["knows"], alone["target_known"]) == (["age"], True)
    # Of 50 and 60 the leaf says the sex only by F or M, and each age has one sex: the class is no help.
    sure = alone["readings"]["confidence"]
    assert sure["low"] > 0.5
    assert said["readings"]["confidence"] == sure
    assert said["readings"]["k_anonymity"]["low"] == 8
    assert said["model"]["target"] == "flu"


def test_clauses_about_the_target_are_not_judged_where_the_secret_is_a_feature(files):
    done = files.run(
        "audit", "--policy", files.policy("truth"), "--secret", "sex", "--format", "json"
    )
    said = json.loads(done.stdout)
    assert done.exit_code == 3  # age says what sex is
    assert {each["clause"] for each in said["findings"]} == {"the-one"}
    pack = files.folder / "label.toml"
    pack.write_text(
        'name = "l"\nversion = "1"\ntitle = "l"\n[[clause]]\nid = "k"\nmeasure = "k_anonymity"\n'
        'rule = "at_least"\nlimit = 5\n[[clause]]\nid = "label"\nmeasure = "label_disclosure"\n'
        'rule = "at_most"\nlimit = 0.9\n[[clause]]\nid = "sure"\nmeasure = "confidence"\n'
        'rule = "at_most"\nlimit = 0.99\n'
    )
    done = files.run("audit", "--policy", pack, "--secret", "sex", "--format", "json")
    said = json.loads(done.stdout)
    assert done.exit_code == 3
    assert said["not_judged"][0]["text"].startswith("applies to what the model predicts only")


def test_bins_part_the_numbers_of_a_secret(files):
    _, said = report(files, "--secret", "age", "--bins", "40")
    path = files.folder / "posterior.csv"
    files.run("audit", "--secret", "age", "--bins", "40", "--posterior", path)
    with path.open() as file:
        rows = list(csv.DictReader(file))
    assert {row["class"] for row in rows} == {"below 40", "40 or more"}
    assert {row["adversary"] for row in rows} == {"who knows all else"}
    assert all(row["flu"] in ("no", "yes") for row in rows)
    assert said["adversaries"][0]["secret"] == "age"


def test_a_repair_is_judged_under_all_adversaries(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "sure"\nversion = "1"\ntitle = "sure"\n[[clause]]\nid = "sure"\n'
        'measure = "confidence"\nrule = "at_most"\nlimit = 0.66\n[[clause]]\nid = "label"\n'
        'measure = "label_disclosure"\nrule = "at_most"\nlimit = 0.66\n'
    )
    words = ("--policy", pack, "--knowledge", told, "--format", "json")
    done = files.run("repair", *words, "-o", files.folder / "fixed.pmml")
    said = json.loads(done.stdout)
    assert done.exit_code == 0
    assert [each["verdict"] for each in said["adversaries"]] == ["PASS"] * 3
    sure = [each["readings"]["confidence"]["high"] for each in said["adversaries"]]
    assert max(sure) <= 0.66


def test_several_releases_are_judged_for_an_adversary_with_some_columns_and_estimated_for_none(
    files,
):
    files.run("audit", "--knows", "sex")
    other = files.folder / "flu2.pmml"
    other.write_text(files.model.read_text())
    done = files.run("audit", other, "--knows", "sex", "--format", "json")
    said = json.loads(done.stdout)
    known = next(each for each in said["adversaries"] if each["name"] == "who knows sex")
    assert "probabilities from several releases" in known["readings"]["confidence"]["reason"]
    assert known["readings"]["certain_disclosure"]["high"] < 9
    assert known["verdict"] == "UNDETERMINED"
    done = files.run("audit", other, "--secret", "sex", "--format", "json")
    (alone,) = json.loads(done.stdout)["adversaries"]
    assert "not computed" in alone["readings"]["confidence"]["reason"]
    assert alone["readings"]["certain_disclosure"]["low"] == 0


def test_the_same_from_a_notebook(files):
    import treewarden as tw

    asked = {"sensitive": "flu", "policy": files.policy("lenient"), "jobs": 1}
    result = tw.audit(files.model, files.table, knows=["sex"], **asked)
    _, said = report(files, "--knows", "sex", "--jobs", "1")
    assert result.to_dict()["adversaries"] == said["adversaries"]
    frame = result.posterior()
    assert set(frame["adversary"]) == {"knows all", "who knows sex"}
    result = tw.audit(files.model, files.table, secret="age", bins=[40], **asked)
    assert result.to_dict()["adversaries"][0]["secret"] == "age"


@pytest.mark.parametrize(
    "words", [("--knowledge", "known.toml"), ("--secret", "age", "--bins", "40")]
)
def test_a_report_of_adversaries_is_verified_by_doing_it_again(files, told, words):
    words = [told if word == "known.toml" else word for word in words]
    done = files.run("audit", "--policy", "strict", *words, "--format", "json")
    path = files.folder / "report.json"
    path.write_text(done.stdout)
    asked = ["verify", path, "--model", files.model, "--data", files.table]
    again = run_command(*asked)
    assert again.exit_code == 0, again.output
    assert "items agree" in again.stdout


def test_what_a_tested_column_says_of_the_secret_counts_as_if_the_secret_were_tested(files):
    rows = files.table.read_text().splitlines()
    named = [f"{rows[0]},woman", *(f"{row},{'yes' if ',F,' in row else 'no'}" for row in rows[1:])]
    files.table.write_text("\n".join([*named, ""]))
    done = files.run("audit", "--secret", "woman", "--knows", "age", "--format", "json")
    said = json.loads(done.stdout)
    assert said["adversaries"][0]["verdict"] == "UNDETERMINED"
    assert any("determine woman, for 40 people" in each for each in said["warnings"])
    by = {each["name"]: each["readings"] for each in said["adversaries"]}
    certain = by["who knows all else"]["certain_disclosure"]
    assert (certain["low"], certain["high"]) == (0, 40)
    done = files.run("audit", "--secret", "sex", "--knows", "age", "--format", "json")
    tested = {each["name"]: each["readings"] for each in json.loads(done.stdout)["adversaries"]}
    name = "who knows age"
    assert by[name]["confidence"]["high"] == tested[name]["confidence"]["high"]


def with_code(files, code):
    """Write the table with a column more, what a flu says or its absence in each row."""
    rows = files.table.read_text().splitlines()
    at = rows[0].split(",").index("flu")
    flu = [row.split(",")[at] for row in rows[1:]]
    more = [
        f"{row},{code(each, n)}" for n, (row, each) in enumerate(zip(rows[1:], flu, strict=True))
    ]
    files.table.write_text("\n".join([f"{rows[0]},code", *more, ""]))


@pytest.mark.parametrize(
    "code",
    [
        pytest.param(lambda flu, _: {"yes": "J10", "no": "Z00"}[flu], id="all"),
        pytest.param(lambda flu, n: "J10" if flu == "yes" and n % 39 else "", id="some"),
        pytest.param(lambda flu, n: n + (1000 if flu == "yes" else 0), id="numbers"),
    ],
)
def test_who_knows_a_code_of_what_the_tree_predicts_never_passes(files, code):
    with_code(files, code)
    words = ("audit", "--policy", files.policy("truth"), "--format", "json", "--knows", "code")
    done = files.run(*words)
    said = json.loads(done.stdout)
    assert done.exit_code == 3, done.output
    assert said["adversaries"][-1]["verdict"] == "UNDETERMINED"
    assert any("flu, for" in each for each in said["warnings"])
    words = (*words, "--secret", "sex")
    known, told = (
        json.loads(files.run(*words, *more).stdout) for more in ((), ("--target-known",))
    )
    found, wanted = (each["adversaries"][-1]["readings"]["confidence"] for each in (known, told))
    assert any("flu, for" in each for each in known["warnings"])
    assert found["high"] == pytest.approx(wanted["high"], rel=0.1)


def test_a_policy_that_asks_nothing_of_the_secret_passes_nothing(files):
    done = files.run("audit", "--policy", files.policy("lenient"), "--secret", "sex")
    assert done.exit_code == 3
    assert "nothing-judged" in done.stdout


def test_a_policy_that_asks_nothing_of_what_somebody_can_infer_passes_no_declared_adversary(files):
    asked = ("audit", "--policy", files.policy("lenient"))
    assert files.run(*asked).exit_code == 0
    done = files.run(*asked, "--knows", "sex")
    assert done.exit_code == 3
    assert "limits what an adversary like “who knows sex” can infer" in " ".join(
        done.stdout.split()
    )
    page = files.run(*asked, "--knows", "sex", "--format", "html").stdout
    assert "whether the policy asks what is to be judged" in page
    assert "can be believed" not in page


def test_a_baseline_of_one_secret_accepts_nothing_of_another(files):
    baseline = files.folder / "baseline.json"
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "s"\nversion = "1"\ntitle = "s"\n[[clause]]\nid = "sure"\nmeasure = "guess_accuracy"\n'
        'rule = "at_most"\nlimit = 0.1\n'
    )
    words = ("--policy", pack, "--format", "json")
    files.run("audit", *words, "--secret", "sex", "--write-baseline", baseline)
    done = files.run("audit", *words, "--secret", "age", "--bins", "40", "--baseline", baseline)
    assert done.exit_code != 0


def test_a_file_of_adversaries_is_asked_of_beside_what_everybody_knows(files, told):
    alone = files.folder / "friend.toml"
    alone.write_text('knows = ["sex"]\n')
    _, said = report(files, "--adversary", told, "--adversary", alone, "--leaf", "rates")
    names = [each["name"] for each in said["adversaries"]]
    assert names == ["knows all", "neighbour", "register", "friend"]
    by = {each["name"]: each["readings"] for each in said["adversaries"]}
    assert by["friend"] == by["neighbour"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('leaf = "rates"\n', "who.toml: declares no adversary; add knows = [...]"),
        (
            'leaf = "rates"\n[[adversary]]\nname = "a"\nknows = ["sex"]\n',
            "'leaf' applies to all adversaries",
        ),
        ('secret = "age"\nknows = ["sex"]\n', "the secret is 'age' here and 'sex' elsewhere"),
        ("knows = [", "who.toml: not valid TOML"),
        ("adversary = []\n", "who.toml: declares no adversary; add knows = [...]"),
        ('leaf = "rates"\nknows = ["sex"]\n', "'leaf' applies to all adversaries"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\nleaf = "rates"\n',
            "'leaf' applies to all adversaries",
        ),
        (
            'knows = ["sex"]\ntarrget = true\n',
            "[[adversary]] number 1 ('who'): tarrget: unknown key (did you mean 'target'?)",
        ),
    ],
)
def test_a_file_of_adversaries_says_nothing_else(files, text, problem):
    who, known = files.folder / "who.toml", files.folder / "known.toml"
    who.write_text(text)
    known.write_text('secret = "sex"\n')
    done = files.run("audit", "--adversary", who, "--knowledge", known)
    assert done.exit_code == 4
    assert problem in done.output


def test_a_repair_is_advised_under_the_same_adversaries(files, told):
    done = files.run("audit", "--adversary", told, "--policy", files.policy("harsh"))
    assert done.exit_code == 1
    assert f"--adversary {told}" in done.output


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("secret = 3\n", "known.toml: secret: give a column"),
        (
            '[secret]\ncolumn = "flu"\nbins = [30, 60]\n',
            "known.toml: secret: bins divide numbers, but 'flu' contains categories; remove them",
        ),
        ('[[adversary]]\nknows = ["sex"]\n', "[[adversary]] number 1: name: field required"),
        ("[[fact]]\nsays = 3\n", "[[fact]] number 1"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarrget = true\n',
            "known.toml: [[adversary]] number 1 ('a'): tarrget: unknown key "
            "(did you mean 'target'?); use name, knows, target, columns",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\n[[adversary]]\nname = ""\nknows = ["sex"]\n',
            "known.toml: [[adversary]] number 2: name: string should have at least 1 character; use name, knows",
        ),
        (
            '[[adversary]]\nnam = "a"\nknows = ["sex"]\n',
            "number 1: nam: unknown key (did you mean 'name'?); use name",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\nleaf = "rates"\n',
            "leaf: unknown key; put it above all tables; use name",
        ),
        ('[[adversary]]\nname = "a"\nknows = 3\n', "('a'): knows: input should be a list; use"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarget = "yes"\n',
            "('a'): target: input should be true or false; use",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarget = 1\n',
            "('a'): target: input should be true or false; use",
        ),
        ('[secret]\ncolumn = "age"\nbins = ["1"]\n', "secret.bins.0: input should be a number"),
        ('[secret]\ncolumn = "age"\nbins = [true]\n', "secret.bins.0: input should be a number"),
        ("adversary = [3]\n", "[[adversary]] number 1: input should be a table; use name"),
        (
            "".join(f'[[adversary]]\nname = "{i}"\nknows = ["sex"]\n' for i in range(51)),
            "known.toml: adversary: 51 items, at most 50 allowed; remove some",
        ),
        ("training = 3\n", "known.toml: training: input should be a table; use leaf"),
        ('[adversary]\nname = "a"\n', "adversary: there can be several; write [[adversary]]"),
        (
            '[secret]\ncolum = "age"\n',
            "secret.colum: unknown key (did you mean 'column'?)",
        ),
        ('[[adversery]]\nname = "a"\n', "(did you mean 'adversary'?); use leaf, split"),
        ('[[adversary]]\nname = "knows all"\nknows = ["sex"]\n', "choose another name"),
        (
            'secret = "sex"\n[[adversary]]\nname = "who knows all else"\nknows = ["age"]\n',
            "choose another name",
        ),
    ],
)
def test_a_slip_in_a_knowledge_file_is_told_as_it_is_written_there(files, text, problem):
    (files.folder / "known.toml").write_text(text)
    done = files.run("audit", "--knowledge", files.folder / "known.toml")
    assert done.exit_code == 4
    assert problem in " ".join(done.stderr.split())


def test_who_knows_all_may_be_declared_and_is_asked_of_once(files):
    (files.folder / "known.toml").write_text('[[adversary]]\nname = "knows all"\nknows = "all"\n')
    _, said = report(files, "--knowledge", files.folder / "known.toml")
    assert [each["name"] for each in said["adversaries"]] in ([], ["knows all"])


OPEN_PACK = """name = "o"
version = "1"
title = "o"
[[clause]]
id = "certain"
measure = "certain_disclosure"
rule = "at_most"
limit = 0
"""


@pytest.mark.parametrize("command", ["audit", "repair"])
def test_no_budget_is_advised_where_time_was_not_lacking(files, command):
    pack = files.folder / "certain.toml"
    pack.write_text(OPEN_PACK)
    words = ["--policy", pack, "--secret", "sex", "--knows", "age"]
    words += ["-o", files.folder / "fixed.pmml"] if command == "repair" else []
    done = files.run(command, *words, "--verbose")
    assert done.exit_code == 3, done.output
    assert "not decided" in done.output
    assert "--worlds-budget" not in done.output


def test_a_budget_is_advised_of_an_adversary_where_the_time_was_over(files):
    pack = files.folder / "bounds.toml"
    asked = OPEN_PACK.replace("certain_disclosure", "world_bounds").replace("= 0\n", "= 0.5\n")
    pack.write_text(asked)
    words = ("--policy", pack, "--knows", "sex", "--worlds-budget", "1e-9", "--format", "json")
    said = json.loads(files.run("audit", *words).stdout)
    (found,) = (each for each in said["findings"] if each["of"])
    assert found["verdict"] == "UNDETERMINED"
    assert "a larger --worlds-budget may decide it" in found["message"]


def test_a_summary_says_of_other_adversaries_that_they_break_a_clause_too(files, told):
    pack = files.folder / "sure.toml"
    pack.write_text(OPEN_PACK.replace("certain_disclosure", "confidence"))
    page = files.run("audit", "--policy", pack, "--knowledge", told, "--format", "html").stdout
    assert "So it is of other adversaries." in page
    assert "other releases" not in page


def test_bins_of_a_categorical_target_are_refused_from_a_notebook_too(files):
    import treewarden as tw

    with pytest.raises(
        tw.KnowledgeError, match="bins divide numbers, but 'flu' contains categories"
    ):
        tw.audit(files.model, files.table, sensitive="flu", secret="flu", bins=[30, 60])


def test_a_baseline_holds_of_adversaries_what_it_accepts_and_nothing_else(files, told):
    baseline, pack = files.folder / "baseline.json", files.folder / "sure.toml"
    clause = '[[clause]]\nid = "{0}"\nmeasure = "{0}"\nrule = "at_most"\nlimit = 0.1\n'
    asked = "".join(map(clause.format, ("disclosure", "guess_accuracy", "label_disclosure")))
    pack.write_text(f'name = "s"\nversion = "1"\ntitle = "s"\n{asked}')
    words = ("--policy", pack, "--knowledge", told, "--format", "json")
    files.run("audit", *words, "--write-baseline", baseline)
    (model,) = json.loads(baseline.read_text())["models"].values()
    held = {each["clause"] for each in model["findings"]}
    done = files.run("audit", *words, "--baseline", baseline)
    findings = json.loads(done.stdout)["findings"]
    keys = {
        f"{each['clause']}, {each['of']}" if each["of"] else each["clause"]: each["accepted"]
        for each in findings
    }
    assert done.exit_code == 0
    assert held == {key for key, accepted in keys.items() if accepted} == set(keys)
    who = "the adversary “neighbour”"
    assert {f"guess_accuracy, {who}", f"disclosure, {who}"} <= held
