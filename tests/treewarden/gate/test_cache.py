"""What is kept from one run to the next: only results, only under what they rest on, and never trusted blindly."""

from __future__ import annotations

import json
import os
import stat
import time
from datetime import date, timedelta

import pytest

from tests.kit import office_tables
from treewarden.jobs.gate.changed import Digests, key_of
from treewarden.jobs.gate.config import ConfigurationError, read_configuration
from treewarden.jobs.gate.gate_job import KEPT_SECONDS, Cache, Wish, cache_folder
from treewarden.jobs.gate.gating import gate
from treewarden.jobs.gate.models import models_of
from treewarden.reports.document.gate import Entry

ONE = '[[model]]\npath = "models/flu.pmml"\ntable = "people.csv"\nsensitive = "flu"\n'
PACK = 'policy = "lenient.toml"\n'


@pytest.fixture
def one(repository):
    repository.configure(ONE + PACK)
    return repository


def gated(repository, **wish):
    configuration = read_configuration(repository.folder / "treewarden.toml")
    wish = {"cache": repository.folder / ".treewarden-cache", **wish}
    return gate(configuration, Wish(**wish)).gate.entries


def kept(repository):
    return sorted((repository.folder / ".treewarden-cache").glob("*.json"))


def test_what_did_not_change_is_not_audited_again_and_says_the_same(one):
    (first,) = gated(one)
    (second,) = gated(one)
    assert (first.is_cached, second.is_cached) == (False, True)
    assert second.model_copy(update={"is_cached": False}) == first


CHANGES = {
    "the model": lambda repository: repository.change(),
    "the table": lambda repository: repository.write(
        "people.csv", (repository.folder / "people.csv").read_text().replace("30,F,no", "31,F,no")
    ),
    "the policy": lambda repository: repository.write(
        "lenient.toml", (repository.folder / "lenient.toml").read_text().replace("= 5", "= 6")
    ),
    "a setting": lambda repository: repository.configure(f"{ONE}{PACK}worlds = false\n"),
    "fail_on": lambda repository: repository.configure(f'{ONE}{PACK}fail_on = "note"\n'),
    "knowledge": lambda repository: (
        repository.write("known.toml", 'leaf = "counts"\n'),
        repository.configure(f'{ONE}{PACK}knowledge = "known.toml"\n'),
    ),
    "the names of its columns": lambda repository: repository.configure(
        f'{ONE}{PACK}columns = {{ age = "age" }}\n'
    ),
    "what is claimed of it": lambda repository: repository.configure(
        f'{ONE}{PACK}claims = "epsilon=1"\n'
    ),
    "its name": lambda repository: repository.configure(f'{ONE}{PACK}name = "a"\n'),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_changed_is_audited_again(one, change):
    gated(one)
    CHANGES[change](one)
    assert [entry.is_cached for entry in gated(one)] == [False]
    assert [entry.is_cached for entry in gated(one)] == [True]


def test_a_pass_is_kept_for_the_columns_that_it_was_given_for(one):
    rows = (one.folder / "people.csv").read_text().splitlines()
    twice = [f"{row},{row.partition(',')[0] if row[0].isdigit() else 'height'}" for row in rows]
    one.write("people.csv", "\n".join([*twice, ""]))
    one.model().write_text(one.model().read_text(encoding="utf-8").replace('"age"', '"f0"'))
    for column, outcome, is_cached in (
        ("age", "PASS", False),
        ("age", "PASS", True),
        ("height", "PASS", False),
        ("sex", "NO AUDIT", False),
        ("agee", "NO AUDIT", False),
    ):
        one.configure(f'{ONE}{PACK}columns = {{ f0 = "{column}" }}\n')
        (entry,) = gated(one)
        assert (entry.outcome, entry.is_cached) == (outcome, is_cached), column
    one.configure(f'{ONE}{PACK}columns = {{ f9 = "age" }}\n')
    (entry,) = gated(one)
    assert "no feature 'f9'" in entry.headline
    one.configure(ONE + PACK)
    (entry,) = gated(one)
    assert entry.outcome == "NO AUDIT"


def test_a_sheet_of_a_workbook_is_a_table_and_another_sheet_another(one):
    lines = (one.folder / "people.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    office_tables.write_book(one.folder / "people.xlsx", {"a": rows, "b": rows})
    for sheet, is_cached in (("a", False), ("a", True), ("b", False)):
        one.configure((ONE + PACK).replace("people.csv", f"people.xlsx#{sheet}"))
        (entry,) = gated(one)
        assert (entry.outcome, entry.is_cached) == ("PASS", is_cached)
    one.configure((ONE + PACK).replace("people.csv", "people.xls#a"))
    with pytest.raises(ConfigurationError, match="there is no such file"):
        gated(one)


@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_a_pack_that_the_policy_extends_is_part_of_what_it_rests_on(one, mark):
    one.write("base.toml", (one.folder / "lenient.toml").read_text())
    one.write("ours.toml", f'{mark}name = "ours"\nextends = "base.toml"\n')
    one.configure(f'{ONE}policy = "ours.toml"\n')
    (model,) = models_of(read_configuration(one.folder / "treewarden.toml"))
    before = key_of(model, Digests(), "1", date(2026, 1, 1))
    one.write("base.toml", (one.folder / "lenient.toml").read_text() + "# more\n")
    assert key_of(model, Digests(), "1", date(2026, 1, 1)) != before


def test_a_waiver_that_expires_is_a_change_and_another_day_is_none(one):
    one.write("waivers.toml", '[[waiver]]\nclause = "a"\nexpires = 2026-03-01\n')
    one.configure(f'{ONE}{PACK}waivers = "waivers.toml"\n')
    (model,) = models_of(read_configuration(one.folder / "treewarden.toml"))
    keys = [key_of(model, Digests(), "1", date(2026, month, 1)) for month in (1, 2, 3, 4, 5)]
    assert keys[0] == keys[1]
    assert keys[3] == keys[4]
    assert len(set(keys)) == 3


def test_another_version_keeps_results_of_its_own(one):
    (model,) = models_of(read_configuration(one.folder / "treewarden.toml"))
    today = date(2026, 1, 1)
    assert key_of(model, Digests(), "1", today) != key_of(model, Digests(), "2", today)


def test_a_file_is_read_once_a_run(one, tmp_path):
    digests, table = Digests(), one.folder / "people.csv"
    before, said = digests.digest_of(table), table.stat()
    data = table.read_bytes()
    table.write_bytes(bytes(len(data)))
    os.utime(table, ns=(said.st_atime_ns, said.st_mtime_ns))
    assert digests.digest_of(table) == before
    os.utime(table)
    assert digests.digest_of(table) != before


def test_nothing_of_the_table_is_kept_and_nobody_else_may_read_it(one):
    one.configure(f'{ONE}policy = "harsh.toml"\n')
    gated(one)
    folder = one.folder / ".treewarden-cache"
    (path,) = kept(one)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert (folder / ".gitignore").read_text() == "*\n"
    said = json.loads(path.read_text())
    assert set(said) == {"schema_version", "key", "entry", "needed", "told"}
    assert set(said["entry"]) <= set(Entry.model_fields)


def forged(text):
    """Say that a failing model passes, as a foreign entry would."""
    said = json.loads(text)
    said["entry"]["outcome"] = "PASS"
    return said


BROKEN = {
    "empty": lambda text: "",
    "half": lambda text: text[: len(text) // 2],
    "of another version": lambda text: text.replace("gate-cache/1", "gate-cache/2"),
    "of another key": lambda text: json.dumps({**forged(text), "key": "0" * 64}),
    "of another model": lambda text: json.dumps(
        {**forged(text), "entry": {**forged(text)["entry"], "file": "models/cold.pmml"}}
    ),
    "without a verdict": lambda text: json.dumps(
        {**forged(text), "entry": {**forged(text)["entry"], "outcome": "NO AUDIT"}}
    ),
    "with more in it": lambda text: json.dumps({**forged(text), "more": 1}),
    "no entry": lambda text: "[" * 100_000,
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_broken_or_foreign_entry_is_as_good_as_none_and_is_replaced(one, kind):
    one.configure(f'{ONE}policy = "harsh.toml"\n')
    gated(one)
    (path,) = kept(one)
    whole = path.read_text()
    path.write_text(BROKEN[kind](whole))
    assert [(entry.outcome, entry.is_cached) for entry in gated(one)] == [("FAIL", False)]
    assert path.read_text() == whole


def test_an_entry_that_others_can_write_is_not_trusted(one):
    gated(one)
    (path,) = kept(one)
    path.chmod(0o666)
    assert not gated(one)[0].is_cached
    path.parent.chmod(0o777)
    assert not gated(one)[0].is_cached


def test_a_model_without_audit_is_never_kept(one):
    one.model().write_text("<PMML")
    assert gated(one)[0].outcome == "NO AUDIT"
    assert kept(one) == []


def test_what_is_undetermined_is_kept_until_the_cache_is_left_out(one):
    one.configure(f'{ONE}policy = "undecided.toml"\n')
    assert gated(one)[0].outcome == "UNDETERMINED"
    assert gated(one)[0].is_cached
    assert not gated(one, fresh=True)[0].is_cached


def test_a_fresh_result_takes_the_place_of_an_older_one_and_no_other_is_kept(one):
    gated(one, fresh=True)
    assert kept(one) == []
    gated(one)
    (path,) = kept(one)
    path.write_text("older")
    gated(one, fresh=True)
    assert gated(one)[0].is_cached


def test_what_nothing_asked_for_in_a_month_is_removed_and_no_other_file(one):
    gated(one)
    folder = one.folder / ".treewarden-cache"
    old = time.time() - KEPT_SECONDS - timedelta(days=1).total_seconds()
    for name in ("a.json", "other.txt"):
        (folder / name).write_text("")
        os.utime(folder / name, (old, old))
    os.utime(kept(one)[-1], (old, old))
    assert gated(one)[0].is_cached
    assert not (folder / "a.json").exists()
    assert (folder / "other.txt").exists()
    assert len(kept(one)) == 1


def test_a_folder_that_cannot_be_used_costs_nothing_but_time(one):
    one.write("file", "")
    found = gate(
        read_configuration(one.folder / "treewarden.toml"), Wish(cache=one.folder / "file")
    )
    assert found.gate.outcome == "PASS"
    assert "results are not stored there" in found.notes[0]


def test_the_environment_says_where_it_is(one, tmp_path_factory):
    assert cache_folder(one.folder) == one.folder / ".treewarden-cache"
    assert Cache(one.folder / "nowhere").get("0" * 64, None) is None


def test_models_that_were_done_before_an_interrupt_are_not_audited_again(repository):
    configuration = read_configuration(repository.folder / "treewarden.toml")
    wish = Wish(cache=repository.folder / ".treewarden-cache", jobs=1)

    def interrupt(text):
        if text.startswith("2 of 3"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gate(configuration, wish, tell=interrupt)
    assert [each.is_cached for each in gate(configuration, wish).gate.entries].count(True) == 2


def test_a_gate_that_keeps_what_is_solved_says_the_same(repository):
    first = gated(repository, cache=None)
    again = [gated(repository, cache=None, kept=repository.folder / "kept") for _ in range(2)]
    assert again == [first, first]
    assert (repository.folder / "kept").is_dir()
