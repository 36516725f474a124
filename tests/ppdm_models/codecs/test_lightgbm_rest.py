"""What a LightGBM text file holds that nobody reads is found, wherever it stands, and taken out where it can be."""

import pytest

from ppdm_models.files.load import open_model
from ppdm_models.formats.lightgbm_text import FORMAT
from ppdm_models.tree.leaks import LeakKind
from tests.grown_models import FOLDER

TEXT = (FOLDER / "lightgbm_two.txt").read_text()


def unknown(text):
    leaks = open_model(text.encode(), "m.txt").leaks
    return [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN]


@pytest.mark.parametrize("name", ["two", "three", "eight"])
def test_nothing_is_strange_in_what_the_library_wrote(name):
    assert FORMAT.accounts_for_all
    assert not unknown((FOLDER / f"lightgbm_{name}.txt").read_text())
    assert not unknown((FOLDER / f"lightgbm_{name}.txt").read_text().replace("\n", "\r\n"))


STRANGE = {
    "a line in the header": ("version=v4\n", "version=v4\nnote: ann has it\n"),
    "a key in the header": ("version=v4\n", "version=v4\nnote=ann has it\n"),
    "a version": ("version=v4\n", "version=ann has it\n"),
    "an objective": ("objective=binary sigmoid:1\n", "objective=binary sigmoid:1 ann\n"),
    "a key in a tree": ("\nis_linear=0", "\nann=1\nis_linear=0"),
    "a text in a tree": ("\nis_linear=0", "\nis_linear=0 ann"),
    "a bare line in a tree": ("\nis_linear=0", "\nann has it\nis_linear=0"),
    "more numbers than nodes": ("internal_weight=", "internal_weight=7 7 "),
    "categories nobody asks for": ("\nis_linear=0", "\ncat_threshold=4 5\nis_linear=0"),
    "a line after the trees": ("end of trees\n", "end of trees\nann has it\n"),
    "an importance": ("feature_importances:\n", "feature_importances:\nann=1\n"),
    "a setting": ("[max_bin: 255]", "[max_bin: 255]\n[ann: 1]"),
    "a text in a setting": ("[max_bin: 255]", "[max_bin: ann has it]"),
    "a text behind a setting": ("[max_bin: 255]", "[max_bin: 255] ann has it"),
    "a setting twice": ("[max_bin: 255]", "[max_bin: 77]\n[max_bin: 255]"),
    "a column": ("[label_column: ]", "[label_column: name:ann]"),
}


@pytest.mark.parametrize("case", STRANGE)
def test_what_no_reader_knows_is_told(case):
    before, after = STRANGE[case]
    assert before in TEXT
    text = TEXT.replace(before, after, 1)
    (leak,) = set(unknown(text)) if case != "a setting twice" else unknown(text)
    line = text.split("\n")[int(leak.where.removeprefix("line ")) - 1]
    assert line not in TEXT.split("\n")


@pytest.mark.parametrize(
    "case", ["a line in the header", "a key in a tree", "a setting", "a text behind a setting"]
)
def test_a_strange_line_can_be_taken_out(case):
    file = open_model(TEXT.replace(*STRANGE[case], 1).encode(), "m.txt")
    bare = file.opened.without(frozenset({LeakKind.UNKNOWN})).decode()
    assert not unknown(bare)
    assert "ann" not in bare
    again = open_model(bare.encode(), "m.txt")
    assert [tree.nodes for tree in again.model.trees] == [tree.nodes for tree in file.model.trees]


def test_names_of_features_are_no_strange_settings():
    text = TEXT.replace("[ignore_column: ]", "[ignore_column: name:age,visits]")
    assert not unknown(text)
