"""Waivers and baselines over several models: what one of them needs is needed, and one file knows all of them."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, date, datetime, timedelta

import pytest

from treewarden.jobs.gate.config import read_configuration
from treewarden.jobs.gate.gate_job import Wish
from treewarden.jobs.gate.gating import gate

HARSH = """policy = "harsh.toml"
waivers = "waivers.toml"
[[model]]
path = ["models/flu.pmml", "models/cold.pmml"]
table = "people.csv"
sensitive = "flu"
"""
WAIVER = """[[waiver]]
clause = "the-one"
leaf = "{leaf}"
reason = "known to all"
owner = "Ana"
ticket = "T-1"
granted = 2026-01-01
expires = 2026-03-01
{more}
"""
TODAY, LATER = date(2026, 2, 1), date(2026, 3, 2)


def gated(repository, **wish):
    configuration = read_configuration(repository.folder / "treewarden.toml")
    wish = {"cache": repository.folder / ".treewarden-cache", "today": TODAY, **wish}
    return gate(configuration, Wish(**wish))


@pytest.fixture
def leaf(repository):
    """Return the fingerprint of the leaf that breaks the policy of two models."""
    repository.write("waivers.toml", "")
    repository.configure(HARSH)
    (entry, _) = gated(repository).gate.entries
    (found,) = {result.leaf for result in entry.results}
    return found


def outcomes(found):
    return {entry.name: entry.outcome for entry in found.gate.entries}


def test_a_waiver_of_a_leaf_holds_for_all_models_that_have_it_and_ends_with_its_day(
    repository, leaf
):
    assert outcomes(gated(repository)) == {"models/cold.pmml": "FAIL", "models/flu.pmml": "FAIL"}
    repository.write("waivers.toml", WAIVER.format(leaf=leaf, more=""))
    passing = {"models/cold.pmml": "PASS", "models/flu.pmml": "PASS"}
    assert outcomes(gated(repository)) == passing
    assert all(entry.is_cached for entry in gated(repository).gate.entries)
    assert gated(repository, today=LATER).gate.outcome == "FAIL"


def test_a_waiver_that_one_model_needs_is_not_unused_for_the_others(repository, leaf):
    repository.write("waivers.toml", WAIVER.format(leaf=leaf, more='model = "models/flu.pmml"'))
    for _ in range(2):  # the second time from the cache
        assert outcomes(gated(repository)) == {
            "models/cold.pmml": "FAIL",
            "models/flu.pmml": "PASS",
        }


def test_a_waiver_that_none_needs_is_told_once_over_all_models(repository, leaf):
    other = WAIVER.format(leaf="0" * 24, more="")
    repository.write("waivers.toml", WAIVER.format(leaf=leaf, more="") + other)
    for _ in range(2):
        found = gated(repository)
        (about,) = [entry for entry in found.gate.entries if entry.name == "waivers.toml"]
        assert [(each.clause, each.severity) for each in about.results] == [
            ("waiver-unused", "warning")
        ]
        assert about.outcome == found.gate.outcome == "PASS"
    assert gated(repository, fail_on="warning").gate.outcome == "FAIL"


def test_some_models_alone_cannot_tell_that_a_waiver_is_unused(repository, leaf):
    other = WAIVER.format(leaf="0" * 24, more="")
    repository.write("waivers.toml", WAIVER.format(leaf=leaf, more="") + other)
    found = gated(repository, paths=(repository.model(),))
    assert outcomes(found) == {"models/flu.pmml": "PASS"}
    repository.model("cold").write_text("<PMML")
    assert "waivers.toml" not in outcomes(gated(repository))


def test_waivers_that_are_not_understood_cost_the_audit_of_each_model(repository, leaf):
    repository.write("waivers.toml", "[[waiver]]\nclause = 3\n")
    found = gated(repository)
    assert set(outcomes(found).values()) == {"NO AUDIT"}
    assert all("waivers.toml" in entry.problem for entry in found.gate.entries)


def test_a_baseline_is_one_file_for_all_models_and_hides_what_it_knows(repository, leaf):
    path = repository.folder / "baseline.json"
    repository.configure(f'baseline = "baseline.json"\n{HARSH}')
    outcome = repository.run()
    assert outcome.exit_code == 4
    assert "to write it: treewarden gate --write-baseline baseline.json" in outcome.stderr
    assert repository.run("--write-baseline", path).exit_code == 1
    assert sorted(json.loads(path.read_text())["models"]) == ["models/cold.pmml", "models/flu.pmml"]
    assert repository.run().exit_code == 0
    assert repository.run("--write-baseline", path).exit_code == 1
    repository.configure(HARSH)
    assert repository.run("--baseline", path).exit_code == 0
    assert repository.run().exit_code == 1


def test_a_baseline_is_of_all_models(repository):
    outcome = repository.run("models/flu.pmml", "--write-baseline", repository.folder / "b.json")
    assert outcome.exit_code == 2
    assert "leave out PATHS" in outcome.stderr


def test_a_model_without_audit_is_not_in_the_baseline_and_that_is_said(repository, leaf):
    repository.model("cold").write_text("<PMML")
    outcome = repository.run("--write-baseline", repository.folder / "b.json")
    assert outcome.exit_code == 4
    assert "models/cold.pmml has no audit, so it is not in the baseline" in outcome.stderr
    said = json.loads((repository.folder / "b.json").read_text())
    assert list(said["models"]) == ["models/flu.pmml"]


def test_nothing_that_a_baseline_holds_is_kept_in_the_cache(repository, leaf):
    gated(repository, new_baseline=repository.folder / "b.json")
    for path in (repository.folder / ".treewarden-cache").glob("*.json"):
        assert not {"low", "high", "places"} & set(str(json.loads(path.read_text())).split("'"))


def test_waivers_beside_the_configuration_need_no_naming(repository):
    repository.write("treewarden-waivers.toml", "[[waiver]]\nclause = 3\n")
    outcome = repository.run()
    assert outcome.exit_code == 4
    assert "treewarden-waivers.toml" in outcome.output


def test_what_was_accepted_undecided_says_by_whom_why_and_until_when(repository):
    digest = hashlib.sha256(repository.model().read_bytes()).hexdigest()
    until = datetime.now(UTC).date() + timedelta(days=30)
    text = (repository.folder / "lenient.toml").read_text().replace("lenient", "open")
    clause = text.replace("k_anonymity", "certain_disclosure").replace("at_least", "at_most")
    repository.write("open.toml", clause.replace("limit = 5", "limit = 0"))
    repository.configure(
        '[[model]]\npath = "models/flu.pmml"\ntable = "people.csv"\nsensitive = "flu"\n'
        'policy = "open.toml"\nworlds = false\n'
    )
    assert repository.run("-q", "--no-cache").exit_code == 3
    repository.write(
        "treewarden-waivers.toml",
        f'[[waiver]]\nclause = "the-one"\ndigest = "sha256:{digest}"\nundecided = true\n'
        f'reason = "no time to prove it"\nowner = "R. Weiss"\nticket = "DP-1"\nexpires = {until}\n',
    )
    outcome = repository.run("-q")
    said = " ".join(outcome.stdout.split())
    assert outcome.exit_code == 0
    assert (
        "1 check accepted; the-one: not decided, and accepted as such: no time to prove it" in said
    )
    assert f"(R. Weiss, DP-1; until {until};" in said
