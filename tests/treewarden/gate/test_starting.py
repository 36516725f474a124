"""A first configuration: it runs as it is where the guesses are right, and what it says to do next can be done."""

from __future__ import annotations

import os
import shlex
import tomllib
from pathlib import Path

import pytest

from tests.kit import places
from tests.kit.run import run_command as run
from treewarden.jobs.gate.config import read_configuration
from treewarden.jobs.gate.init_config import begun
from treewarden.jobs.gate.models import models_of

IRIS = places.DATA / "formats" / "skops_file" / "good" / "iris.skops"


@pytest.fixture
def fresh(repository, going_to):
    """Leave models and tables, and be in their folder."""
    for path in repository.folder.glob("*.toml"):
        path.unlink()
    going_to(repository.folder)
    return repository


@pytest.fixture
def going_to():
    """Return what changes the working directory until the test is over."""
    before = Path.cwd()
    yield os.chdir
    os.chdir(before)


def test_what_it_says_to_do_next_can_be_done_literally(fresh):
    outcome = run("gate", "--init")
    assert outcome.exit_code == 0
    steps = [
        line.split(". ", 1)[1] for line in outcome.stdout.splitlines() if ". treewarden" in line
    ]
    assert steps == ["treewarden gate"]
    _, *words = shlex.split(steps[0])
    gated = run(*words, "--no-cache")
    assert gated.exit_code in (0, 1, 3)
    assert gated.stdout.count("models/") >= 3
    assert "NO AUDIT" not in gated.stdout


def test_an_own_name_for_it_is_part_of_what_to_do_next(fresh):
    outcome = run("gate", "--init", "--config", "other.toml")
    (step,) = [line for line in outcome.stdout.splitlines() if "treewarden gate" in line]
    _, *words = shlex.split(step.split(". ", 1)[1])
    assert words == ["gate", "--config", "other.toml"]
    assert run(*words, "--no-cache").exit_code in (0, 1, 3)


def test_it_guesses_table_and_sensitive_column(fresh):
    fresh.write("other.csv", "age,flu\n1,2\n")
    fresh.write("wide.csv", "age,sex,flu,more\n1,F,yes,4\n")
    text = begun(fresh.folder).text
    (section,) = tomllib.loads(text)["model"]
    assert section == {"path": "models/*.pmml", "table": "people.csv", "sensitive": "flu"}
    assert 'or "wide.csv"' in text


def test_of_tables_with_the_same_columns_it_takes_one_that_has_the_model_s_classes(fresh):
    rows = (fresh.folder / "people.csv").read_text("utf-8").splitlines()
    coded = [rows[0], *(row.replace("yes", "1").replace("no", "0") for row in rows[1:])]
    fresh.write("a_coded.csv", "\n".join([*coded, ""]))
    (section,) = tomllib.loads(begun(fresh.folder).text)["model"]
    assert section["table"] == "people.csv"


def test_a_model_without_table_is_left_open_and_the_others_run(fresh):
    (fresh.folder / "iris.skops").write_bytes(IRIS.read_bytes())
    outcome = run("gate", "--init")
    assert "Not configured: no matching table or target was found for iris.skops" in outcome.stdout
    configuration = read_configuration(fresh.folder / "treewarden.toml")
    assert [model.file for model in models_of(configuration)] == [
        f"models/{name}.pmml" for name in ("cold", "cough", "flu")
    ]
    text = (fresh.folder / "treewarden.toml").read_text()
    start = text.index("# [[model]]")
    section = text[start : text.index("\n\n", start)].replace("\n# ", "\n")[2:]
    assert tomllib.loads(section)["model"][0]["path"] == "iris.skops"


def test_a_target_that_a_file_does_not_name_is_the_column_that_holds_its_classes(fresh):
    (fresh.folder / "iris.skops").write_bytes(IRIS.read_bytes())
    names = "petal length (cm),petal width (cm),sepal length (cm),sepal width (cm)"
    rows = [f"1,2,3,{number},batch {number},{number % 3}" for number in range(9)]
    fresh.write("iris.csv", "\n".join([f"{names},batch,kind", *rows, ""]))
    sections = tomllib.loads(begun(fresh.folder).text)["model"]
    (section,) = (section for section in sections if section["path"] == "iris.skops")
    assert (section["table"], section["sensitive"]) == ("iris.csv", "kind")


def test_files_that_are_no_models_beside_them_are_left_out(fresh):
    fresh.write("models/notes.pmml", "no model")
    (section,) = tomllib.loads(begun(fresh.folder).text)["model"]
    assert section["path"] == ["models/cold.pmml", "models/cough.pmml", "models/flu.pmml"]


def test_a_file_that_is_called_a_model_and_cannot_be_read_is_named(fresh):
    fresh.write("models/notes.pmml", "no model")
    fresh.write("models/notes.txt", "no model")
    outcome = run("gate", "--init")
    assert "Not configured: models/notes.pmml cannot be read. Why:" in outcome.stdout


@pytest.mark.parametrize("folder", [".hidden", "node_modules", "venv"])
def test_what_is_hidden_or_installed_is_not_looked_at(fresh, folder):
    fresh.write(f"{folder}/flu.pmml", fresh.model().read_text())
    fresh.write("venv/pyvenv.cfg", "")
    assert folder not in begun(fresh.folder).text


def test_odd_names_stay_in_their_quotes(fresh):
    odd = 'a "b"\\c #d.pmml'
    fresh.model().rename(fresh.folder / odd)
    assert tomllib.loads(begun(fresh.folder).text)["model"][0]["path"] == odd


def test_it_never_overwrites(fresh):
    fresh.write("treewarden.toml", "# mine\n")
    outcome = run("gate", "--init")
    assert outcome.exit_code == 4
    assert "treewarden.toml: already exists" in outcome.stderr
    assert (fresh.folder / "treewarden.toml").read_text() == "# mine\n"


def test_without_a_model_nothing_is_written(fresh):
    for path in (fresh.folder / "models").iterdir():
        path.unlink()
    outcome = run("gate", "--init")
    assert outcome.exit_code == 4
    assert "add the models first" in outcome.stderr
    assert not (fresh.folder / "treewarden.toml").exists()


def test_it_takes_no_paths(fresh):
    assert run("gate", "--init", "models").exit_code == 2


# Models that came after the first configuration.


def update():
    return run("gate", "--init", "--update")


def test_what_came_later_is_added_and_all_else_stays(fresh):
    run("gate", "--init")
    file = fresh.folder / "treewarden.toml"
    before = "# mine\n" + file.read_text().replace("models/*.pmml", "models/f*.pmml")
    file.write_text(before)
    outcome = update()
    assert (outcome.exit_code, outcome.stdout.splitlines()[0]) == (
        0,
        "Added to treewarden.toml: 2 models, ready to be audited.",
    )
    after = file.read_text()
    assert after.startswith(before)
    assert tomllib.loads(after)["model"][1:] == [
        {
            "path": ["models/cold.pmml", "models/cough.pmml"],
            "table": "people.csv",
            "sensitive": "flu",
        }
    ]
    assert run("gate", "-q").exit_code in (0, 1, 3)


def test_an_update_that_adds_nothing_says_so_and_what_is_left_to_do(fresh):
    run("gate", "--init")
    nothing = "treewarden.toml: nothing to add. It covers every model that was found."
    assert update().stdout.splitlines() == [nothing, "Next:", "  1. treewarden gate"]
    (fresh.folder / "iris.skops").write_bytes(IRIS.read_bytes())
    for _ in range(2):
        said = update().stdout
        assert said.startswith("treewarden.toml: no model to add that is ready to be audited.\n")
        assert "Added" not in said
        assert "two guesses" not in said
        assert "  1. Fill in the tables" in said


def test_a_second_update_changes_nothing(fresh):
    run("gate", "--init")
    (fresh.folder / "iris.skops").write_bytes(IRIS.read_bytes())
    assert "Not configured" in update().stdout
    assert "uncomment them" in update().stdout
    after = (fresh.folder / "treewarden.toml").read_text()
    assert "iris.skops" in after
    assert update().exit_code == 0
    assert (fresh.folder / "treewarden.toml").read_text() == after


def test_a_file_that_cannot_be_read_is_told_what_to_do_with(fresh):
    (fresh.folder / "leaky.joblib").write_bytes(b"\x80\x04.")
    outcome = run("gate", "--init")
    assert "leaky.joblib cannot be read" in outcome.stdout
    assert run("gate", "-q").exit_code == 4
    file = fresh.folder / "treewarden.toml"
    assert '# ignore = ["leaky.joblib"]' in file.read_text()
    file.write_text(file.read_text().replace("# ignore", "ignore"))
    assert run("gate", "-q").exit_code in (0, 1, 3)
    assert "leaky" not in update().stdout


def test_an_update_needs_a_configuration_and_init(fresh):
    assert run("gate", "--update").exit_code == 2
    assert update().exit_code == 4
