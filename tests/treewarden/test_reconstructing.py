"""``treewarden reconstruct``, and the report of ``treewarden randomize``, as they are used."""

import csv
import hashlib
import io
import json
import shutil

import numpy as np
import pytest

from tests.kit.run import run_command

NASTY = '<b>"age"</b>'


def outcome_of(*words):
    done = run_command(*words)
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def folder(tmp_path, noised):
    """Files of its own for a test: a table, its domains, and what randomize makes of them."""
    return shutil.copytree(noised, tmp_path, dirs_exist_ok=True)


@pytest.fixture(scope="module")
def noised(tmp_path_factory):
    tmp_path = tmp_path_factory.mktemp("noised")
    random = np.random.default_rng(4)
    values = np.where(random.random(4_000) < 0.7, random.uniform(0, 30, 4_000), 70)
    with (tmp_path / "true.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow([NASTY, "other", "ill"])
        for i, value in enumerate(values):
            writer.writerow([round(value, 3) if i % 100 else "", i % 7, "yn"[i % 2]])
    (tmp_path / "domains.toml").write_text(
        f"[columns.'{NASTY}']\nlow = 0\nhigh = 100\n[columns.other]\nlow = 0\nhigh = 6\nwhole = true\n"
    )
    code, out, err = outcome_of(
        *("randomize", tmp_path / "true.csv", "--level", 0.5, "--noise", "uniform", "--class", "ill"),
        *("--domains", tmp_path / "domains.toml", "-o", tmp_path / "noisy.csv"),
        *("--manifest", tmp_path / "m.json", "--report", tmp_path / "report.html"),
    )  # fmt: skip
    assert code in (0, 1), out + err
    return tmp_path


def reconstruct(folder, *more):
    return outcome_of("reconstruct", folder / "noisy.csv", "--manifest", folder / "m.json", *more)


def test_csv_has_a_row_for_each_interval_and_shares_that_add_up(folder):
    code, out, _ = reconstruct(folder, "--true", folder / "true.csv", "--format", "csv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out)))
    for name in (NASTY, "other"):
        for kind in ("reconstructed", "noisy", "true"):
            shares = [float(row[kind]) for row in rows if row["column"] == name and row[kind]]
            assert sum(shares) == pytest.approx(1)
    own = [row for row in rows if row["column"] == "other" and row["true"]]
    assert [float(row["low"]) for row in own] == [-0.5, 0.5, 1.5, 2.5, 3.5, 4.5, 5.5]


def test_json_is_nearer_to_the_truth_than_the_noisy_values_are(folder):
    out = folder / "found.json"
    code, _, err = reconstruct(
        folder, "--true", folder / "true.csv", "--format", "json", "--out", out
    )
    assert code == 0
    assert "40 records have no value" in err
    said = json.loads(out.read_text())
    assert (said["kind"], said["verdict"], said["policy"]) == ("reconstruction", None, None)
    column = next(each for each in said["columns"] if each["name"] == NASTY)
    assert column["missing"] == 40
    found = column["distribution"]
    assert found["error"]["low"] < 0.35
    edges = np.array(found["reconstructed"]["edges"])
    shares = np.array(found["reconstructed"]["shares"])
    assert shares[(edges[:-1] >= 40) & (edges[:-1] < 55)].sum() < 0.05


def test_without_the_true_table_nothing_is_told_of_it(folder):
    _, out, _ = reconstruct(folder, "--format", "json")
    said = json.loads(out)
    assert all(each["distribution"]["true"] is None for each in said["columns"])
    assert all(each["left"] is None for each in said["columns"])
    assert "only what everybody with the noisy table" in said["confidential"]


def test_pages_escape_names_and_draw_each_column(folder):
    code, _, _ = reconstruct(folder, "--format", "html", "--out", folder / "found.html")
    assert code == 0
    for name in ("found.html", "report.html"):
        page = (folder / name).read_text()
        assert "<b>" not in page
        assert "&lt;b&gt;" in page
        assert page.count("<svg") >= 2
        assert "<script" not in page
        assert "http" not in page


def test_the_report_of_a_randomisation_tells_what_is_left(folder):
    page = (folder / "report.html").read_text()
    for words in ("left-on-average", "linear Bayes estimate", "spectral filter", "differential"):
        assert words in page


def test_one_column_can_be_asked_for_and_one_that_is_not_hidden_cannot(folder):
    code, out, _ = reconstruct(folder, "--columns", "other")
    assert code == 0
    assert NASTY not in out
    code, _, err = reconstruct(folder, "--columns", "ill")
    assert code == 4
    assert "is not hidden" in err


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda folder: (folder / "noisy.csv").write_text("a\n1\n"), "another file"),
        (lambda folder: (folder / "m.json").write_text("{}"), "not a manifest"),
        (lambda folder: (folder / "m.json").write_bytes(b"\xff"), "not a manifest"),
        (lambda folder: (folder / "m.json").unlink(), "m.json"),
    ],
)
def test_what_does_not_belong_together_is_refused(folder, change, said):
    change(folder)
    code, out, err = reconstruct(folder, "--format", "json", "--out", folder / "found.json")
    assert code == 4
    assert said in err
    assert not out
    assert not (folder / "found.json").exists()


def edited(folder, edit):
    """Change the noisy table, and let the manifest be of it."""
    rows = (folder / "noisy.csv").read_text().splitlines()
    (folder / "noisy.csv").write_text("\n".join(edit(rows)) + "\n")
    manifest = json.loads((folder / "m.json").read_text())
    manifest["sha256"] = hashlib.sha256((folder / "noisy.csv").read_bytes()).hexdigest()
    manifest["records"] = len(edit(rows)) - 1
    (folder / "m.json").write_text(json.dumps(manifest))


def test_too_few_values_and_values_out_of_reach_are_refused_without_showing_them(folder):
    def far(rows):
        cells = rows[17].split(",")
        return [*rows[:17], ",".join(["987654", *cells[1:]]), *rows[18:]]

    edited(folder, far)
    code, _, err = reconstruct(folder)
    assert code == 4
    assert "row 17" in err
    assert "987654" not in err
    edited(folder, lambda rows: rows[:900])
    code, _, err = reconstruct(folder, "--columns", "other")
    assert code == 4
    assert "899 values" in err
    assert "1,000 are needed" in err


def test_a_true_table_of_other_columns_is_refused(folder):
    (folder / "else.csv").write_text("a,b\n1,2\n")
    code, _, err = reconstruct(folder, "--true", folder / "else.csv")
    assert code == 4
    assert "no column" in err


def test_no_input_is_overwritten_and_no_file_without_force(folder):
    code, _, err = reconstruct(folder, "--format", "csv", "--out", folder / "m.json")
    assert code == 4
    assert "input" in err
    (folder / "found.csv").write_text("kept")
    code, _, _ = reconstruct(folder, "--format", "csv", "--out", folder / "found.csv")
    assert code == 4
    assert (folder / "found.csv").read_text() == "kept"


def test_a_stop_that_is_no_number_is_a_usage_error(folder):
    code, out, err = reconstruct(folder, "--stop", "nan")
    assert (code, out) == (2, "")
    assert "--stop" in err


@pytest.mark.parametrize(
    "changed", [{"low": -1.7e308, "high": 1.7e308}, {"high": 1e200}, {"parameter": 1e308}]
)
def test_a_manifest_beyond_the_range_of_numbers_is_refused(folder, changed):
    manifest = json.loads((folder / "m.json").read_text())
    next(each for each in manifest["columns"] if each["name"] == NASTY).update(changed)
    (folder / "m.json").write_text(json.dumps(manifest))
    code, out, err = reconstruct(folder)
    assert (code, out) == (4, "")
    assert "larger than 1e+150" in err
    assert "bug in treewarden" not in err
