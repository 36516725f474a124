"""Progress: silent for what is quick, heard for what is not."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from treewarden.audit.engine.time_budget import TimeBudget
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import AT_LEAST, FOREVER, TIME_LIMIT, counted_by, work_clock
from treewarden.audit.run_tree import INFERRING
from treewarden.jobs.audit_request import AuditFiles, Request
from treewarden.jobs.auditing import audit_file
from treewarden.ppdm_models.files.fitted import open_fitted
from treewarden.ppdm_models.tables.read_table import table_of
from treewarden.terminal.progress import PATIENCE_SECONDS, Doing, ProgressPrinter, lasting


def test_a_quick_step_is_not_mentioned(capsys):
    with ProgressPrinter().step("reading"):
        pass
    assert capsys.readouterr() == ("", "")


def test_a_long_step_is_announced_on_stderr(capsys):
    with ProgressPrinter().step("solving"):
        threading.Event().wait(PATIENCE_SECONDS + 0.2)
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("solving ...\nsolving: done in 1.")


def test_quiet_means_quiet(capsys):
    with ProgressPrinter(quiet=True).step("solving"):
        threading.Event().wait(PATIENCE_SECONDS + 0.2)
    assert capsys.readouterr() == ("", "")


def test_a_failing_step_fails_as_it_would_alone():
    with pytest.raises(ValueError, match="bad"), ProgressPrinter().step("solving"):
        raise ValueError("bad")


def test_a_step_that_goes_on_says_how_far_it_is_and_about_how_long_the_rest_takes(capsys):
    with ProgressPrinter(every_seconds=0.2).step("solving") as share:
        share(30, 120, "parts")
        threading.Event().wait(PATIENCE_SECONDS + 0.5)
    assert "solving: 30 of 120 parts, about " in capsys.readouterr().err


def test_a_step_that_tells_nothing_of_itself_says_how_long_it_runs(capsys):
    with ProgressPrinter(every_seconds=0.2).step("reading"):
        threading.Event().wait(PATIENCE_SECONDS + 0.5)
    assert "reading: 1 s so far" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.2, "1 s"), (40, "40 s"), (600, "10 min"), (7200, "2.0 h")]
)
def test_how_long_something_takes_is_said_in_words(seconds, said):
    assert lasting(seconds) == said


def test_what_is_all_done_says_nothing_of_the_rest():
    doing = Doing("solving")
    doing(3, 3, "parts")
    assert doing.line() == "solving: 1 s so far"


def test_a_count_that_begins_anew_has_a_pace_of_its_own():
    doing = Doing("solving", begun=0.0, since=0.0)
    doing(9, 10, "parts")
    doing(0, 10, "parts")
    doing(5, 10, "parts")
    assert doing.line() == "solving: 5 of 10 parts, about 1 s left"


def test_stages_of_an_audit_say_which_share_is_done():
    told: dict[str, list[tuple[float, float, str]]] = {}

    @contextmanager
    def step(doing):
        told[doing] = []
        yield lambda *share: told[doing].append(share)

    columns = np.random.default_rng(0).integers(0, 9, (200, 3))
    table = pd.DataFrame(columns, columns=["a", "b", "c"])
    fitted = DecisionTreeClassifier(max_depth=3, random_state=0).fit(table, columns.sum(1) > 12)
    target = np.where(columns.sum(1) > 12, "True", "False")
    file = open_fitted(fitted, target="big", names=("a", "b", "c"))
    options = AuditOptions(sensitive="big", jobs=1)
    audit_file(Request(file, table_of({**table, "big": target}), options), step)
    for stage in (INFERRING, "measuring", "judging"):
        assert all(0 <= done <= of for done, of, _ in told[stage])
        assert any(done == of > 1 for done, of, _ in told[stage]), stage
    assert {what for _, _, what in told[INFERRING]} >= {"splits listed", "comparisons checked"}
    (searching,) = (shares for stage, shares in told.items() if stage.startswith("searching for"))
    assert searching == [(done, 4, "parts") for done in (1, 2, 3)]


def test_items_are_counted_as_they_are_dealt_with():
    told = []
    items = counted_by(lambda *share: told.append(share), "ab", 2, "letters")
    assert next(items) == "a"
    assert told == []
    assert list(items) == ["b"]
    assert told == [(1, 2, "letters"), (2, 2, "letters")]
    assert list(counted_by(None, "ab", 2, "letters")) == ["a", "b"]


def test_a_clock_tells_how_much_of_its_time_is_used():
    told = []
    until = work_clock(10).told_to(lambda *share: told.append(share))
    until.spend(4)
    assert not until.is_over
    assert told[-1] == (4, 10, TIME_LIMIT)
    part = until.share(0.5)  # 3 of the 6 that are left
    part.spend(5)
    assert part.is_over
    assert told[-1] == (9, 10, TIME_LIMIT)
    assert FOREVER.told_to(told.append) is FOREVER


def test_a_budget_tells_of_proofs_and_of_the_search_as_one():
    told = []
    budget = TimeBudget(work_clock(10), searching=5).told_to(lambda *share: told.append(share))
    budget.until.spend(12)
    assert budget.until.is_over
    search = budget.search_clock()
    search.spend(1)
    assert not search.is_over
    assert told[-1] == (13, 15, TIME_LIMIT)


def test_a_stage_of_which_only_the_limit_is_known_says_how_much_of_it_is_used():
    doing = Doing("proving")
    doing(12.4, 60, TIME_LIMIT)
    assert doing.line() == "proving: 12 of at most 60 s"
    doing(3, 40, AT_LEAST)
    assert doing.line() == "proving: 12 of at most 60 s; at least 3 of 40 must be withheld"


@pytest.mark.more_cases
def test_stages_of_several_trees_say_how_much_of_their_time_is_used():
    told: dict[str, list[tuple[float, float, str]]] = {}

    @contextmanager
    def step(doing):
        told[doing] = []
        yield lambda *share: told[doing].append(share)

    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.integers(0, 9, (60, 2)), columns=["a", "b"])
    big = np.where(frame["a"] + frame["b"] > 8, "True", "False")
    fitted = RandomForestClassifier(5, max_depth=3, bootstrap=False, random_state=0).fit(frame, big)
    file = open_fitted(fitted, target="big", names=("a", "b"))
    table = table_of({**frame, "big": big})
    options = AuditOptions(sensitive="big", jobs=1)
    audit_file(Request(file, table, options, AuditFiles(population=table)), step)
    for stage in ("reasoning over", "measuring what the first", "proving who was", "proving whole"):
        (shares,) = (shares for doing, shares in told.items() if doing.startswith(stage))
        assert shares, stage
        assert all(0 <= done <= of and what == TIME_LIMIT for done, of, what in shares), stage
