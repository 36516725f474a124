"""Where the forms of a gate go: one file for all models, or a folder with a report of each."""

from __future__ import annotations

import json

import pytest

from treewarden.commands._reporting import file_names


def test_a_pipeline_form_is_one_file_and_the_summary_is_printed_beside_it(repository):
    path = repository.folder / "gate.sarif"
    outcome = repository.run("--no-cache", "--format", f"sarif={path}")
    assert outcome.exit_code == 0
    assert outcome.stdout.startswith("PASS: ")
    assert json.loads(path.read_text())["version"] == "2.1.0"


def test_a_form_on_stdout_is_there_alone(repository):
    outcome = repository.run("--no-cache", "--format", "json")
    said = json.loads(outcome.stdout)
    assert [entry["outcome"] for entry in said["entries"]] == ["PASS"] * 3
    assert said["version"]


def test_a_folder_has_a_report_of_each_model_though_nothing_changed(repository):
    folder = repository.folder / "reports"
    folder.mkdir()
    repository.run()
    outcome = repository.run("--format", f"json={folder}/", "--format", f"html={folder}")
    assert outcome.exit_code == 0
    assert sorted(path.name for path in folder.iterdir()) == [
        f"models-{name}.pmml.{kind}"
        for name in ("cold", "cough", "flu")
        for kind in ("html", "json")
    ]
    said = json.loads((folder / "models-flu.pmml.json").read_text())
    assert said["model"]["file"] == "flu.pmml"
    assert len(said["provenance"]["table"]["sha256"]) == 64


def test_a_model_without_audit_has_no_report_of_its_own(repository):
    folder = repository.folder / "reports"
    folder.mkdir()
    repository.model("cold").write_text("<PMML")
    outcome = repository.run("--no-cache", "--format", f"json={folder}/")
    assert outcome.exit_code == 4
    assert not (folder / "models-cold.pmml.json").exists()
    assert (folder / "models-flu.pmml.json").exists()


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ("sarif={}/", "shows all models in one file"),
        ("sarif", None),
        ("nothing", "unknown format 'nothing'"),
    ],
)
def test_what_a_form_cannot_do_is_refused_before_any_work(repository, form, said):
    asked = ["--format", form.format(repository.folder)]
    outcome = repository.run("--no-cache", *asked, *([] if said else ["--format", "csv"]))
    assert outcome.exit_code == 2
    assert (said or "several reports on stdout") in outcome.stderr


def test_a_folder_that_is_not_there_is_named(repository):
    outcome = repository.run("--format", f"html={repository.folder}/none/")
    assert outcome.exit_code == 4
    assert "there is no such folder; create it: mkdir" in outcome.stderr


@pytest.mark.parametrize(
    "name", ["treewarden.toml", "people.csv", "models/flu.pmml", "lenient.toml"]
)
def test_no_input_is_overwritten(repository, name):
    before = (repository.folder / name).read_bytes()
    outcome = repository.run("--format", f"csv={repository.folder / name}")
    assert outcome.exit_code == 4
    assert (repository.folder / name).read_bytes() == before


def test_where_nothing_was_audited_no_file_is_written(repository):
    repository.write(".gitignore", ".treewarden-cache\n")
    repository.commit()
    path = repository.folder / "gate.sarif"
    outcome = repository.run("--changed-since", "HEAD", "--format", f"sarif={path}")
    assert outcome.exit_code == 0
    assert "no file is written" in outcome.stderr
    assert not path.exists()


def test_names_of_models_make_names_of_files_that_differ():
    names = ["a/b.pmml", "a-b.pmml", "../../etc", "A/b.pmml", "x" * 300 + "1", "x" * 300 + "2", "/"]
    found = file_names(names)
    assert len({name.lower() for name in found.values()}) == len(names)
    assert not any(
        "/" in name or name.startswith(".") or len(name) > 200 for name in found.values()
    )
