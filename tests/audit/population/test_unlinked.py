"""Releases of several tables without a column that says who is who: nothing links their records."""

import pytest

from tests.kit.releases import a_table, a_tree
from treewarden.audit.population.linked_population import (
    KnownGroups,
    UnlinkedReleases,
    link_releases,
)
from treewarden.audit.population.population import build_population
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.read_table import read_table_bytes

BEFORE = a_table("1 north yes", "2 north no", "3 south no")
AFTER = a_table("4 south yes", "3 south no", "2 north no", "1 north yes")


def linked(*data, of=None, key=None, trees=None):
    """Return what links releases of these tables; ``of`` says which table each has, by its place."""
    tables = [read_table_bytes(each.encode(), f"t{n}.csv") for n, each in enumerate(data)]
    places = range(len(data)) if of is None else of
    trees = trees or [a_tree(data[n]) for n in places]
    models = [open_model(tree, f"m{number}.pmml").model for number, tree in enumerate(trees)]
    tables = [tables[n] for n in places]
    people = [
        build_population(model, table, sensitive="illness")
        for model, table in zip(models, tables, strict=True)
    ]
    return link_releases(models, tables, people, key)


def test_an_id_or_one_table_links_releases():
    assert isinstance(linked(BEFORE, AFTER, key="id"), KnownGroups)
    assert isinstance(linked(BEFORE, of=[0, 0]), KnownGroups)


@pytest.mark.parametrize("after", [AFTER, BEFORE, BEFORE.replace("id,", "name,")])
def test_nothing_else_does_whatever_the_tables_hold(after):
    found = linked(BEFORE, after)
    assert isinstance(found, UnlinkedReleases)
    assert "--id" in found.reason
    assert [part.releases for part in found.parts] == [(0,), (1,)]
    assert found.others(0) == ("m1.pmml",)


def test_releases_of_one_table_are_linked_beside_others():
    found = linked(BEFORE, AFTER, of=[0, 1, 0])
    assert [part.releases for part in found.parts] == [(0, 2), (1,)]
    assert found.parts[0].shared.names == ("m0.pmml", "m2.pmml")
    assert found.parts[1].shared is None


def test_columns_that_may_say_who_is_who_are_named():
    (said,) = linked(BEFORE, AFTER).warnings
    assert said.startswith("column 'id' has a different value in every record of each table")
    assert "--id id" in said
    twice = AFTER.replace("4,south", "3,south")
    assert linked(BEFORE, twice).warnings == ()


def test_neither_the_target_nor_what_is_known_of_people_may_say_who_is_who():
    one = "place,illness\na,yes\nb,no\n"
    assert linked(one, one.replace("\na,", "\nc,")).warnings == ()


def test_models_that_predict_something_else_are_refused_without_an_id_too():
    after = AFTER.replace("yes", "perhaps")
    trees = [a_tree(BEFORE), a_tree(after, ("no", "perhaps"))]
    with pytest.raises(TreewardenError, match="predicts .*, but m1.pmml predicts"):
        linked(BEFORE, after, trees=trees)
