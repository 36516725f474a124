"""``treewarden redact``: what it takes out, what it leaves, and that the trees stay."""

from __future__ import annotations

import pytest

from tests.kit import places
from tests.kit.run import run_command
from treewarden.ppdm_models.files.load import load_model, load_tree, read_tree

SPOKEN = '<Header copyright="Copyright (c) 2020 ann"><Extension name="user" value="ann"/></Header>'


@pytest.fixture
def telling(files):
    """The model with its author's name in it."""
    text = files.model.read_text(encoding="utf-8").replace("<Header/>", SPOKEN)
    files.model.write_text(text, encoding="utf-8")
    return files


def redact(files, *arguments):
    asked = ["redact", files.model, "-o", files.folder / "out.pmml", *arguments]
    return run_command(*asked)


def test_what_is_removed_is_gone_and_the_tree_is_the_same(telling):
    before = load_tree(telling.model.read_bytes(), "flu.pmml")
    outcome = redact(telling)
    after = telling.folder / "out.pmml"
    assert outcome.exit_code == 0
    assert b"ann" not in after.read_bytes()
    assert read_tree(after).nodes == before.nodes
    assert "  author, line 3: " in outcome.stdout
    assert "not removed: nothing" in outcome.stdout


def test_the_original_is_left_alone(telling):
    before = telling.model.read_bytes()
    redact(telling)
    assert telling.model.read_bytes() == before


def test_only_the_kinds_that_are_asked_for_are_removed(telling):
    outcome = redact(telling, "--kinds", "extremes")
    assert outcome.exit_code == 0
    assert (telling.folder / "out.pmml").read_bytes() == telling.model.read_bytes()
    assert "an unchanged copy, because there was nothing to remove" in outcome.stdout


def test_where_nothing_leaks_the_file_is_written_as_it_came(files):
    outcome = redact(files)
    assert outcome.exit_code == 0
    assert (files.folder / "out.pmml").read_bytes() == files.model.read_bytes()


def test_what_nobody_looked_at_is_listed_and_is_left(tmp_path):
    model, out = places.DATA / "formats/graphviz_dot/good/j48.dot", tmp_path / "out.dot"
    outcome = run_command("redact", model, "-o", out)
    assert outcome.exit_code == 1
    assert out.read_bytes() == model.read_bytes()
    assert "not removed: 1 thing" in outcome.stdout


def test_an_output_that_is_there_stays_unless_forced(telling):
    out = telling.folder / "out.pmml"
    out.write_text("mine", encoding="utf-8")
    assert redact(telling).exit_code == 4
    assert out.read_text(encoding="utf-8") == "mine"
    assert redact(telling, "--force").exit_code == 0
    assert load_model(out.read_bytes(), "out.pmml").format == "pmml"


def test_what_could_not_be_removed_is_listed_and_is_no_success(tmp_path):
    source = places.DATA / "formats/bigml_json/good"
    model = next(iter(sorted(source.glob("*.json"))), None)
    if model is None:
        pytest.skip("no BigML model among the test data")
    asked = ["redact", str(model), "-o", str(tmp_path / "out.json")]
    outcome = run_command(*asked)
    assert outcome.exit_code == 1
    assert "removed: nothing\nnot removed: " in outcome.stdout
    assert (tmp_path / "out.json").read_bytes() == model.read_bytes()
