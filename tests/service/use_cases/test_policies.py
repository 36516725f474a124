import pytest

from tests.kit.service import sites
from treewarden.policies.pack import load_pack, read_pack
from treewarden.policies.shipped import shipped_packs
from treewarden.service.errors import ConflictError, InvalidError, NotFoundError
from treewarden.service.schemas.releases import NewPack
from treewarden.service.use_cases.policies import (
    add_pack,
    chosen_pack,
    diff_packs,
    get_pack,
    list_packs,
)

OWN = """
name = "clinic"
version = "{version}"
title = "Clinic: groups of {limit}"
extends = "baseline"

[[clause]]
id = "smallest-leaf"
limit = {limit}
"""


def own(limit, version="1.0.0"):
    return NewPack(toml=OWN.format(limit=limit, version=version))


@pytest.fixture
def ann(site):
    return sites.add_account(site, sites.add_organisation(site), "ann", "policy_owner")


def test_packs_that_ship_are_there_and_say_all_of_themselves(site, ann):
    with site.reading() as unit:
        assert {each.name for each in list_packs(unit, ann)} == set(shipped_packs())
        for name in shipped_packs():
            chosen = chosen_pack(unit, ann.organisation_id, name)
            assert read_pack(chosen.toml.encode(), name).digest == load_pack(name).digest
            assert get_pack(unit, ann, name).plain


def test_an_own_pack_has_versions_and_is_whole(site, ann):
    with site.unit() as unit:
        first = add_pack(unit, ann, own(20))
        second = add_pack(unit, ann, own(30, "2.0.0"))
    assert (first.n, second.n) == (1, 2)
    with site.reading() as unit:
        assert chosen_pack(unit, ann.organisation_id, "clinic").n == 2
        assert chosen_pack(unit, ann.organisation_id, "clinic@1").digest == first.digest
        assert "extends" not in get_pack(unit, ann, "clinic@1").toml
        found = diff_packs(unit, ann, "clinic@1", "clinic@2")
        assert found.is_at_least_as_strict
        assert not diff_packs(unit, ann, "clinic@2", "clinic@1").is_at_least_as_strict


def test_the_same_again_is_no_new_version(site, ann):
    with site.unit() as unit:
        add_pack(unit, ann, own(20))
    with pytest.raises(ConflictError, match="requires the same as version"), site.unit() as unit:
        add_pack(unit, ann, own(20))


@pytest.mark.parametrize(
    ("toml", "said"),
    [
        ('name = "x"\nextends = "/etc/passwd"', "is neither a built-in policy"),
        ('name = "x"\nextends = "../secret.toml"', "is neither a built-in policy"),
        ("not toml [", "not valid TOML"),
        ('name = "baseline"', "pack"),
        ('name = "x@2"\nversion = "1.0.0"\ntitle = "t"\nextends = "baseline"', "contains an @"),
        ("a = " + "[" * 5000, "not valid TOML"),
    ],
    ids=["a file", "a file above", "no toml", "too little", "an @", "deep"],
)
def test_what_is_no_pack_of_ones_own_is_refused(site, ann, toml, said):
    with pytest.raises(InvalidError, match=said), site.unit() as unit:
        add_pack(unit, ann, NewPack(toml=toml))


@pytest.mark.parametrize("name", ["baseline", "Baseline", "BASELINE", "ｂaseline", " baseline"])
def test_what_is_read_as_the_name_of_a_pack_that_ships_is_taken(site, ann, name):
    with site.reading() as unit:
        shipped = get_pack(unit, ann, "baseline").toml
    toml = shipped.replace('name = "baseline"', f'name = "{name}"', 1)
    with pytest.raises(InvalidError, match="the name of a built-in policy"), site.unit() as unit:
        add_pack(unit, ann, NewPack(toml=toml))


@pytest.mark.parametrize("name", ["clinic@2", "clinic@x", "@", "", "clinic@99999999999"])
def test_what_is_not_there_is_not_found(site, ann, name):
    with site.unit() as unit:
        add_pack(unit, ann, own(20))
    with pytest.raises(NotFoundError), site.reading() as unit:
        get_pack(unit, ann, name)


def test_another_organisation_has_packs_of_its_own(site, ann):
    with site.unit() as unit:
        add_pack(unit, ann, own(20))
    eve = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve", "policy_owner")
    with pytest.raises(NotFoundError), site.reading() as unit:
        get_pack(unit, eve, "clinic")


def test_an_own_pack_may_extend_another_and_stays_whole(site, ann):
    over = 'name = "ward"\nversion = "1.0.0"\ntitle = "Ward"\nextends = "{}"\n'
    with site.unit() as unit:
        first = add_pack(unit, ann, own(20))
        add_pack(unit, ann, NewPack(toml=over.format("clinic@1")))
        add_pack(unit, ann, own(30))
    with site.reading() as unit:
        found = get_pack(unit, ann, "ward")
        assert found.clauses == first.clauses
        assert chosen_pack(unit, ann.organisation_id, "ward").digest == found.digest
    eve = sites.add_account(site, sites.add_organisation(site, "Bank"), "eve", "policy_owner")
    with pytest.raises(InvalidError, match="nor one of yours"), site.unit() as unit:
        add_pack(unit, eve, NewPack(toml=over.format("clinic")))
