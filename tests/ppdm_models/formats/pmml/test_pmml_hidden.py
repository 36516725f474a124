"""Constants that compute nothing and names of nodes that say more than a number are named as leaks."""

import re

import pytest

from tests.ppdm_models.formats.pmml.test_pmml_unread import PLAIN
from treewarden.jobs.redacting import without_leaks
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tree.side_channels import NUMBER, LeakKind

AGE = '<FieldRef field="age"/>'


def constant(text):
    return f"<Constant>{text}</Constant>"


def apply(name, *operands):
    return f'<Apply function="{name}">{"".join(operands)}</Apply>'


def unknown(text):
    leaks = open_model(text.encode(), "m.pmml").leaks
    return [leak for leak in leaks if leak.kind is LeakKind.UNKNOWN]


def computed(expression, kind="double", optype="continuous"):
    derived = f'<DerivedField name="d" optype="{optype}" dataType="{kind}">{expression}'
    fields = f"<TransformationDictionary>{derived}</DerivedField></TransformationDictionary>"
    text = PLAIN.replace("</DataDictionary>", f"</DataDictionary>{fields}")
    return text.replace('SimplePredicate field="age"', 'SimplePredicate field="d"')


def capped(numbers):
    expression = AGE
    for number in numbers:
        expression = apply("max", expression, constant(-number))
    return computed(expression)


def test_text_that_no_branch_needs_is_a_leak():
    same = apply("equal", constant("Anna Meier"), constant("HIV positive since 1984"))
    leaks = unknown(computed(apply("if", same, constant(1), AGE)))
    assert sorted(leak.what.partition(":")[0] for leak in leaks) == [
        "an expression that has only constants",
        "text of a Constant that is not a value of the model, 2 times",
    ]
    assert not any(leak.removable for leak in leaks)
    missing = apply("isMissing", AGE)
    assert unknown(computed(apply("if", missing, constant("Anna Meier, HIV positive"), AGE)))
    assert unknown(
        computed(apply("if", apply("lessThan", constant(1984), constant(302)), AGE, AGE))
    )


def test_text_that_a_field_declares_or_a_test_compares_with_is_none():
    word = apply("if", apply("lessThan", AGE, constant(31)), constant("young"), constant("old"))
    text = computed(word, "string", "categorical")
    text = text.replace('operator="lessOrEqual" value="30"', 'operator="equal" value="young"')
    text = text.replace('operator="greaterThan" value="30"', 'operator="equal" value="old"')
    assert not unknown(text)
    assert unknown(text.replace("<Constant>old<", "<Constant>Anna Meier<"))


def test_numbers_that_never_win_are_counted():
    most = 16 + 4 * 2
    assert not unknown(capped(range(4_288_000, 4_288_000 + most)))
    assert len(unknown(capped(range(4_288_000, 4_288_000 + most + 1)))) == 1


@pytest.mark.parametrize(
    "name", ["1" * 60, "AnnaMeier1984/03/02-170", "Anna", "1984.03.02.170.1200"]
)
def test_a_name_of_a_node_that_says_more_goes_with_redaction(name):
    text = PLAIN.replace('<Node id="1"', f'<Node id="{name}"')
    text = text.replace('<Node id="0"', f'<Node id="0" defaultChild="{name}"')
    text = text.replace("<TreeModel ", '<TreeModel missingValueStrategy="defaultChild" ')
    leaks = unknown(text)
    assert leaks
    assert all(leak.removable for leak in leaks)
    clean = without_leaks(text.encode(), "m.pmml").decode()
    assert name not in clean
    assert not unknown(clean)
    default = re.search('defaultChild="([^"]*)"', clean)
    assert default is not None
    assert f'id="{default[1]}"' in clean


def test_names_that_programs_give_nodes_are_numbers():
    names = ("0", "1073741824", "n7", "leaf 7", "N0_1", "T0_1", "id6-1", "activity1", "A_A_B", "A")
    for name in (*names, "Seg1_Nod_1.1.1", "0.1.1", "1_2", "root", "split 3", "line 12", "side 1"):
        assert NUMBER.fullmatch(name), name
    for name in ("19840302170", "Meier", "AnnaMeier1984", "HIV_positive", "1/2/3 Anna"):
        assert not NUMBER.fullmatch(name), name
