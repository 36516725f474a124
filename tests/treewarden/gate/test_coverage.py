"""A gate that passes has looked at every model of its folder: what no entry covers has no audit, and is named."""

from __future__ import annotations

import gzip
import json
import ntpath
import os
import pickle
import posixpath
import shutil
from pathlib import PureWindowsPath

import pytest

from tests.kit import places
from tests.treewarden.conftest import PMML
from tests.treewarden.gate.conftest import PASSING
from treewarden.jobs.gate.model_files import (
    is_like,
    is_named_as_model,
    is_suspect,
    matches_pattern,
)
from treewarden.ppdm_models.files.load import formats

GOOD = places.DATA / "formats"
XGBOOST = b'{"learner":{"gradient_booster":{"model":{"trees":[]}}},"version":[2,1,0]}'
MODELS = {
    "models/leaky.joblib": pickle.dumps([1]),
    "models/packed.bin": gzip.compress(pickle.dumps([1])),
    "models/old.sav": pickle.dumps({"a": 1}),
    "models/cat.cbm": b"CBM1....",
    "models/forest.rds": gzip.compress(b"X\n\0\0\0\3"),
    "models/FOREST.RDS": b"whatever",
    "models/net.onnx": b"\x08\x07",
    "models/new.json": XGBOOST,
    "models/new.json.gz": gzip.compress(XGBOOST),
    "models/booster": XGBOOST,
    "deep/er/lost.pmml": PMML.encode(),
    ".hidden/lost.pmml": PMML.encode(),
    "deep/broken.pmml": b"<PMML",
    "mlruns/0/ab/artifacts/model/MLmodel": b"flavors: {}\n",
    "model.tar.gz": b"\x1f\x8b",
}
OTHERS = {
    "package-lock.json": b'{"packages": {"tree-kill": {"node": ">=4"}}}',
    "notes.txt": b"the trees were split by hand\n",
    "README.md": b"booster[0]:\n",
    "treewarden-baseline.json": b'{"schema": "treewarden-baseline/1", "models": {}}',
    "report.json": b'{"schema": "treewarden-report/1", "trees": [{"node": 1}]}',
    "treewarden-waivers.toml": b"",
    "venv/pyvenv.cfg": b"",
    "venv/lib/x.joblib": pickle.dumps(1),
    "node_modules/x/model.onnx": b"",
    ".git/objects/lost.pmml": PMML.encode(),
    "empty": b"",
}


@pytest.fixture
def repository(repository):
    """Configure all models, and ignore nothing."""
    repository.write("treewarden.toml", PASSING)
    return repository


def fill(repository, files):
    for name, data in files.items():
        path = repository.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


def entries(repository, *arguments):
    outcome = repository.run("-q", "--format", "json", *arguments)
    said = json.loads(outcome.stdout)
    return outcome.exit_code, {entry["name"]: entry for entry in said["entries"]}


def unlisted(repository, *arguments):
    _, found = entries(repository, *arguments)
    return sorted(name for name, entry in found.items() if entry["outcome"] == "NO AUDIT")


def test_every_model_that_no_entry_covers_is_named_and_stops_the_gate(repository):
    fill(repository, MODELS)
    code, found = entries(repository)
    names = {"mlruns/0/ab/artifacts/model" if "mlruns" in name else name for name in MODELS}
    assert code == 4
    assert {name for name, entry in found.items() if entry["outcome"] == "NO AUDIT"} == names
    assert found["models/flu.pmml"]["outcome"] == "PASS"
    assert "not listed in treewarden.toml" in found["models/new.json"]["problem"]
    assert "skops.io.dump(joblib.load(" in found["models/leaky.joblib"]["problem"]


def test_models_that_lack_an_audit_for_one_reason_are_told_together(repository):
    """One line with their number, their names and one next step; machines still read one entry for each."""
    lost = {f"old/m{number}.pmml": PMML.encode() for number in range(30)}
    pickles = {f"old/p{number}.pkl": pickle.dumps([number]) for number in range(4)}
    fill(repository, lost | pickles)
    advice = "run treewarden gate --init --update and fill in what its entry lacks"
    for form in ("text", "markdown", "html", "github"):
        text = repository.run("-q", "--format", form).stdout
        shown = text if form != "github" else text.partition("::group::")[0]
        assert shown.count(advice) == 1, form
        assert shown.count("MODEL.pkl") == 1, form
        assert all(name in shown for name in (*lost, *pickles)), form
        assert shown.count("::error ") == (2 if form == "github" else 0)
    summary = repository.run("-q").stdout
    assert "30 models: not listed in treewarden.toml" in summary
    assert "and 10 more" in summary
    assert len(unlisted(repository)) == len(lost) + len(pickles)


def test_what_is_no_model_is_not_named(repository):
    fill(repository, OTHERS)
    assert entries(repository)[0] == 0


def test_every_file_that_a_format_reads_may_be_a_model_by_its_name_or_bytes():
    """Where the cheap look said no, the formats would not be asked."""
    files = [
        path
        for name in formats()
        for path in (GOOD / name / "good").iterdir()
        if path.is_file() and path.suffix != ".md"
    ]
    assert len(files) > 100
    assert [file for file in files if not (is_named_as_model(file.name) or is_suspect(file))] == []


def test_what_is_ignored_needs_no_entry(repository):
    fill(repository, MODELS)
    ignored = ["models/*", "mlruns", "deep/**", ".hidden", "model.tar.gz"]
    repository.write("treewarden.toml", f"ignore = {json.dumps(ignored)}\n{PASSING}")
    assert entries(repository)[0] == 0
    repository.write("treewarden.toml", f'ignore = "models"\n{PASSING}')
    assert "deep/er/lost.pmml" in unlisted(repository)
    assert "models/new.json" not in unlisted(repository)


def test_a_pattern_means_a_path_or_all_below_it_with_either_slash():
    yes = [
        ("a/b.json", "a"),
        ("a/b.json", "a/"),
        ("a/b.json", r"a\b.json"),
        ("a/b.json", "./a/*.json"),
        ("a/b/c.pkl", "**/*.pkl"),
        ("c.pkl", "**/*.pkl"),
        ("a/b/c.pkl", "a/**"),
    ]
    no = [("ab/c", "a"), ("a/b.json", "b.json"), ("a/b/c.pkl", "*.pkl"), ("a/b.json", "A/b.json")]
    assert [pair for pair in yes if not matches_pattern(*pair)] == []
    assert [pair for pair in no if matches_pattern(*pair)] == []


def test_a_file_is_covered_by_any_of_its_names(repository):
    link = repository.folder / "latest.pmml"
    link.symlink_to(repository.model())
    assert entries(repository)[0] == 0


def test_earlier_releases_are_covered(repository):
    repository.write("spring.pmml", PMML)
    repository.write("treewarden.toml", f'{PASSING}earlier = "spring.pmml"\n')
    assert unlisted(repository) == []


def test_folders_that_are_named_are_looked_at_and_no_others(repository):
    fill(repository, MODELS)
    assert "deep/er/lost.pmml" not in unlisted(repository, repository.folder / "models")
    assert "models/new.json" in unlisted(repository, repository.folder / "models")
    assert unlisted(repository, repository.model()) == []


def test_a_new_model_is_found_in_what_changed(repository):
    fill(repository, {"deep/old.pmml": PMML.encode()})
    repository.commit()
    fill(repository, {"deep/new.pmml": PMML.encode()})
    repository.git("add", "-A")
    assert unlisted(repository, "--changed-since", "HEAD") == ["deep/new.pmml"]


def test_a_pattern_takes_no_policy_waivers_or_baseline_for_a_model(repository):
    repository.write("treewarden-waivers.toml", "")
    for name in ("treewarden.toml", "lenient.toml"):
        shutil.copy(repository.folder / name, repository.folder / "models" / "x.toml")
    text = PASSING.replace("models/*.pmml", "*").replace('"lenient', '"models/x')
    repository.write("treewarden.toml", text.replace('"people.csv"', '"people.csv"\nname = "one"'))
    for path in repository.folder.iterdir():
        if path.suffix == ".toml" and not path.name.startswith("treewarden"):
            path.unlink()
    (repository.folder / "people.csv").rename(repository.folder / "models" / "people.csv")
    text = (
        (repository.folder / "treewarden.toml")
        .read_text()
        .replace("people.csv", "models/people.csv")
    )
    repository.write("treewarden.toml", f'ignore = "models"\n{text}')
    shutil.copy(repository.model(), repository.folder / "only.pmml")
    code, found = entries(repository)
    assert (code, list(found)) == (0, ["one"])


def test_names_in_another_case_are_one_name_where_the_system_says_so():
    r"""``ignore = ["Models\\old\\*.PKL"]`` on Windows: case and separators as that system takes them."""
    pattern = PureWindowsPath("Models\\old\\*.PKL").parts
    file = ("models", "Old", "tree.pkl")
    assert is_like(file, pattern, ntpath.normcase)
    assert not is_like(file, pattern, posixpath.normcase)
    assert is_like(file, ("**", "*.PKL"), ntpath.normcase)
    assert not is_like((*file[:2], "tree.json"), pattern, ntpath.normcase)


def test_more_files_than_are_looked_at_are_no_pass(repository, monkeypatch):
    monkeypatch.setattr("treewarden.jobs.gate.model_files.MOST_FILES", 3)
    code, found = entries(repository)
    assert code == 4
    assert any("not all were searched" in entry["problem"] for entry in found.values())


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="Windows has no such pipes")
def test_a_pipe_among_the_files_is_not_waited_for(repository):
    os.mkfifo(repository.folder / "pipe.pkl")
    os.mkfifo(repository.folder / "pipe.json")
    assert unlisted(repository) == ["pipe.pkl"]
