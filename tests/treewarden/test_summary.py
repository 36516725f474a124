"""What the terminal shows of an audit: few lines, the verdict first, and commands that can be pasted."""

from __future__ import annotations

import json
import re

import pytest

from tests.kit.places import DATA
from tests.kit.run import run_command, shown_commands
from tests.treewarden.conftest import CLAUSE
from treewarden.terminal.exits import line_for

QUICK = ("--no-worlds", "-q")
MIXED = """name = "mixed"
version = "1"
title = "mixed"

[[clause]]
id = "small"
measure = "k_anonymity"
rule = "at_least"
limit = 10

[[clause]]
id = "sure"
measure = "disclosure"
rule = "at_most"
limit = 0.99

[[clause]]
id = "hint"
measure = "label_disclosure"
rule = "at_most"
limit = 0.5
severity = "warning"

[[clause]]
id = "numbers"
measure = "value_disclosure"
parameters = { within = 0.05 }
rule = "at_most"
limit = 0
when = { task = "regression" }
"""


ALLOWED = """name = "allowed"
version = "1"
title = "allowed"

[[check]]
id = "sure"
measure = "confidence"
rule = "at_most"
limit = 1
"""


def mixed(files):
    path = files.folder / "mixed.toml"
    path.write_text(MIXED, encoding="utf-8")
    return path


def test_a_failing_audit_says_what_to_do_first_and_ends_with_what_to_type(files):
    outcome = files.run("audit", "--policy", "strict", *QUICK)
    lines = outcome.stdout.splitlines()
    assert outcome.exit_code == 1
    assert lines[0] == "FAIL: Do not publish flu.pmml."
    assert len(lines) <= 30
    heads = [line.split("  ")[0] for line in lines]
    order = [heads.index(each) for each in ("Failed", "Passed", "Not applicable", "Next")]
    assert order == sorted(order)
    assert lines.index("Next") > next(n for n, line in enumerate(lines) if "can learn" in line)


def test_a_passing_audit_is_told_in_twelve_lines(files):
    outcome = files.run("audit", "--policy", files.policy("lenient"), *QUICK)
    lines = outcome.stdout.splitlines()
    assert outcome.exit_code == 0
    assert lines[0] == "PASS: flu.pmml meets the policy “lenient”."
    assert len(lines) <= 12
    assert "age and sex" in " ".join(outcome.stdout.split())


def test_what_could_not_be_decided_is_told_with_its_reason_and_what_decides_it(files):
    outcome = files.run("audit", "--policy", mixed(files), "--time-limit", "0.000001", *QUICK)
    undecided = run_command("audit", files.model, "--no-table", "--policy", files.policy("truth"))
    lines = undecided.stdout.splitlines()
    assert outcome.exit_code in (1, 3)
    assert undecided.exit_code == 3
    assert lines[0].startswith("UNDETERMINED: Do not publish flu.pmml")
    assert "Not decided, and why" in lines
    assert shown_commands(undecided.stdout)[0][-2:] == ["--data", "TABLE"]


def test_required_and_advisory_checks_are_counted_apart(files):
    lines = files.run("audit", "--policy", mixed(files), *QUICK).stdout.splitlines()
    assert lines[1] == (
        "  1 of 2 required checks of the policy “mixed” failed. 1 of 1 advisory check did not pass."
    )
    assert "Not applicable  numbers (regression models only)" in lines


def test_each_failed_check_is_a_line_with_its_figure_its_limit_and_a_place(files):
    text = files.run("audit", "--policy", mixed(files), *QUICK).stdout
    row = next(line for line in text.splitlines() if line.startswith("  small "))
    assert re.fullmatch(
        r"  small +people in the smallest leaf +8 +>= 10 +1 leaf, e\.g\. line 33", row
    )


def test_checks_that_have_no_row_are_named(files, monkeypatch):
    monkeypatch.setattr("treewarden.terminal.summary.MOST_LINES", 10)
    clause = '[[clause]]\nid = "{}"\nmeasure = "k_anonymity"\nrule = "at_least"\nlimit = {}\n'
    path = files.folder / "several.toml"
    clauses = [clause.format(*each) for each in (("ten", 10), ("fifty", 50), ("many", 99))]
    path.write_text(f"{MIXED.partition('[[')[0]}{''.join(clauses)}")
    lines = files.run("audit", "--policy", path, *QUICK).stdout.splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("Failed "))
    assert [lines[at + 1].split()[0], lines[at + 2]] == [
        "ten",
        "  and 2 more (--verbose): fifty, many",
    ]


@pytest.mark.parametrize("policy", ["lenient", "harsh", "truth"])
def test_every_command_that_is_shown_runs(files, monkeypatch, policy):
    monkeypatch.chdir(files.folder)
    folder = files.folder / "it's here"
    folder.mkdir()
    model = files.model.rename(folder / "a tree.pmml")
    asked = ["audit", model, "--data", files.table, "--policy", files.policy(policy)]
    shown = shown_commands(run_command(*asked, *QUICK).stdout)
    assert shown
    for words in shown:
        assert run_command(*words[1:]).exit_code in (0, 1, 3), words


def test_a_repaired_model_passes_by_the_command_that_is_shown(files, monkeypatch):
    monkeypatch.chdir(files.folder)
    failing = files.run("audit", "--policy", files.policy("harsh"), *QUICK).stdout
    repair = run_command(*shown_commands(failing)[0][1:])
    assert repair.exit_code == 0
    assert repair.stdout.startswith(
        "PASS: The repaired model meets the policy “harsh” (the original flu.pmml does not)."
    )
    again = shown_commands(repair.stdout)[0]
    assert run_command(*again[1:]).exit_code == 0


def test_all_that_the_report_tells_is_there_with_verbose(files):
    full = files.run("audit", "--policy", files.policy("harsh"), *QUICK, "--verbose").stdout
    asked = files.run("audit", "--policy", files.policy("harsh"), *QUICK, "--format", "text").stdout
    assert full == asked
    assert "Metrics" in full


def test_the_full_text_is_not_mixed_with_a_report_for_programs(files):
    outcome = files.run("audit", "--verbose", "--format", "json")
    assert outcome.exit_code == 2
    assert "leave one out" in outcome.stderr


def test_a_redacted_summary_tells_no_figure_of_people(files):
    outcome = files.run("audit", "--policy", "standard", "--redacted", *QUICK)
    assert outcome.stdout.startswith("FAIL: Do not publish flu.pmml.")
    assert "can learn" not in outcome.stdout
    assert "line 33" not in outcome.stdout
    assert "Redacted" in outcome.stdout


def test_a_redacted_summary_says_of_failed_checks_that_their_figures_are_withheld(files):
    outcome = files.run("audit", "--policy", "standard", "--redacted", *QUICK)
    row = next(line for line in outcome.stdout.splitlines() if line.startswith("  smallest-leaf "))
    assert re.fullmatch(r"  smallest-leaf +people in the smallest leaf +withheld +>= 10", row)
    failed, _, _ = outcome.stdout.partition("Warning")
    assert "not decided" not in failed


@pytest.mark.parametrize("sensitive", [True, False])
def test_the_target_as_a_quasi_identifier_is_refused_with_advice_that_works(files, sensitive):
    words = ("--qi", "flu", "--policy", files.policy("lenient"), *QUICK)
    outcome = files.run("audit", *words, sensitive=sensitive)
    assert outcome.exit_code == 4
    assert "remove it from --qi, or leave out --qi" in outcome.stderr
    assert "add: --qi" not in outcome.stderr
    assert files.run("audit", "--policy", files.policy("lenient"), *QUICK).exit_code == 0


@pytest.mark.parametrize("cell", ["old", ""])
def test_a_cell_that_was_changed_is_not_advised_to_be_emptied(files, cell):
    text = files.table.read_text(encoding="utf-8").replace("\n30,F,no", f"\n{cell},F,no", 1)
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", files.policy("lenient"), *QUICK)
    assert outcome.exit_code == 4
    assert "record 1" in outcome.stderr
    if cell:
        assert "write the cell as it was when the model was trained" in outcome.stderr
    assert "leave the cell empty" not in outcome.stderr


def with_two_alone(files):
    """Write a model of which two people are each alone in a leaf, and its table."""
    text = files.model.read_text(encoding="utf-8")
    counts = {
        'score="no" recordCount="40"': 'score="no" recordCount="22"',
        '"no" recordCount="21"': '"no" recordCount="13"',
        '"yes" recordCount="19"': '"yes" recordCount="9"',
        'id="2" score="yes" recordCount="20"': 'id="2" score="yes" recordCount="2"',
        '"no" recordCount="9"': '"no" recordCount="1"',
        '"yes" recordCount="11"': '"yes" recordCount="1"',
        'recordCount="12">\n          <S': 'recordCount="1">\n          <S',
        '"no" recordCount="3"': '"no" recordCount="0"',
        f'{12 * " "}<ScoreDistribution value="yes" recordCount="9"': (
            f'{12 * " "}<ScoreDistribution value="yes" recordCount="1"'
        ),
        'id="4" score="no" recordCount="8"': 'id="4" score="no" recordCount="1"',
        '"no" recordCount="6"': '"no" recordCount="1"',
        '"yes" recordCount="2"': '"yes" recordCount="0"',
    }
    for old, new in counts.items():
        text = text.replace(old, new)
    files.model.write_text(text, encoding="utf-8")
    rows = files.table.read_text(encoding="utf-8").splitlines()
    young = [row for row in rows if row[:2] in ("ag", "30", "35")]
    files.table.write_text("\n".join([*young, "50,F,yes", "60,M,no", ""]), encoding="utf-8")


def test_who_is_alone_in_a_leaf_is_counted_as_in_the_full_report(files):
    with_two_alone(files)
    asked = ["audit", "--policy", files.policy("harsh"), *QUICK]
    text = files.run(*asked).stdout
    assert re.search(r"2 people +are each alone in a leaf", text), text
    assert "1 person" not in text
    report = json.loads(files.run(*asked, "--format", "json").stdout)
    assert report["readings"]["exposed_values"]["low"] == 2


def test_the_target_of_the_file_is_judged_where_no_column_is_named(files):
    named = files.run("audit", "--policy", files.policy("truth"), "--format", "json")
    default = files.run(
        "audit", "--policy", files.policy("truth"), "--format", "json", sensitive=False
    )
    assert (default.exit_code, named.exit_code) == (0, 0)


def test_a_table_without_the_target_asks_for_the_column(files):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", files.policy("truth"), sensitive=False)
    assert outcome.exit_code == 3
    first, second, *_ = outcome.stdout.splitlines()
    assert first.startswith("UNDETERMINED: ")
    assert second.startswith(
        "  The table has no column 'flu', which the model predicts; give the table"
    )
    command = shown_commands(outcome.stdout)[0]
    assert command[command.index("--data") + 1] == "TABLE"


@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_with_a_table_without_the_target_the_first_step_is_the_table_and_none_is_a_repair(
    files, policy
):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", policy, "-q", sensitive=False)
    assert outcome.exit_code in (1, 3)
    commands = shown_commands(outcome.stdout)
    assert commands[0][:2] == ["treewarden", "audit"]
    assert commands[0][commands[0].index("--data") + 1] == "TABLE"
    assert all(command[1] != "repair" for command in commands)


@pytest.mark.parametrize("policy", ["standard", "strict"])
def test_a_repair_with_a_table_without_the_target_says_so_and_asks_for_the_table(files, policy):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    files.table.write_text(text, encoding="utf-8")
    output = files.folder / "new.pmml"
    outcome = files.run("repair", "--policy", policy, "-o", output, sensitive=False)
    first, *_ = outcome.stdout.splitlines()
    assert first == "FAIL: Do not publish flu.pmml: it cannot be repaired with this table."
    assert "table has no column 'flu'" in " ".join(outcome.stdout.split())
    assert "no change was found" not in outcome.stdout
    assert "Train a new model" not in outcome.stdout
    assert "no useful change" not in outcome.stderr
    (command,) = shown_commands(outcome.stdout)
    assert command[:2] == ["treewarden", "repair"]
    assert command[command.index("--data") + 1] == "TABLE"
    assert not output.exists()


def test_a_sensitive_column_that_is_named_and_not_there_is_an_error_with_the_way_out(files):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", files.policy("truth"))
    assert (outcome.exit_code, outcome.stdout) == (4, "")
    assert "no column 'flu'; the table has 'age', 'sex', 'ill'" in outcome.stderr
    assert (
        "rename the column that holds it to 'flu', or give the table that has it" in outcome.stderr
    )
    assert "To audit without the true values, name no sensitive column" in outcome.stderr
    named = files.run(
        "audit", "--policy", files.policy("truth"), "--sensitive", "ill", sensitive=False
    )
    assert named.exit_code == 4
    assert "rename the table's column 'ill' to 'flu'" in named.stderr


def test_what_an_inference_passes_is_not_decided_where_the_table_lacks_the_target(files):
    text = files.table.read_text(encoding="utf-8").replace("age,sex,flu", "age,sex,ill")
    policy = files.policy("lenient")
    allowed = files.folder / "allowed.toml"
    allowed.write_text(ALLOWED, encoding="utf-8")
    assert files.run("audit", "--policy", allowed).exit_code == 0
    files.table.write_text(text, encoding="utf-8")
    outcome = files.run("audit", "--policy", allowed, "--split", "none", sensitive=False)
    assert outcome.exit_code == 3
    said = " ".join(outcome.stdout.split())
    assert (
        "could not be compared with the table, so sure cannot pass: the table has no column" in said
    )
    assert files.run("audit", "--policy", policy, sensitive=False).exit_code == 0  # sizes of leaves


@pytest.mark.parametrize(
    ("is_terminal", "environment", "is_coloured"),
    [
        (True, {}, True),
        (False, {}, False),
        (True, {"NO_COLOR": "1"}, False),
        (True, {"TERM": "dumb"}, False),
    ],
)
def test_a_verdict_is_in_colour_on_a_terminal_that_wants_it(is_terminal, environment, is_coloured):
    line = line_for("FAIL: Do not publish.", is_terminal=is_terminal, environment=environment)
    assert ("\x1b[" in line) is is_coloured
    assert re.sub(r"\x1b\[\d+m", "", line) == "FAIL: Do not publish."


def test_other_adversaries_have_a_line_each(files):
    asked = ("--knows", "sex", "--split", "none")
    outcome = files.run("audit", "--policy", "standard", *asked, *QUICK)
    lines = outcome.stdout.splitlines()
    assert "Adversaries" in lines
    assert len(lines) <= 30


def test_several_releases_are_told_as_one(files):
    other = files.folder / "old.pmml"
    other.write_bytes(files.model.read_bytes())
    asked = ["audit", other, files.model, "--data", files.table, "--policy", "standard"]
    outcome = run_command(*asked, *QUICK)
    assert outcome.stdout.splitlines()[0].startswith(("FAIL: Do not", "UNDETERMINED: Do not"))
    assert len(outcome.stdout.splitlines()) <= 32


@pytest.mark.parametrize("name", ["column-proved-by-a-leaf"])
def test_a_forest_that_passes_names_what_was_assumed(name):
    model = DATA / "forests" / f"{name}.pmml"
    asked = ["audit", model, "--data", model.with_suffix(".csv"), "--sensitive", "outcome", "-q"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 0
    assert "hiv (24 people)" in " ".join(outcome.stdout.split())
    assert "--secret" in outcome.stdout


def test_a_leak_that_can_be_removed_is_removed_by_the_command_that_is_shown(files, monkeypatch):
    monkeypatch.chdir(files.folder)
    text = files.model.read_text(encoding="utf-8")
    named = text.replace("<Header/>", '<Header description="of Ann Smith, 44"/>')
    files.model.write_text(named, encoding="utf-8")
    policy = files.folder / "beside.toml"
    said = CLAUSE.format(name="beside", measure="side_leaks", rule="at_most", limit=0)
    policy.write_text(said, encoding="utf-8")
    outcome = files.run("audit", "--policy", policy, *QUICK)
    first = shown_commands(outcome.stdout)[0]
    assert (outcome.exit_code, first[1]) == (1, "redact")
    assert run_command(*first[1:]).exit_code == 0
    again = ["audit", first[-1], "--data", files.table, "--sensitive", "flu", "--policy", policy]
    assert run_command(*again, *QUICK).exit_code == 0
