"""An ensemble, and what a file gives away beside its trees, from the command line."""

from __future__ import annotations

import json

import pytest

from tests.kit.forests import by_sex, forest, stump
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.policies.pack import load_pack
from treewarden.ppdm_models.files.convert import converted

POLICY = """name = "beside"
version = "1"
title = "beside"

[[clause]]
id = "nothing-beside"
measure = "side_leaks"
rule = "at_most"
limit = 0
"""


@pytest.fixture
def several(files):
    """The files with an ensemble in place of the tree: its second tree has a leaf of 8."""
    ensemble = forest(stump(40.0, "no", "yes"), stump(55.0, "no", "yes"), by_sex("yes", "no"))
    files.model.write_bytes(converted(ensemble, "pmml"))
    (files.folder / "beside.toml").write_text(POLICY, encoding="utf-8")
    return files


def test_the_worst_leaf_of_all_trees_decides(several):
    outcome = several.run("audit", "--policy", several.policy("harsh"), "--verbose")
    assert outcome.exit_code == 1
    said = " ".join(outcome.stdout.split())
    assert "8 people in tree 2, node 2, line " in said
    assert "age ≥ 55" in said


def test_what_all_trees_say_together_is_undetermined(several):
    outcome = several.run("audit", "--policy", several.policy("truth"), "--format", "json")
    assert outcome.exit_code == 3
    reading = json.loads(outcome.stdout)["readings"]["disclosure"]
    assert "could not be combined" in reading["reason"]


def test_leaves_alone_can_pass(several):
    assert several.run("audit", "--policy", several.policy("lenient")).exit_code == 0


def test_there_is_no_estimate_to_write(several):
    target = several.folder / "posterior.csv"
    outcome = several.run("audit", "--policy", several.policy("truth"), "--posterior", target)
    assert "is not written" in outcome.stderr
    assert not target.exists()


def test_every_report_can_be_written(several):
    out = several.folder / "out"
    out.mkdir()
    asked = ["--out", out, "--format", "html", "--format", "json", "--format", "text"]
    assert several.run("audit", "--policy", several.policy("harsh"), *asked).exit_code == 1
    assert len(list(out.iterdir())) == 3


def test_a_folder_has_a_digest_that_changes_with_its_files(files):
    folder = files.folder / "spark"
    folder.mkdir()
    request = Request(folder, files.table)
    digests = set()
    for content in ("one", "two"):
        (folder / "part-0").write_text(content, encoding="utf-8")
        digests.add(CommandClock().provenance(request, load_pack("baseline")).model.sha256)
    assert len(digests) == 2


@pytest.mark.parametrize(("header", "code"), [("<Header/>", 0), ('<Header copyright="ann"/>', 1)])
def test_what_the_file_holds_beside_its_trees_is_judged(files, header, code):
    (files.folder / "beside.toml").write_text(POLICY, encoding="utf-8")
    text = files.model.read_text(encoding="utf-8").replace("<Header/>", header)
    files.model.write_text(text, encoding="utf-8")
    assert files.run("audit", "--policy", files.policy("beside")).exit_code == code
