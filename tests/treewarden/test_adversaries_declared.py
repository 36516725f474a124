"""How adversaries are declared: what a word means, which column a name, and what is refused, at every door."""

import json

import pytest

from tests.kit.rows import rows


def with_column(files, name, cells):
    """Write the table with a column more, of so many cells."""
    rows = files.table.read_text().splitlines()
    more = [f"{row},{cell}" for row, cell in zip(rows, [name, *cells(rows)], strict=False)]
    files.table.write_text("\n".join([*more, ""]))


def flu_of(rows):
    at = rows[0].split(",").index("flu")
    return [{"yes": "J10", "no": "Z00"}[row.split(",")[at]] for row in rows[1:]]


def test_options_declare_one_adversary(files):
    _, said = files.report("--knows", "sex")
    assert [each["name"] for each in said["adversaries"]] == ["knows all", "who knows sex"]
    _, alone = files.report()
    assert alone["adversaries"] == []
    assert alone["readings"]["confidence"] == said["readings"]["confidence"]


def test_a_file_of_adversaries_is_asked_of_beside_what_everybody_knows(files, told):
    alone = files.folder / "friend.toml"
    alone.write_text('knows = ["sex"]\n')
    _, said = files.report("--adversary", told, "--adversary", alone, "--leaf", "rates")
    names = [each["name"] for each in said["adversaries"]]
    assert names == ["knows all", "neighbour", "register", "friend"]
    by = {each["name"]: each["readings"] for each in said["adversaries"]}
    assert by["friend"] == by["neighbour"]


def test_who_knows_all_may_be_declared_and_is_asked_of_once(files):
    (files.folder / "known.toml").write_text('[[adversary]]\nname = "knows all"\nknows = "all"\n')
    _, said = files.report("--knowledge", files.folder / "known.toml")
    assert [each["name"] for each in said["adversaries"]] in ([], ["knows all"])


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
        _, found = files.report("--adversary", files.folder / "who.toml")
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
    _, by_file = files.report("--knowledge", known)
    _, by_both = files.report("--knowledge", known, "--secret", "age")
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
        _, said = files.report("--knows", ",".join(asked))
        assert said["adversaries"][-1]["name"].startswith(wanted)
        assert len(said["adversaries"][-1]["name"]) <= 200


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"knows": ""}, "knows: "),
        ({"knows": [""]}, "knows: a column without a name"),
        ({"bins": [1]}, "bins: needs a secret column"),
    ],
)
def test_what_means_nothing_is_refused_from_a_notebook_too(files, asked, problem):
    import treewarden as tw

    with pytest.raises(tw.TreewardenError, match=problem):
        tw.audit(files.model, files.table, sensitive="flu", **asked)


@rows(
    ("words", "problem"),
    [
        (["--knows", "agee"], "--knows: no column 'agee' (did you mean 'age'?)"),
        (["--knows", '"a\nb"'], "no column 'a\\nb'"),
        (["--knows", "flu"], "--knows: names 'flu', the sensitive column; leave it out"),
        (
            ["--knows", "sex", "--target-known"],
            "or remove --target-known",
        ),
        (["--secret", "fluu"], "--secret: no column 'fluu' (did you mean 'flu'?)"),
        (["--secret", "sex", "--knows", "sex"], "names 'sex', the sensitive column"),
        (["--knows", "Register"], "did you mean the preset 'register'?"),
        (
            ["--secret", "sex", "--bins", "30,60"],
            "bins are for numbers, but 'sex' contains categories",
        ),
        (
            ["--secret", "flu", "--bins", "30,60"],
            "bins are for numbers, but 'flu' contains categories",
        ),
        (["--secret", ""], "secret: a column without a name"),
    ],
)
def test_what_cannot_be_asked_is_an_error_that_says_what_to_do(files, words, problem):
    done = files.run("audit", *words)
    assert done.exit_code == 4
    assert problem in " ".join(done.stderr.split())


@rows(
    ("words", "problem"),
    [
        (["--knows", ","], "--knows names no column"),
        (["--knows", "a\nb"], "Invalid value for --knows: a line break outside quotes; put a name"),
        (["--bins", "3\n0"], "Invalid value for --bins: a line break outside quotes; put a name"),
        (
            ["--bins", "30"],
            "--bins: needs a secret column; name it with --secret",
        ),
        (["--secret", "age", "--bins", "x"], "--bins: 'x' is not a number; give numbers"),
        (
            ["--target-known"],
            "--target-known: needs an adversary with partial knowledge; name the known columns with --knows",
        ),
    ],
)
def test_options_that_mean_nothing_are_refused(files, words, problem):
    done = files.run("audit", *words)
    assert done.exit_code == 2
    assert problem in done.stderr


@rows(
    ("text", "problem"),
    [
        ('leaf = "rates"\n', "who.toml: declares no adversary; add knows = [...]"),
        (
            'leaf = "rates"\n[[adversary]]\nname = "a"\nknows = ["sex"]\n',
            "'leaf' applies to all adversaries",
        ),
        ('secret = "age"\nknows = ["sex"]\n', "the secret is 'age' here and 'sex' elsewhere"),
        ("knows = [", "who.toml: not valid TOML"),
        ("adversary = []\n", "who.toml: declares no adversary; add knows = [...]"),
        ('leaf = "rates"\nknows = ["sex"]\n', "'leaf' applies to all adversaries"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\nleaf = "rates"\n',
            "'leaf' applies to all adversaries",
        ),
        (
            'knows = ["sex"]\ntarrget = true\n',
            "[[adversary]] number 1 ('who'): unknown key 'tarrget' (did you mean 'target'?)",
        ),
    ],
)
def test_a_file_of_adversaries_says_nothing_else(files, text, problem):
    who, known = files.folder / "who.toml", files.folder / "known.toml"
    who.write_text(text)
    known.write_text('secret = "sex"\n')
    done = files.run("audit", "--adversary", who, "--knowledge", known)
    assert done.exit_code == 4
    assert problem in done.output


@rows(
    ("text", "problem"),
    [
        ("secret = 3\n", "known.toml: secret: give a column"),
        (
            '[secret]\ncolumn = "flu"\nbins = [30, 60]\n',
            "known.toml: secret: bins are for numbers, but 'flu' contains categories; remove the bins",
        ),
        ('[[adversary]]\nknows = ["sex"]\n', "[[adversary]] number 1: 'name' is missing"),
        ("[[fact]]\nsays = 3\n", "[[fact]] number 1"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarrget = true\n',
            "known.toml: [[adversary]] number 1 ('a'): unknown key 'tarrget' "
            "(did you mean 'target'?); use name, knows, target, columns",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\n[[adversary]]\nname = ""\nknows = ["sex"]\n',
            "known.toml: [[adversary]] number 2: name: string should have at least 1 character; use name, knows",
        ),
        (
            '[[adversary]]\nnam = "a"\nknows = ["sex"]\n',
            "number 1: unknown key 'nam' (did you mean 'name'?); use name",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\nleaf = "rates"\n',
            "unknown key 'leaf'; put it above all tables; use name",
        ),
        ('[[adversary]]\nname = "a"\nknows = 3\n', "('a'): knows: must be a list; use"),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarget = "yes"\n',
            "('a'): target: must be true or false; use",
        ),
        (
            '[[adversary]]\nname = "a"\nknows = ["sex"]\ntarget = 1\n',
            "('a'): target: must be true or false; use",
        ),
        ('[secret]\ncolumn = "age"\nbins = ["1"]\n', "secret.bins.0: must be a number"),
        ('[secret]\ncolumn = "age"\nbins = [true]\n', "secret.bins.0: must be a number"),
        ("adversary = [3]\n", "[[adversary]] number 1: must be a table; use name"),
        (
            "".join(f'[[adversary]]\nname = "{i}"\nknows = ["sex"]\n' for i in range(51)),
            "known.toml: adversary: 51 items, but at most 50 may be given; remove some",
        ),
        ("training = 3\n", "known.toml: training: must be a table; use leaf"),
        ('[adversary]\nname = "a"\n', "adversary: must be a list; write the line [[adversary]]"),
        (
            '[secret]\ncolum = "age"\n',
            "secret: unknown key 'colum' (did you mean 'column'?)",
        ),
        ('[[adversery]]\nname = "a"\n', "(did you mean 'adversary'?); use leaf, split"),
        ('[[adversary]]\nname = "knows all"\nknows = ["sex"]\n', "choose another name"),
        (
            'secret = "sex"\n[[adversary]]\nname = "who knows all else"\nknows = ["age"]\n',
            "choose another name",
        ),
    ],
)
def test_a_slip_in_a_knowledge_file_is_told_as_it_is_written_there(files, text, problem):
    (files.folder / "known.toml").write_text(text)
    done = files.run("audit", "--knowledge", files.folder / "known.toml")
    assert done.exit_code == 4
    assert problem in " ".join(done.stderr.split())


def test_bins_of_a_categorical_target_are_refused_from_a_notebook_too(files):
    import treewarden as tw

    with pytest.raises(
        tw.KnowledgeError, match="bins are for numbers, but 'flu' contains categories"
    ):
        tw.audit(files.model, files.table, sensitive="flu", secret="flu", bins=[30, 60])
