"""Workflow commands: escaped as the runner reads them, at most ten of a kind, for all models."""

import re

from tests.reports.gates import fails_in_many_leaves
from treewarden.reports.building.entry import gate_of, unaudited
from treewarden.reports.renderers import renderer


def lines(gate):
    return renderer("github").render_gate(gate).decode("utf-8").splitlines()


def annotations(gate, kind="error"):
    return [line for line in lines(gate) if line.startswith(f"::{kind} ")]


def test_a_finding_is_an_annotation_at_its_line():
    shown = annotations(fails_in_many_leaves(3, models=2))
    assert shown[1].startswith("::error file=m0.pmml,line=11,title=treewarden%3A smallest-leaf::")
    assert len(shown) == 6


def test_ten_of_a_kind_are_shown_the_last_saying_how_many_more_there_are():
    assert len(annotations(fails_in_many_leaves(10))) == 10
    shown = annotations(fails_in_many_leaves(25))
    assert len(shown) == 10
    assert shown[-1] == "::error title=treewarden::16 more errors: see the log"
    assert len([line for line in lines(fails_in_many_leaves(25)) if line.startswith("- ")]) == 25


def test_the_worst_comes_first_and_what_was_accepted_is_a_notice(gate):
    assert "no-audit" in annotations(gate)[0]
    assert all("Accepted, " in each for each in annotations(gate, "notice"))
    assert len(annotations(gate, "notice")) == 6


def test_the_first_line_says_what_came_of_it(gate):
    assert lines(gate)[0].startswith("treewarden: NO AUDIT: 6 models: 1 has no audit")


def test_signs_that_the_runner_reads_are_escaped():
    odd = unaudited("a", "odd,100%:x.pmml", "it is 100% odd\n::error::injected\r##[error]x")
    (said,) = annotations(gate_of([odd], "error"))
    assert said.startswith("::error file=odd%2C100%25%3Ax.pmml,line=1,title=")
    assert "100%25 odd" in said


def test_no_name_makes_a_command_of_its_own(hostile_gate):
    bad = unaudited("a", "::error::x", "\n::set-output name=x::y ##[set-env name=x]y")
    for line in (*lines(hostile_gate), *lines(gate_of([bad], "error"))):
        is_ours = re.match(r"::(error|warning|notice) |::group::All findings$|::endgroup::$", line)
        assert is_ours or not line.lstrip().startswith("::")
        assert is_ours or "##[" not in line


def test_each_model_has_a_line_before_details_of_any():
    shown = annotations(fails_in_many_leaves(20, models=4))
    assert len(shown) == 10
    for model, line in enumerate(shown[:4]):
        assert line == (
            f"::error file=m{model}.pmml,line=1,title=treewarden%3A FAIL::"
            "1 required check failed: smallest-leaf (20 errors)"
        )
    assert [line.split(",")[0] for line in shown[4:9]] == [
        f"::error file=m{model}.pmml" for model in (0, 1, 2, 3, 0)
    ]
    assert shown[-1] == "::error title=treewarden::75 more errors: see the log"


def test_the_only_finding_of_a_model_is_its_line():
    shown = annotations(fails_in_many_leaves(1, models=3))
    assert len(shown) == 3
    assert all("smallest-leaf::" in line for line in shown)


def test_more_models_than_lines_are_counted():
    shown = annotations(fails_in_many_leaves(2, models=14))
    assert len(shown) == 10
    assert shown[-1] == "::error title=treewarden::5 more models with errors: see the log"
