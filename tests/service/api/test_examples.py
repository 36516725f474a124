import pytest

from treewarden.service.running import PREFIX, application
from treewarden.service.schemas import (
    audits,
    models,
    people,
    releases,
)
from treewarden.service.settings import Settings
from treewarden.service.site import open_site


@pytest.fixture(scope="module")
def described(tmp_path_factory):
    site = open_site(Settings(data_dir=tmp_path_factory.mktemp("site")))
    found = application(site).openapi()
    site.engine.dispose()
    return found


def bodies(described):
    for path, each in described["paths"].items():
        for method, said in each.items():
            content = said.get("requestBody", {}).get("content", {})
            if "application/json" in content:
                yield method, path, content["application/json"]["schema"]


def test_every_body_that_is_sent_is_shown_by_an_example(described):
    schemas = described["components"]["schemas"]
    without = [
        (method, path)
        for method, path, schema in bodies(described)
        if "$ref" in schema and "examples" not in schemas[schema["$ref"].rpartition("/")[2]]
    ]
    assert without == []


def test_every_route_says_what_it_does(described):
    assert described["paths"]
    for path, each in described["paths"].items():
        assert path.startswith(PREFIX)
        for said in each.values():
            assert said["summary"]
            assert said["description"]


def test_examples_can_be_sent(described):
    names = {
        schema["$ref"].rpartition("/")[2] for _, _, schema in bodies(described) if "$ref" in schema
    }
    module = {name: found for name, found in _classes() if name in names}
    for name, found in module.items():
        for example in described["components"]["schemas"][name]["examples"]:
            found.model_validate(example)


def _classes():
    for each in (audits, models, people, releases):
        yield from vars(each).items()
