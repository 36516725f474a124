"""Results of the proofs to fail is not audited further; that changes no verdict, and nothing of what passes."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.tree import DecisionTreeClassifier

from tests.kit.small_audits import pack_of
from treewarden.audit.options import AuditOptions
from treewarden.jobs.audit_request import Request
from treewarden.jobs.auditing import CommandClock
from treewarden.jobs.read_inputs import read_subject
from treewarden.jobs.repairing import repair_file
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.reports.building.repair_document import repair_document
from treewarden.reports.document.parts import Value
from treewarden.terminal.check_table import repair_lines

PACK = pack_of(
    ("certain_disclosure", "at_most", 0),
    ("disclosure", "at_most", 0.9),
    ("label_disclosure", "at_most", 1),
)
NEVER, ALWAYS = 10**9, 0
SEEDS = [(6,), pytest.param((0, 8, 9), marks=pytest.mark.more_seeds)]


def subject_of(folder, seed):
    """Write a tree on a few kinds of people, and its table; read both."""
    draw = np.random.default_rng(seed)
    rows = draw.integers(0, 3, size=(60, 2)).astype(float)
    codes = (rows[:, 0] + draw.normal(0, 0.8, 60) > 1).astype(int)
    grown = DecisionTreeClassifier(max_depth=3, min_samples_leaf=2, random_state=0)
    names, classes = ["a", "b"], ["x", "y"]
    tree = from_sklearn(grown.fit(rows, codes), names, classes, target="class")
    (folder / "tree.pmml").write_bytes(writers()["pmml"].write(tree))
    lines = [f"{a},{b},{classes[code]}" for (a, b), code in zip(rows, codes, strict=True)]
    (folder / "people.csv").write_text("\n".join(["a,b,class", *lines, ""]))
    options = AuditOptions(sensitive="class", levels=False, jobs=1, worlds_budget=300)
    return read_subject(Request(folder / "tree.pmml", folder / "people.csv", options, policy=PACK))


@pytest.fixture(scope="module", params=SEEDS)
def found(request, tmp_path_factory):
    """Return, by seed, the repair with every audit to its end, and the one with each stopped that can be."""
    pairs = {}
    for seed in request.param:
        subject = subject_of(tmp_path_factory.mktemp("files"), seed)
        pairs[seed] = tuple(
            repair_file(subject, "fixed.pmml", every=True, large=large) for large in (NEVER, ALWAYS)
        )
    return pairs


def named(repaired):
    return {each.name: each for each in repaired.repair.attempts}


def test_no_verdict_changes_where_audits_are_stopped(found):
    for whole, brief in found.values():
        verdicts = [[(a.name, a.verdict) for a in each.repair.attempts] for each in (whole, brief)]
        assert verdicts[0] == verdicts[1]


def test_what_passes_is_read_in_full_and_the_same_file_is_written(found):
    passing = 0
    for whole, brief in found.values():
        assert (whole.file, whole.repair.message) == (brief.file, brief.repair.message)
        for name, each in named(brief).items():
            if each.verdict is PolicyVerdict.PASS:
                passing += 1
                assert not each.not_audited
                assert each.audit.full.readings == named(whole)[name].audit.full.readings
    assert passing


def test_only_what_fails_is_stopped_and_it_says_that_clauses_were_not_read(found):
    stopped = [
        each for _, brief in found.values() for each in named(brief).values() if each.not_audited
    ]
    assert stopped
    for each in stopped:
        assert each.verdict is PolicyVerdict.FAIL
        assert [finding.requirement.measure for finding in each.failing] == ["certain_disclosure"]
        assert "were skipped" in each.not_audited
    assert not any(
        each.not_audited for whole, _ in found.values() for each in named(whole).values()
    )


def test_a_range_of_the_original_says_what_was_cut_and_an_exact_figure_says_nothing(tmp_path):
    subject = subject_of(tmp_path, 6)
    repaired = repair_file(subject, "fixed.pmml")
    assert repaired.repair.search_cut == ""  # all was decided in time
    cut = "treewarden searched it for proofs for only 2 of the 20 seconds."
    search = replace(repaired.repair, search_cut=cut)
    provenance = CommandClock().provenance(Request(tmp_path / "tree.pmml", None), subject.pack)
    document = repair_document(search, provenance, "")
    proved = next(each for each in document.repair.compared if "proved" in each.plain)
    wide = proved.model_copy(update={"before": Value(low=3, high=9, text="3 to 9 people")})
    said = [
        "\n".join(repair_lines(_comparing(document, pair), "tree.pmml", ()))
        for pair in (proved, wide)
    ]
    assert [cut in each for each in said] == [False, True]


def _comparing(document, pair):
    repair = document.repair.model_copy(update={"compared": (pair,)})
    return document.model_copy(update={"repair": repair})
