"""Packs as files: what goes in comes out, by any name that a pack may have."""

import pytest

from tests.kit.service import sites
from treewarden.policies.pack import load_pack, read_pack
from treewarden.service.running import PREFIX

OWN = 'name = "{name}"\nversion = "{n}"\ntitle = "As health"\nextends = "{base}"\n'


@pytest.fixture
def client(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann", "policy_owner")
    return sites.open_client(site, ann, follow_redirects=False)


def test_a_version_is_given_out_as_the_file_that_it_is(client):
    for n, base in enumerate(("health", "strict"), start=1):
        toml = OWN.format(name="clinic", n=n, base=base)
        assert client.post(f"{PREFIX}/packs", json={"toml": toml}).status_code == 201
    for name, base in (("clinic@1", "health"), ("clinic@2", "strict"), ("clinic", "strict")):
        answer = client.get(f"{PREFIX}/packs/{name}/toml")
        assert answer.headers["content-type"].startswith("application/toml")
        pack = read_pack(answer.content, name)
        assert pack.clauses == load_pack(base).clauses
        said = client.get(f"{PREFIX}/packs/{name}").json()
        assert (pack.digest, answer.text) == (said["digest"], said["toml"])


def test_what_was_given_out_is_taken_as_what_is_there_already(client):
    toml = OWN.format(name="clinic", n=1, base="health")
    client.post(f"{PREFIX}/packs", json={"toml": toml})
    given = client.get(f"{PREFIX}/packs/clinic/toml").text
    assert client.post(f"{PREFIX}/packs", json={"toml": given}).status_code == 409


def test_a_pack_that_ships_is_given_out_too(client):
    answer = client.get(f"{PREFIX}/packs/health/toml")
    assert read_pack(answer.content, "health").digest == load_pack("health").digest


def test_a_pack_that_is_not_there_has_no_file(client):
    assert client.get(f"{PREFIX}/packs/clinic/toml").status_code == 404


@pytest.mark.parametrize("name", ["Klinik für Ärzte", "клиника", "50% more?", "a#b"])
def test_a_pack_is_found_by_any_name_that_it_may_have(client, name):
    toml = OWN.format(name=name, n=1, base="health")
    made = client.post(f"{PREFIX}/packs", json={"toml": toml})
    assert made.status_code == 201
    where = made.headers["location"]
    assert client.get(where).json()["name"] == name
    assert client.get(f"{where}/toml").status_code == 200
    page = client.post("/packs", data={"toml": toml.replace("As", "Just as")})
    assert page.status_code == 303
    shown = client.get(page.headers["location"])
    assert shown.status_code == 200
    link = shown.text.partition(f'href="{PREFIX}/packs/')[2].partition('"')[0]
    assert client.get(f"{PREFIX}/packs/{link}").status_code == 200
