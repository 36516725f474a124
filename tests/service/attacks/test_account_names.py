"""Names of accounts: they tell nothing of other organisations, and none looks like another of the same one."""

import pytest

from tests.kit.service import sites
from tests.kit.service.accounts import OWN, browser, one_time_password, owner, sign_in
from treewarden.service.names import has_mixed_word, look_key, name_key
from treewarden.service.running import PREFIX


def made(client, name):
    return client.post(f"{PREFIX}/accounts", json={"name": name, "role": "viewer"}).status_code


@pytest.fixture
def client(site):
    return sites.open_client(site, sites.add_account(site, sites.add_organisation(site), "ann"))


def test_a_name_of_another_organisation_is_free(site, client):
    elsewhere = sites.add_organisation(site, "Elsewhere")
    sites.add_account(site, elsewhere, "bob")
    assert made(client, "bob") == 201
    assert made(client, "bob") == 409


@pytest.mark.parametrize(
    "name",
    ["ANN", "Аnn", "аnn", "ａｎｎ", "an\u0578", "a\u0578n"],
    ids=ascii,
)
def test_a_name_that_looks_like_one_that_is_there_is_refused(client, name):
    assert made(client, name) in (409, 422)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Iris", "lris"),
        ("kern", "kem"),
        ("bob1", "bobl"),
        ("сорос", "copoc"),
        ("Straße", "STRASSE"),
    ],
)
def test_names_that_look_alike_share_a_key(one, other):
    assert name_key(one) == name_key(other) or look_key(one) == look_key(other)


@pytest.mark.parametrize(
    ("one", "other"), [("ann", "anna"), ("Muller", "Müller"), ("Eli", "Eil"), ("李", "季")]
)
def test_names_that_differ_to_the_eye_are_both_taken(one, other):
    assert name_key(one) != name_key(other)
    assert look_key(one) != look_key(other)


def test_a_word_is_of_one_script_and_a_name_may_have_several():
    assert has_mixed_word("p\u0430ypal")
    for name in ("Ольга@hospital", "田中さん", "김철수", "O’Neil-1", "Jörg Müßig"):
        assert not has_mixed_word(name)


def test_a_long_name_that_becomes_longer_is_refused_in_words(client):
    assert made(client, "\ufdfa" * 150) == 422


def test_who_signs_in_is_asked_for_the_organisation_where_there_are_several(site):
    owner(site, "root", "Hospital")
    assert 'name="organisation"' not in browser(site).get("/sign-in").text
    owner(site, "root", "Elsewhere")
    form = browser(site).get("/sign-in", params={"organisation": "Hospital"}).text
    assert 'name="organisation"' in form
    assert 'value="Hospital"' in form
    client = browser(site)
    assert sign_in(client, organisation=" elsewhere ").status_code == 303
    assert client.get(f"{PREFIX}/me").json()["organisation"] == "Elsewhere"


def test_a_refusal_does_not_tell_which_organisation_or_name_is_there(site):
    owner(site, "root", "Hospital")
    one_time_password(site, "eve", "Elsewhere")
    said = set()
    for organisation, name in (
        ("Hospital", "root"),
        ("Hospital", "eve"),
        ("Nowhere", "root"),
        ("", "root"),
        ("Hospital", "ro\x00ot"),
    ):
        answer = sign_in(browser(site), name, "guess", organisation=organisation)
        text = answer.text.replace(f'value="{name}"', "").replace(f'value="{organisation}"', "")
        said.add((answer.status_code, text.split("<form", 1)[0]))
    assert len(said) == 1


def test_another_spelling_of_a_name_gives_no_more_guesses(site):
    owner(site)
    for name in ("root", "ROOT", "Root", "rооt", "roOt"):
        assert sign_in(browser(site), name, "guess").status_code == 401
    assert sign_in(browser(site), "root", OWN).status_code == 429
