"""Several releases of different tables without a column that says who is who: what is proved, and what never passes."""

from __future__ import annotations

import json

import pytest

import treewarden
from tests.kit.releases import CERTAIN, LEAVES, a_table, a_tree
from tests.kit.run import audit_files, run_command

LEAF = (
    '<Node id="{n}" score="{mean}" recordCount="{people}"><SimplePredicate field="place" operator="equal" '
    'value="{place}"/></Node>'
)
CORE = [f"c{n} a {'yes' if n < 2 else 'no'}" for n in range(9)]
CORE += [f"o{n} b {'yes' if n % 2 else 'no'}" for n in range(12)]
HEALTHY = [f"s{n} a no" for n in range(4)]
"""Look-alikes, three of whom are in each release: whoever knows which ones knows that all four are healthy."""


def without_ids(table):
    return "".join(line.partition(",")[2] + "\n" for line in table.splitlines())


@pytest.fixture
def folder(tmp_path):
    for year in range(4):
        table = a_table(*CORE, *(one for n, one in enumerate(HEALTHY) if n != year))
        (tmp_path / f"y{year}_id.csv").write_text(table)
        (tmp_path / f"y{year}.csv").write_text(without_ids(table))
        (tmp_path / f"y{year}.pmml").write_bytes(a_tree(table))
    (tmp_path / "certain.toml").write_text(CERTAIN)
    return tmp_path


def audited(folder, *words, models=range(4), tables=None, policy="certain.toml"):
    tables = [f"y{n}.csv" for n in models] if tables is None else tables
    files = [folder / f"y{n}.pmml" for n in models]
    policy = folder / policy if policy.endswith(".toml") else policy
    return audit_files(files, [folder / name for name in tables], "illness", policy, "-q", *words)


@pytest.mark.parametrize("policy", ["certain.toml", "standard", "baseline"])
def test_tables_that_hold_the_same_may_be_of_other_people_and_never_pass(folder, policy):
    with_ids = [f"y{n}_id.csv" for n in range(4)]
    assert audited(folder, "--id", "id", tables=with_ids).exit_code == 1
    assert audited(folder, policy=policy).exit_code == 3


def test_text_says_why_nothing_passes_and_what_to_do(folder):
    said = " ".join(audited(folder, "--verbose").stdout.split())
    assert "UNDETERMINED releases-linked" in said
    assert "no column was named that identifies a person (--id)" in said
    assert "a person may have left while a similar one joined" in said
    assert "Name the column that identifies a person in all tables: --id COLUMN" in said
    assert "difference of the two totals" not in said


def test_a_column_that_may_be_the_id_is_named(folder):
    tables = [f"y{n}_id.csv" for n in range(4)]
    document = json.loads(audited(folder, "--format", "json", tables=tables).stdout)
    assert document["verdict"] == "UNDETERMINED"
    assert any("audit with --id id" in each for each in document["warnings"])


@pytest.mark.parametrize("form", ["json", "html", "markdown", "sarif", "junit"])
def test_no_form_tells_a_difference_of_totals(folder, form):
    for number, table in enumerate((a_table(*CORE), a_table(*CORE, "new a yes"))):
        (folder / f"y{number}.csv").write_text(without_ids(table))
        (folder / f"y{number}.pmml").write_bytes(a_tree(table))
    outcome = audited(folder, "--format", form, models=(0, 1))
    assert outcome.exit_code == 3
    assert "difference of" not in outcome.stdout
    if form == "json":
        assert not json.loads(outcome.stdout)["ensemble"]["differences"]


def test_the_sensitive_value_links_nobody(folder):
    before = a_table(*CORE, "1 a yes", "2 a no")
    after = a_table(*CORE, "1 a yes", "3 a yes")
    for number, table in enumerate((before, after)):
        (folder / f"y{number}.csv").write_text(without_ids(table))
        (folder / f"y{number}.pmml").write_bytes(a_tree(table, leaf_of=lambda _: "all"))
    document = json.loads(audited(folder, "--format", "json", models=(0, 1)).stdout)
    assert document["verdict"] == "UNDETERMINED"
    assert document["worlds"] is None
    assert not document["ensemble"]["releases"]


def test_what_a_release_proves_by_itself_fails_whoever_is_who(folder):
    table = a_table(*CORE, "1 c yes", "2 c yes")
    (folder / "y1.csv").write_text(without_ids(table))
    (folder / "y1.pmml").write_bytes(a_tree(table))
    outcome = audited(folder, "--format", "json", models=(1, 0))
    assert outcome.exit_code == 1
    failing = [each for each in json.loads(outcome.stdout)["findings"] if each["verdict"] == "FAIL"]
    assert [each["of"] for each in failing] == ["y1.pmml by itself"]


def test_what_the_releases_of_one_table_prove_fails_whoever_is_in_the_others(folder):
    table = a_table("1 a yes", "2 b no", "3 c yes", "4 c no", "5 a no", "6 b no")
    other = a_table(*CORE)
    for number, places in enumerate(("a", "ab")):
        tree = a_tree(table, leaf_of=lambda place, own=places: str(place in own))
        (folder / f"y{number}.pmml").write_bytes(tree)
    (folder / "y0.csv").write_text(without_ids(table))
    (folder / "y2.csv").write_text(without_ids(other))
    (folder / "y2.pmml").write_bytes(a_tree(other))
    tables = ("y0.csv", "y0.csv", "y2.csv")
    outcome = audited(folder, "--format", "json", models=(0, 1, 2), tables=tables)
    assert outcome.exit_code == 1
    failing = [each for each in json.loads(outcome.stdout)["findings"] if each["verdict"] == "FAIL"]
    assert "y1.pmml with the releases of the same table" in [each["of"] for each in failing]
    for number in (0, 1):
        # One tree by itself proves somebody if an adversary supposes how its split was chosen.
        alone = audited(folder, "--split", "none", models=(number,), tables=("y0.csv",))
        assert alone.exit_code == 0


def test_not_even_a_policy_of_leaves_alone_passes_and_what_it_reads_is_told(folder):
    (folder / "leaves.toml").write_text(CERTAIN.partition("[[clause]]")[0] + LEAVES)
    outcome = audited(folder, "--format", "json", policy="leaves.toml")
    assert outcome.exit_code == 3
    found = {each["clause"]: each["verdict"] for each in json.loads(outcome.stdout)["findings"]}
    assert found == {"releases-linked": "UNDETERMINED", "leaves": "PASS"}


def test_what_is_not_known_cannot_be_accepted(folder):
    baseline = folder / "known.json"
    assert audited(folder, "--write-baseline", str(baseline)).exit_code == 3
    assert audited(folder, "--baseline", str(baseline)).exit_code == 3


def test_a_redacted_report_says_what_to_do(folder):
    document = json.loads(audited(folder, "--redacted", "--format", "json").stdout)
    (said,) = [each for each in document["findings"] if each["clause"] == "releases-linked"]
    assert "(--id)" in said["message"]


def test_one_file_given_for_each_release_is_one_table(folder):
    same = folder / "." / "y0.csv"
    twice = audited(folder, models=(0, 0), tables=("y0.csv", "y0.csv"))
    assert twice.exit_code == 0
    (folder / "inner").mkdir()
    spelled = audited(folder, models=(0, 0), tables=(same.name, "inner/../y0.csv"))
    assert spelled.exit_code == 0


def in_memory(folder, year):
    pandas = pytest.importorskip("pandas")
    return pandas.read_csv(folder / f"y{year}.csv")


def test_a_notebook_links_what_is_handed_in_twice_and_nothing_else(folder):
    given = {"sensitive": "illness", "policy": folder / "certain.toml"}
    frame = in_memory(folder, 0)
    model = folder / "y0.pmml"
    one = treewarden.audit(model, frame, earlier=[(model, frame)], **given)
    assert one.verdict is treewarden.Verdict.PASS
    other = treewarden.audit(model, frame, earlier=[(model, frame.copy())], **given)
    assert other.verdict is treewarden.Verdict.UNDETERMINED
    said = " ".join(other.to_dict()["next_steps"])
    assert "id=COLUMN, or id in a gate" in said


GATE = """ignore = ["*.pmml"]

[[model]]
path = "y1.pmml"
table = "y1.csv"
sensitive = "illness"
policy = "certain.toml"
earlier = [{ path = "y0.pmml", table = "y0.csv" }]
"""


def test_a_gate_without_an_id_is_undetermined_and_says_so(folder):
    (folder / "treewarden.toml").write_text(GATE)
    asked = ["gate", "--config", str(folder / "treewarden.toml"), "--quiet", "--format", "json"]
    outcome = run_command(*asked)
    assert outcome.exit_code == 3
    assert "no column was named that identifies a person ('id')" in outcome.stdout
    assert "identifies a person (--id)" not in outcome.stdout
    assert "audit with --id" not in outcome.stdout


def test_releases_of_numbers_without_an_id_never_pass(folder):
    scores = {"a": [10, 20, 60, 90, 30], "b": [15, 85, 40, 70, 25]}
    leaves = "".join(
        LEAF.format(n=n, mean=sum(own) / len(own), people=len(own), place=place)
        for n, (place, own) in enumerate(scores.items(), start=1)
    )
    tree = (
        '<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header/><DataDictionary>'
        '<DataField name="place" optype="categorical" dataType="string"/>'
        '<DataField name="illness" optype="continuous" dataType="double"/></DataDictionary>'
        '<TreeModel functionName="regression" splitCharacteristic="multiSplit"><MiningSchema>'
        '<MiningField name="place"/><MiningField name="illness" usageType="target"/></MiningSchema>'
        f'<Node id="0" score="44.5" recordCount="10"><True/>{leaves}</Node></TreeModel></PMML>'
    )
    rows = [f"{place},{score}\n" for place, own in scores.items() for score in own]
    for number in (0, 1):
        (folder / f"y{number}.csv").write_text("place,illness\n" + "".join(rows))
        (folder / f"y{number}.pmml").write_text(tree)
    policy = CERTAIN.replace("certain_disclosure", "value_disclosure")
    (folder / "values.toml").write_text(policy)
    assert audited(folder, models=(0,), policy="values.toml").exit_code == 0
    outcome = audited(folder, "--format", "json", models=(0, 1), policy="values.toml")
    assert outcome.exit_code == 3
    assert not json.loads(outcome.stdout)["ensemble"]["differences"]
    assert audited(folder, models=(0, 1), tables=("y0.csv",), policy="values.toml").exit_code == 0
