"""Who is who in the tables of several releases, and who is told apart by that."""

import numpy as np
import pytest

from tests.kit.releases import a_table, a_tree
from treewarden.audit.population.linked_population import shared_people
from treewarden.audit.population.population import build_population
from treewarden.audit.reading import Undetermined
from treewarden.ppdm_models.errors import TreewardenError
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.tables.frames import table_of_frame
from treewarden.ppdm_models.tables.read_table import read_table_bytes


def shared(*tables, key=None, models=None, **given):
    """Return the people of releases with these tables, and their populations."""
    read = [read_table_bytes(data.encode(), f"t{n}.csv") for n, data in enumerate(tables)]
    trees = [
        open_model(data, f"m{n}.pmml").model
        for n, data in enumerate(models or [a_tree(data) for data in tables])
    ]
    people = [
        build_population(tree, table, sensitive="illness", qi=["place"], **given)
        for tree, table in zip(trees, read, strict=True)
    ]
    return shared_people(trees, read, people, key), people


BEFORE = a_table("1 north yes", "2 north no", "3 south no")
AFTER = a_table("4 south yes", "3 south no", "2 north no", "1 north yes")


def test_records_are_linked_by_an_id():
    found, people = shared(BEFORE, AFTER, key="id")
    is_there = found.places >= 0
    assert found.counts[is_there.all(axis=0)].sum() == 3
    assert found.counts[~is_there[0] & is_there[1]].tolist() == [1]
    own = found.seen_by(1, people[1])
    assert own.qi == ("place", "in m0.pmml")
    assert own.records == 4
    said = {own.describe(profile): own.truth[profile].tolist() for profile in range(3)}
    assert said["place = south, in m0.pmml = no"] == [0, 1]
    assert said["place = south, in m0.pmml = yes"] == [1, 0]
    assert found.seen_by(0, people[0]).qi == ("place",)


def test_the_tables_of_several_releases_are_never_linked_by_what_their_records_hold():
    with pytest.raises(ValueError, match="linked by a key only"):
        shared(BEFORE, AFTER)


def test_who_is_the_same_but_for_the_id_is_somebody_else():
    after = BEFORE.replace("1,north", "5,north")
    found, _ = shared(BEFORE, after, key="id")
    assert found.counts[(found.places >= 0).all(axis=0)].sum() == 2
    assert "are equal to records there" in found.warnings[0]


def test_a_release_may_share_people_with_any_that_came_before_it():
    tables = [
        a_table("1 a yes", "2 a no"),
        a_table("2 a no", "3 a yes"),
        a_table("3 a yes", "4 a no"),
    ]
    found, _ = shared(*tables, key="id")
    assert found.counts.sum() == 4


def test_classes_in_another_order_are_put_in_one():
    one, other = a_tree(BEFORE), a_tree(AFTER, ("yes", "no"))
    found, people = shared(BEFORE, AFTER, key="id", models=[one, other])
    for release, population in enumerate(people):
        own = found.seen_by(release, population)
        np.testing.assert_array_equal(own.truth.sum(axis=0), population.truth.sum(axis=0))
    assert found.orders.tolist() == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("after", "key", "says"),
    [
        (a_table("1 north no", "9 south yes"), "id", "has another value of 'illness'"),
        (a_table("7 north yes", "8 south no"), "id", "none of its values of .id. occurs in t0.csv"),
        (a_table("1 north yes", "1 south no"), "id", "has the same value in several records"),
        (
            a_table("1 north yes", "02 south no"),
            "id",
            "record 2: the id of record 2 of t0.csv but for",
        ),
        (
            a_table("1.0 north yes", "2 north no"),
            "id",
            "record 1: the id of record 1 of t0.csv but for",
        ),
        (a_table("1 north yes", "? south no"), "id", "record 2: no value"),
        (a_table("1 north yes", "2 south no"), "ident", "no column 'ident'"),
    ],
)
def test_tables_that_do_not_fit_are_refused(after, key, says):
    with pytest.raises(TreewardenError, match=says):
        shared(BEFORE, after, key=key)


def test_ids_that_differ_in_capitals_are_two_people_where_a_table_holds_both():
    before = a_table("a north yes", "A north no", "b south yes")
    found, _ = shared(before, a_table("A north no", "b south yes"), key="id")
    assert found.counts.sum() == 3
    one, other = a_table("a north yes", "b south no"), a_table("A north yes", "b south no")
    with pytest.raises(TreewardenError, match="but for spaces, capitals"):
        shared(one, other, key="id")


@pytest.mark.parametrize(
    "ids", [(["1", "2"], [1, 2]), ([1.0, 2.0], [1, 2]), (["1", "2"], [1.0, 2.0])]
)
def test_ids_of_different_types_link_nobody_wrongly(ids):
    frames = [{"id": own, "place": ["a", "b"], "illness": ["yes", "no"]} for own in ids]
    tables = [table_of_frame(frame, f"t{n}") for n, frame in enumerate(frames)]
    tree = open_model(a_tree(a_table("1 a yes", "2 b no")), "m.pmml").model
    people = [build_population(tree, table, sensitive="illness") for table in tables]
    try:
        found = shared_people([tree, tree], tables, people, "id")
    except TreewardenError as error:
        assert "write ids in the same way" in str(error)  # noqa: PT017  # either is right: never apart in silence
    else:
        assert found.counts.sum() == 2


def test_models_that_predict_something_else_are_refused():
    other = a_tree(AFTER).replace(b'"yes"', b'"perhaps"')
    after = AFTER.replace("yes", "perhaps")
    with pytest.raises(TreewardenError, match="predicts .*, but m1.pmml predicts"):
        shared(BEFORE, after, key="id", models=[a_tree(BEFORE), other])


def test_weights_are_refused():
    weighed = BEFORE.replace("id,", "weight,", 1)
    with pytest.raises(TreewardenError, match="one row for each person"):
        shared(
            weighed,
            weighed,
            key="id",
            models=[a_tree(weighed, weights="weight")] * 2,
            weights="weight",
        )


def test_without_a_sensitive_column_nobody_s_value_is_known():
    read = read_table_bytes(BEFORE.encode(), "t.csv")
    tree = open_model(a_tree(BEFORE), "m.pmml").model
    people = build_population(tree, read, sensitive=None)
    found = shared_people([tree, tree], [read, read], [people, people])
    assert isinstance(found.truth, Undetermined)
    assert found.names == ("m.pmml (1)", "m.pmml (2)")
