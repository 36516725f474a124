"""How adversaries are declared: what a word means, which column a name, and what is refused, at every door."""

import json

import pytest

from tests.treewarden.test_adversaries import report


def with_column(files, name, cells):
    """Write the table with a column more, of so many cells."""
    rows = files.table.read_text().splitlines()
    more = [f"{row},{cell}" for row, cell in zip(rows, [name, *cells(rows)], strict=False)]
    files.table.write_text("\n".join([*more, ""]))


def flu_of(rows):
    at = rows[0].split(",").index("flu")
    return [{"yes": "J10", "no": "Z00"}[row.split(",")[at]] for row in rows[1:]]


def test_a_column_named_exactly_is_not_taken_for_a_field_of_nearly_that_name(files):
    with_column(files, "Sex", flu_of)
    asked = ("audit", "--policy", files.policy("truth"), "--format", "json")
    done = files.run(*asked, "--knows", "Sex")
    assert done.exit_code == 3
    assert json.loads(done.stdout)["adversaries"][-1]["knows"] == ["Sex"]
    assert "Sex determines flu, for 40 people" in done.stdout
    done = files.run(*asked, "--secret", "Sex")
    assert {each["secret"] for each in json.loads(done.stdout)["adversaries"]} == {"Sex"}
    done = files.run(*asked, "--knows", "SEX")
    assert done.exit_code == 4
    assert "no column 'SEX'" in done.stderr


def test_a_word_that_is_a_column_too_is_asked_for_by_a_file(files):
    with_column(files, "register", flu_of)
    done = files.run("audit", "--knows", "register")
    assert done.exit_code == 4
    assert "'register' is a column of the table and also the name of a preset" in done.stderr
    for said, wanted in (('"register"', ["age", "sex"]), ('["register"]', ["register"])):
        (files.folder / "who.toml").write_text(f"knows = {said}\n")
        _, found = report(files, "--adversary", files.folder / "who.toml")
        assert found["adversaries"][-1]["knows"] == wanted


def test_a_secret_is_said_once(files):
    known = files.folder / "known.toml"
    known.write_text('[secret]\ncolumn = "age"\nbins = [40]\n')
    done = files.run("audit", "--knowledge", known, "--secret", "sex")
    assert done.exit_code == 4
    assert (
        "secret: the secret is 'sex' by option but 'age' in the file; keep one of them"
        in done.stderr
    )
    _, by_file = report(files, "--knowledge", known)
    _, by_both = report(files, "--knowledge", known, "--secret", "age")
    assert by_both["adversaries"] == by_file["adversaries"]


def test_there_are_no_more_adversaries_than_a_file_may_declare(files):
    many = "".join(f'[[adversary]]\nname = "a{n}"\nknows = ["sex"]\n' for n in range(50))
    (files.folder / "many.toml").write_text(many)
    done = files.run("audit", "--adversary", files.folder / "many.toml", "--knows", "age")
    assert done.exit_code == 4
    assert "51 adversaries are declared, and the limit is 50" in done.stderr


def test_who_knows_many_columns_or_one_of_a_long_name_has_a_name_that_fits(files):
    names = [f"column-{n}" for n in range(40)]
    for name in (*names, "x" * 300):
        with_column(files, name, lambda rows: ["1"] * len(rows))
    for asked, wanted in ((names, "who knows column-0, "), (["x" * 300], "who knows one column")):
        _, said = report(files, "--knows", ",".join(asked))
        assert said["adversaries"][-1]["name"].startswith(wanted)
        assert len(said["adversaries"][-1]["name"]) <= 200


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"knows": ""}, "knows: "),
        ({"knows": [""]}, "knows: a column without a name"),
        ({"bins": [1]}, "bins: divides the numbers of a secret column"),
    ],
)
def test_what_means_nothing_is_refused_from_a_notebook_too(files, asked, problem):
    import treewarden as tw

    with pytest.raises(tw.TreewardenError, match=problem):
        tw.audit(files.model, files.table, sensitive="flu", **asked)
