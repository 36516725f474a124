"""What a report says is held against the audit done again: whoever changes what a reader sees is found out."""

from __future__ import annotations

import json

import pytest

from tests.treewarden.conftest import written
from treewarden.jobs.attesting.alike import ComparisonOutcome, overall
from treewarden.jobs.attesting.comparing import compared
from treewarden.reports.document.document import Document
from treewarden.reports.document.packing import read_document, unpack

KNOWN = """
[[adversary]]
name = "neighbour"
knows = ["sex"]

[[adversary]]
name = "friend"
knows = ["age", "sex"]
"""
ENSEMBLE = {
    "trees": 2,
    "leaves": 2,
    "recovered_leaves": 0,
    "replayed": False,
    "records_certain_by_leaf": 0,
    "records_certain": 0,
    "summary": "",
}
OVER_TREES = {"trees": 1, "by_leaf": 0, "certain": 0, "guessed": 0, "predicted": 0}
UNTOLD = {"low": None, "high": None, "text": "could not tell", "reason": "time is up"}


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    files = written(tmp_path_factory.mktemp("comparing"))
    (files.folder / "known.toml").write_text(KNOWN)
    told = ("--policy", files.policy("truth"), "--knowledge", files.folder / "known.toml")
    done = files.run("audit", *told, "--jobs", "1", "--format", "json")
    assert done.exit_code == 0, done.output
    return done.stdout


def outcome(said, change):
    forged = unpack(json.loads(said))
    change(forged)
    forged = Document.model_validate(forged)
    return overall(list(compared(forged, read_document(said.encode()))))


def friend(said):
    return said["adversaries"][2]


def swap(said):
    said["adversaries"].reverse()


def test_a_report_agrees_with_itself_in_whatever_order_its_adversaries_stand(said):
    assert outcome(said, lambda said: None) is ComparisonOutcome.AGREES
    assert outcome(said, swap) is ComparisonOutcome.AGREES


ADVERSARIES = {
    "deleted": lambda said: said["adversaries"].pop(),
    "all deleted": lambda said: said.update(adversaries=[]),
    "added": lambda said: said["adversaries"].append({**friend(said), "name": "stranger"}),
    "twice": lambda said: said["adversaries"].append(friend(said)),
    "renamed": lambda said: friend(said).update(name="stranger"),
    "knows": lambda said: friend(said).update(knows=["sex"]),
    "target known": lambda said: friend(said).update(target_known=True),
    "secret": lambda said: friend(said).update(secret="sex"),
    "verdict": lambda said: friend(said).update(verdict="FAIL"),
    "reading": lambda said: friend(said)["readings"]["confidence"].update(low=0.1, high=0.1),
    "text": lambda said: friend(said)["readings"]["confidence"].update(text="10 %"),
    "plain": lambda said: friend(said)["readings"]["confidence"].update(plain="nothing"),
    "reading deleted": lambda said: friend(said)["readings"].pop("confidence"),
    "worst": lambda said: friend(said)["worst"][0].update(text="nothing"),
    "worst deleted": lambda said: friend(said).update(worst=[]),
    "lacking": lambda said: friend(said)["lacking"][0]["confidence"].update(low=0.1, high=0.1),
    "lacking deleted": lambda said: friend(said)["lacking"].pop(),
    "lacking renamed": lambda said: friend(said)["lacking"][0].update(column="sex"),
}


@pytest.mark.parametrize("change", ADVERSARIES.values(), ids=ADVERSARIES)
def test_what_is_forged_of_an_adversary_differs(said, change):
    assert outcome(said, change) is ComparisonOutcome.DIFFERS


OPEN = {
    "verdict": lambda said: friend(said).update(verdict="UNDETERMINED"),
    "reading": lambda said: friend(said)["readings"]["confidence"].update(UNTOLD),
    "shown": lambda said: said["adversaries"][1].update(shown=[]),
    "lacking": lambda said: friend(said)["lacking"][0]["confidence"].update(UNTOLD),
    "worlds": lambda said: said["worlds"].update(otherwise=[]),
    "pictures": lambda said: said["plots"]["certainty"]["guess"].__setitem__(3, 0.0),
}


@pytest.mark.parametrize("change", OPEN.values(), ids=OPEN)
def test_what_another_run_may_come_to_is_open(said, change):
    assert outcome(said, change) is ComparisonOutcome.OPEN


SECTIONS = {
    "confidential": lambda said: said.update(confidential="For everybody."),
    "rests on": lambda said: said.update(rests_on="Nothing."),
    "not judged": lambda said: said.update(not_judged=[{"name": "k", "text": "no"}]),
    "dropped": lambda said: said.update(
        dropped=[{"constraint": "a", "where": "b", "problem": "c", "is_published": True}]
    ),
    "meaning": lambda said: said.update(meaning="All is well."),
    "lessons": lambda said: said["lessons"][0].update(figure="39 of 40"),
    "lesson deleted": lambda said: said["lessons"].pop(),
    "leaves": lambda said: said.update(leaves_broken=3),
    "warnings deleted": lambda said: said.update(warnings=[]),
    "warning added": lambda said: said["warnings"].append("Fine."),
    "tree": lambda said: said["tree"][1].update(records_text="2"),
    "mark": lambda said: said["tree"][1].update(risk="fail"),
    "levels deleted": lambda said: said["plots"].update(levels=[]),
    "level": lambda said: said["plots"]["levels"][0]["disclosure"].update(low=0.1, high=0.1),
    "entropy": lambda said: said["solver"].update(entropy=0.1),
    "estimate deleted": lambda said: said.update(solver=None),
    "worlds deleted": lambda said: said.update(worlds=None),
    "certain": lambda said: said["worlds"].update(records_certain=12),
    "summary": lambda said: said["worlds"].update(summary="Nobody’s value is proved."),
    "added section": lambda said: said.update(ensemble=ENSEMBLE),
    "reading deleted": lambda said: said["readings"].pop("confidence"),
    "reading added": lambda said: said["readings"].update(more=said["readings"]["confidence"]),
    "reading worded": lambda said: said["readings"]["confidence"].update(plain="nothing"),
    "why": lambda said: (
        said["findings"][0].update(why="Nothing."),
        said["findings"][0]["value"].update(low=0.0),
    ),
}


@pytest.mark.parametrize("change", SECTIONS.values(), ids=SECTIONS)
def test_what_is_forged_anywhere_else_differs(said, change):
    assert outcome(said, change) is ComparisonOutcome.DIFFERS


def test_a_reading_that_another_version_takes_is_open(said):
    def change(said):
        said["readings"].pop("confidence")
        said["provenance"]["version"] = "0.0.1"

    assert outcome(said, change) is ComparisonOutcome.OPEN


def test_a_report_of_which_a_further_file_was_not_written_agrees(said):
    more = "--posterior: posterior.csv is not written: too large"
    assert outcome(said, lambda said: said["warnings"].insert(0, more)) is ComparisonOutcome.AGREES


def test_another_reason_of_what_could_not_be_told_is_open(said):
    here = json.loads(said)
    here["readings"]["confidence"].update(UNTOLD)
    here = json.dumps(here)
    other = {**UNTOLD, "reason": "nobody asked"}
    assert outcome(here, lambda said: None) is ComparisonOutcome.AGREES
    assert (
        outcome(here, lambda said: said["readings"]["confidence"].update(other))
        is ComparisonOutcome.OPEN
    )


def test_what_the_first_trees_tell_is_not_in_every_report(said):
    here = {**json.loads(said), "ensemble": {**ENSEMBLE, "over_trees": [OVER_TREES]}}
    here = json.dumps(here)
    assert (
        outcome(here, lambda said: said["ensemble"].pop("over_trees")) is ComparisonOutcome.AGREES
    )
    first = {**OVER_TREES, "certain": 12}
    assert (
        outcome(here, lambda said: said["ensemble"].update(over_trees=[first]))
        is ComparisonOutcome.OPEN
    )
