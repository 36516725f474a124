"""Anonymised tables as rows: against every labelling, and as treewarden's own commands write them."""

import itertools

import numpy as np
import pandas as pd
import pytest

import treewarden as tw
from tests.kit.rows import rows
from tests.kit.run import run_command
from treewarden.audit.outputs.beside_rows import beside_rows, table_columns
from treewarden.audit.population.population import Population
from treewarden.ppdm_models.errors import OutputsError
from treewarden.ppdm_models.outputs.readers import read_together
from treewarden.ppdm_models.tree.column import CategoricalColumn, NumericColumn

ILL = np.array([1, 1, 0, 1, 0, 0])
PEOPLE = Population(
    ("age", "sex"),
    {
        "age": NumericColumn(np.array([30.0, 60.0, 45.0, 40.0, 50.0, 35.0])),
        "sex": CategoricalColumn(np.array([0, 1, 0, 1, 0, 1]), ("F", "M")),
    },
    np.ones(6),
    np.zeros(6, dtype=np.intp),
    np.stack([1 - ILL, ILL], axis=1).astype(float),
    sensitive="ill",
)


def formed(text, *hierarchies):
    files = [*hierarchies, (text.encode(), "records.csv")]
    outputs = read_together(files, table_columns(PEOPLE, ("no", "yes"), "ill"))
    return beside_rows(outputs, PEOPLE, ("no", "yes"))


def agreeing(found):
    labels = np.array(list(itertools.product((0, 1), repeat=6)))
    tables = [np.stack([1 - each, each], axis=1) for each in labels]
    return {tuple(t[:, 1].tolist()) for t in tables if all(row.holds(t) for row in found.rows)}


def matching(records):
    """Return the labels with which each record is another person's who fits it: every assignment is tried."""
    people = [(30, "F"), (60, "M"), (45, "F"), (40, "M"), (50, "F"), (35, "M")]
    found = set()
    for chosen in itertools.permutations(range(6), len(records)):
        if all(fits(*people[person]) for person, (fits, _) in zip(chosen, records, strict=True)):
            label = dict(zip(chosen, (ill for _, ill in records), strict=True))
            free = [person for person in range(6) if person not in label]
            for rest in itertools.product((0, 1), repeat=len(free)):
                every = {**label, **dict(zip(free, rest, strict=True))}
                found.add(tuple(every[person] for person in range(6)))
    return found


def young(age, sex):
    return age <= 45


def old(age, sex):
    return age > 45


PARTED = 'age,sex,ill\n"[30, 45]",*,yes\n"[30, 45]",*,yes\n"[30, 45]",*,no\n"[30, 45]",*,no\n'


def test_groups_that_part_the_people_say_how_many_have_each_class():
    found = formed(PARTED + '"(45, 60]",*,yes\n"(45, 60]",*,no\n')
    assert not found.open_entries
    records = [(young, 1), (young, 1), (young, 0), (young, 0), (old, 1), (old, 0)]
    assert agreeing(found) == matching(records)


def test_records_that_were_left_out_may_be_anybody():
    found = formed(PARTED + '"(45, 60]",*,no\n')
    assert not found.open_entries
    records = [(young, 1), (young, 1), (young, 0), (young, 0), (old, 0)]
    assert agreeing(found) == matching(records)


def test_groups_that_overlap_say_less_than_they_might_and_leave_it_open():
    text = "age,sex,ill\n30-45,*,yes\n*,M,yes\n30-45,*,no\n*,*,no\n*,F,no\n*,M,yes\n"
    found = formed(text)
    assert found.open_entries
    records = [
        (young, 1),
        (lambda age, sex: sex == "M", 1),
        (young, 0),
        (lambda age, sex: True, 0),
        (lambda age, sex: sex == "F", 0),
        (lambda age, sex: sex == "M", 1),
    ]
    assert agreeing(found) >= matching(records)


def test_a_label_that_nobody_explains_may_be_anything_and_a_hierarchy_explains_it():
    text = "sex,ill\nwomen,yes\nwomen,no\nwomen,no\nM,yes\nM,yes\nM,no\n"
    assert formed(text).open_entries
    found = formed(text, (b"F;women\nM;men\n", "hierarchy_sex.csv"))
    assert not found.open_entries
    assert len(agreeing(found)) == 3 * 3


def test_means_of_groups_are_not_read_as_anybodys_numbers():
    text = "age,sex,ill\n38.3,*,yes\n38.3,*,yes\n38.3,*,no\n38.3,*,no\n55,*,yes\n55,*,no\n"
    found = formed(text)
    assert found.open_entries
    assert len(agreeing(found)) == 20


@rows(
    "text, said",
    [
        ("age,ill\n30,no\n", "with no like that in records.csv:2 is 1, but the table gives 0"),
        ("sex,ill\n" + "F,no\n" * 4, "is 4, but the table gives 2"),
        ("sex,ill\n" + "*,no\n" * 7, "number of records is 7, but the table gives 6"),
    ],
)
def test_records_that_no_people_fit_contradict_the_table(text, said):
    with pytest.raises(OutputsError) as error:
        formed(text)
    assert said in str(error.value)


@pytest.mark.parametrize("command", ["anonymize", "sanitize"])
def test_what_treewardens_own_commands_write_is_read(command, tmp_path):
    random = np.random.default_rng(3)
    table = pd.DataFrame(
        {"side": random.choice(["left", "right"], 40), "place": random.choice(list("abc"), 40)}
    )
    chance = 0.2 + 0.5 * (table.side == "left")
    table["ill"] = np.where(random.random(40) < chance, "yes", "no")
    file, out = tmp_path / "table.csv", tmp_path / "out.csv"
    table.to_csv(file, index=False)
    if command == "anonymize":
        given = ("--sensitive", "ill", "--qi", "side,place", "--k", "5", "-o", str(out))
        assert run_command("anonymize", str(file), *given).exit_code == 0
    else:
        out = tmp_path / "out"
        out.mkdir()
        given = ("--target", "ill", "--sensitive", "ill", "--k", "5", "--l", "1.05", "-o", str(out))
        assert run_command("sanitize", str(file), *given).exit_code == 0
        out = out / "table.csv"
    sklearn_tree = pytest.importorskip("sklearn.tree")
    left = (table.side == "left").to_frame()
    tree = sklearn_tree.DecisionTreeClassifier(max_depth=1).fit(left, table.ill)
    people = table.assign(side=table.side == "left")
    options = {"sensitive": "ill", "qi": ["side", "place"], "policy": "standard"}
    beside = pd.read_csv(out, dtype=str)
    if "side" in beside:
        beside["side"] = beside.side.map({"left": "True", "right": "False"}).fillna(beside.side)
    result = tw.audit(tree, people, beside=[beside], **options)
    files = result.to_dict()["blame"]["files"]
    assert [each["numbers"] for each in files][1:] == [1]
