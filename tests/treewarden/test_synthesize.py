"""``treewarden synthesize``: a whole file of pseudo records, or none and a reason."""

import errno
from functools import partial

import pyarrow.csv as pa_csv
import pyarrow.parquet as pa_parquet
import pytest

from tests.kit.run import run_command
from tests.treewarden.conftest import PMML
from treewarden.ppdm_models.methods.synthesis import pgen


@pytest.fixture
def model(tmp_path):
    path = tmp_path / "flu.pmml"
    path.write_text(PMML)
    return path


run = partial(run_command, "synthesize")


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_as_many_records_as_published_are_written(model, tmp_path, name):
    result = run(model, "--as-published", "-o", tmp_path / name)
    assert result.exit_code == 0, result.output
    read = pa_csv.read_csv if name.endswith("csv") else pa_parquet.read_table
    table = read(tmp_path / name)
    assert table.column_names == ["age", "sex", "flu"]
    assert table.num_rows == 40
    assert set(table["sex"].to_pylist()) <= {"F", "M"}


def test_the_same_seed_writes_the_same_bytes(model, tmp_path):
    for name in ("one.csv", "two.csv"):
        run(model, "--rows", 500, "--seed", 7, "-o", tmp_path / name)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()


@pytest.mark.parametrize(
    ("raised", "code"), [(KeyboardInterrupt(), 130), (OSError(errno.ENOSPC, "No space left"), 4)]
)
@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_no_file_is_half_written(name, raised, code, model, tmp_path, monkeypatch):
    def fails_later(attribute, rows, *more):
        if len(drawn) > 2:
            raise raised
        drawn.append(len(rows))
        return in_full(attribute, rows, *more)

    drawn, in_full = [], pgen._drawn
    monkeypatch.setattr(pgen, "CHUNK_ROWS", 50)
    monkeypatch.setattr(pgen, "_drawn", fails_later)
    outcome = run(model, "--rows", 500, "-o", tmp_path / name)
    assert outcome.exit_code == code, outcome.output
    assert (drawn, [path.name for path in tmp_path.iterdir()]) == ([50] * 3, ["flu.pmml"])


def test_basegen_and_given_domains(model, tmp_path):
    out = tmp_path / "out.csv"
    result = run(model, "--rows", 200, "--method", "basegen", "--domain", "age=18:90", "-o", out)
    assert result.exit_code == 0, result.output
    ages = pa_csv.read_csv(out)["age"].to_pylist()
    assert 18 <= min(ages) < 30
    assert 80 < max(ages) <= 90


@pytest.mark.parametrize(
    ("arguments", "said", "code"),
    [
        ([], "--rows N or --as-published", 2),
        (["--rows", "5", "--as-published"], "--rows cannot be combined with --as-published", 2),
        (["--rows", "5", "--policy", "baseline"], "--policy needs --data", 2),
        (["--rows", "5", "--domain", "age=9:1"], "not a range", 4),
        (["--rows", "5", "--domain", "age"], "not a domain", 4),
        (["--rows", "5", "--misses", "flu"], "not a class and its weight", 4),
        (["--rows", "5", "--misses", "maybe=2"], "class 'maybe': no tree has it; use", 4),
        (["--rows", "5", "--domain", "town=a"], "no such attribute", 4),
    ],
)
def test_wrong_wishes_are_named_and_nothing_is_written(model, tmp_path, arguments, said, code):
    result = run(model, *arguments, "-o", tmp_path / "out.csv")
    assert result.exit_code == code
    assert said in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["flu.pmml"]


def test_a_file_of_another_kind_is_refused(model, tmp_path):
    result = run(model, "--rows", 5, "-o", tmp_path / "out.xlsx")
    assert "must be .csv or .parquet" in result.output
    assert result.exit_code == 4


def test_an_existing_file_is_kept_unless_forced(model, tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("mine")
    assert "already exists" in run(model, "--rows", 5, "-o", out).output
    assert out.read_text() == "mine"
    assert run(model, "--rows", 5, "-o", out, "--force").exit_code == 0


def test_ppgen_draws_from_the_pruned_tree(model, tmp_path):
    table = tmp_path / "table.csv"
    groups = ((30, "F", 6, 4), (35, "M", 6, 4), (50, "F", 3, 9), (55, "M", 6, 2))
    rows = [
        f"{age},{sex},{label}"
        for age, sex, no, yes in groups
        for label, count in (("no", no), ("yes", yes))
        for _ in range(count)
    ]
    table.write_text("\n".join(["age,sex,flu", *rows]) + "\n")
    pack = tmp_path / "pack.toml"
    pack.write_text(
        'name = "ten"\nversion = "1.0.0"\ntitle = "Ten"\ndescription = "Ten to a leaf."\n[[clause]]\nid = "k"\n'
        'measure = "k_anonymity"\nrule = "at_least"\nlimit = 10\nwhy = "So."\n'
    )
    out = tmp_path / "out.csv"
    result = run(
        model, "--as-published", "--policy", pack, "--data", table, "--sensitive", "flu", "-o", out
    )
    assert result.exit_code == 0, result.output
    found = pa_csv.read_csv(out)
    assert found.num_rows == 40
