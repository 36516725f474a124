"""What a report says to do next can be done: with the format at hand, and about what could not be decided."""

from types import SimpleNamespace

import pytest

from tests.kit import places
from treewarden.audit.evidence import NOT_RUN, ONE_TREE
from treewarden.audit.reading import Undetermined
from treewarden.audit.run_inputs import NOT_JOINED
from treewarden.policies.judging.decision import ClauseRequirement, Finding
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models.files.convert import converted
from treewarden.ppdm_models.files.load import formats, open_model, writers
from treewarden.ppdm_models.formats import Rewritable
from treewarden.ppdm_models.tree.ensemble import Ensemble
from treewarden.reports.building.steps import repair_steps, undecided_steps

FILES = sorted(path for path in (places.DATA / "formats").glob("*/good/*") if path.is_file())
NAMES = [str(path.relative_to(places.DATA / "formats")) for path in FILES]


def steps(model):
    forest = SimpleNamespace(is_ensemble=isinstance(model, Ensemble))
    evidence = SimpleNamespace(model=model, forest=forest, together=ONE_TREE)
    return " ".join(repair_steps(evidence, failing()))


@pytest.mark.parametrize("path", FILES, ids=NAMES)
def test_repair_is_advised_as_it_works_for_each_format(path):
    file = open_model(path.read_bytes(), path.name)
    said, form = steps(file.model), file.model.format
    assert isinstance(file.opened, Rewritable) is formats()[form].rewrites
    if "--to" in said:
        target = said.partition("--to ")[2].partition("”")[0]
        assert converted(file.model, target)
    elif "with the same files" in said:
        assert isinstance(file.opened, Rewritable) or form in writers()
    else:
        assert "treewarden repair” cannot change this model" in said
        assert "larger leaves" in said or "fewer leaves" in said


def test_a_known_command_stands_by_itself_to_be_pasted():
    path = next(each for each in FILES if "xgboost_model" in str(each))
    model = open_model(path.read_bytes(), path.name).model
    forest = SimpleNamespace(is_ensemble=isinstance(model, Ensemble))
    evidence = SimpleNamespace(model=model, forest=forest, together=ONE_TREE)
    command = "treewarden repair a.json --data 'b c.csv' -o d.json"
    said, pasted, *_ = repair_steps(evidence, failing(), command)
    assert said.startswith("Run this command: ")
    assert pasted == command


def failing(*pairs):
    findings = [
        Finding(
            clause=clause,
            requirement=ClauseRequirement(measure="disclosure"),
            severity="error",
            reading=Undetermined(reason),
            verdict=PolicyVerdict.UNDETERMINED,
            message="",
        )
        for clause, reason in pairs
    ]
    return SimpleNamespace(failing=tuple(findings))


def test_each_reason_is_said_once_with_its_clauses_and_a_way_out():
    joint = f"{NOT_JOINED}: nobody knows"
    decision = failing(("certain", joint), ("disclosure", joint), ("label", NOT_RUN.reason))
    first, second = undecided_steps(decision)
    assert first.startswith(
        "Could not be decided: certain, disclosure. Its trees could not be combined"
    )
    assert "Publish a single tree" in first
    assert second.endswith("Audit again without --no-worlds.")


def test_what_nobody_can_mend_is_never_asked_for():
    (said,) = undecided_steps(failing(("label", "the tree predicts a number, not a class")))
    assert "a policy without this check" in said
    assert "Remove" not in said
