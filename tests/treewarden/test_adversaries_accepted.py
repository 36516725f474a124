"""What a baseline accepts of adversaries who know some columns only, and that waivers do not reach them."""

import hashlib
import json
from datetime import UTC, datetime, timedelta

import pytest


@pytest.fixture
def sure(files):
    pack = files.folder / "sure.toml"
    pack.write_text(
        'name = "s"\nversion = "1"\ntitle = "s"\n[[clause]]\nid = "sure"\nmeasure = "disclosure"\n'
        'rule = "at_most"\nlimit = 0.1\n'
    )
    return pack


SECRET = ("--secret", "sex", "--knows", "age", "--target-known")


@pytest.mark.parametrize("who", [("--knows", "sex"), SECRET])
def test_a_baseline_accepts_what_each_adversary_could_do_before(files, sure, who):
    baseline = files.folder / "baseline.json"
    words = ("--policy", sure, *who, "--format", "json")
    assert files.run("audit", *words, "--write-baseline", baseline).exit_code == 1
    done = files.run("audit", *words, "--baseline", baseline)
    findings = json.loads(done.stdout)["findings"]
    assert done.exit_code == 0
    assert any(each["of"] for each in findings)
    assert {each["accepted"]["by"] for each in findings} == {"baseline"}


@pytest.mark.parametrize("form", ["text", "html"])
def test_a_report_does_not_say_of_who_is_accepted_that_he_stays_below(files, sure, form):
    baseline = files.folder / "baseline.json"
    words = ("--policy", sure, "--knows", "sex", "--format", form)
    files.run("audit", *words, "--write-baseline", baseline)
    said = " ".join(files.run("audit", *words, "--baseline", baseline).stdout.split())
    assert (
        "stays below the policy’s limits, except for the accepted findings. An adversary who knows more may not"
        in said
    )
    alone = " ".join(
        files.run("audit", *words[2:], "--policy", files.policy("truth")).stdout.split()
    )
    assert "stays below the policy’s limits. An adversary who knows more may not" in alone


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (("--knows", "sex"), ("--knows", "age")),
        ((), ("--knows", "sex")),
        (SECRET, SECRET[:-1]),
        (SECRET, ("--secret", "age", "--bins", "40", "--knows", "sex", "--target-known")),
    ],
)
def test_a_baseline_accepts_nothing_of_other_adversaries_or_another_secret(
    files, sure, before, now
):
    baseline = files.folder / "baseline.json"
    words = ("--policy", sure, "--format", "json")
    files.run("audit", *words, *before, "--write-baseline", baseline)
    done = files.run("audit", *words, *now, "--baseline", baseline)
    assert done.exit_code == 1
    findings = json.loads(done.stdout)["findings"]
    assert findings[0]["clause"] == "baseline-other-audit"
    assert [each["accepted"] for each in findings] == [None] * len(findings)


def test_a_baseline_accepts_no_worse_model_of_an_adversary(files, sure):
    baseline, published = files.folder / "baseline.json", files.model.read_text()
    words = ("--policy", sure, "--knows", "sex", "--format", "json")
    of_old = published.split('<Node id="1"')[0] + "</Node></TreeModel></PMML>"
    files.model.write_text(of_old)
    assert files.run("audit", *words, "--write-baseline", baseline).exit_code == 1
    assert files.run("audit", *words, "--baseline", baseline).exit_code == 0
    files.model.write_text(published)
    done = files.run("audit", *words, "--baseline", baseline)
    findings = json.loads(done.stdout)["findings"]
    assert done.exit_code == 1
    assert [each["accepted"] for each in findings if each["of"]] == [None]


def waiver_of_all(files):
    digest = hashlib.sha256(files.model.read_bytes()).hexdigest()
    last = datetime.now(UTC).date() + timedelta(days=30)
    waivers = files.folder / "waivers.toml"
    waivers.write_text(
        f'[[waiver]]\nclause = "sure"\ndigest = "sha256:{digest}"\nreason = "r"\nowner = "o"\nticket = "t"\n'
        f"expires = {last}\n"
    )
    return waivers


@pytest.mark.parametrize(
    ("who", "told"), [(("--knows", "sex"), []), (SECRET, ["waiver-out-of-reach"])]
)
def test_a_waiver_accepts_nothing_that_an_adversary_learns_and_says_so(files, sure, who, told):
    words = ("--policy", sure, *who, "--waivers", waiver_of_all(files), "--format", "json")
    done = files.run("audit", *words)
    findings = json.loads(done.stdout)["findings"]
    assert done.exit_code == 1
    assert [each["clause"] for each in findings if not each["measure"]] == told
    of_others = [each for each in findings if each["of"]]
    assert [each["accepted"] for each in of_others] == [None] * len(of_others)
    assert all(
        "no waiver can accept, only a baseline file" in each["message"] for each in of_others
    )


def test_what_a_waiver_does_not_reach_is_not_called_unbroken(files, sure):
    words = ("--policy", sure, *SECRET, "--waivers", waiver_of_all(files))
    said = " ".join(files.run("audit", *words, "--verbose").stdout.split())
    assert (
        "waiver 1: it accepts nothing here: 'sure' fails because of what the adversary “who knows all else” and 1 more "
        "can infer, which no waiver can accept, only a baseline file (--write-baseline); remove it."
    ) in said
    assert "waiver-unused" not in said


def test_a_waiver_and_a_baseline_accept_together_what_each_may(files, sure):
    baseline, waivers = files.folder / "baseline.json", waiver_of_all(files)
    words = ("--policy", sure, "--knows", "sex", "--waivers", waivers, "--format", "json")
    assert files.run("audit", *words, "--write-baseline", baseline).exit_code == 1
    done = files.run("audit", *words, "--baseline", baseline, "--fail-on", "note")
    assert done.exit_code == 0
    by = {each["of"]: each["accepted"]["by"] for each in json.loads(done.stdout)["findings"]}
    assert by == {"": "waiver", "the adversary “who knows sex”": "baseline"}


def test_a_baseline_holds_no_profile_of_an_adversary_in_words(files, sure):
    baseline = files.folder / "baseline.json"
    files.run("audit", "--policy", sure, "--knows", "sex", "--write-baseline", baseline)
    (model,) = json.loads(baseline.read_text())["models"].values()
    own = [each for each in model["findings"] if "the adversary" in each["clause"]]
    assert [each["leaf"].partition(" ")[0] for each in own] == ["", "profile", "profile"]
    assert "sex = " not in baseline.read_text()
    assert "truly" not in baseline.read_text()


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
