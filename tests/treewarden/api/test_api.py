"""The names of the package: light to import, and the same for people as for type checkers."""

import ast
import subprocess
import sys
from dataclasses import fields
from inspect import signature
from typing import get_args, get_type_hints

import pytest

import treewarden
from tests.kit import places
from treewarden.api.requests import Options
from treewarden.audit.options import OPTION_SPECS, AuditOptions
from treewarden.jobs.audit_request import FILE_SPECS

SAID = places.ROOT / "treewarden" / "__init__.pyi"


def test_every_name_is_there_and_documented():
    for name in treewarden.__all__:
        found = getattr(treewarden, name)
        assert name == "__version__" or found.__doc__


def test_a_name_that_is_not_there_is_no_attribute():
    with pytest.raises(AttributeError, match="has no attribute 'audits'"):
        treewarden.audits  # noqa: B018  # asking for it is the test


def test_type_checkers_see_the_same_names():
    body = ast.parse(SAID.read_text(encoding="utf-8")).body
    names = [each.names[0].name for each in body if isinstance(each, ast.ImportFrom)]
    assert sorted([*names, "__version__"]) == sorted(treewarden.__all__)


def test_the_package_says_that_it_is_typed():
    assert (places.ROOT / "treewarden" / "py.typed").exists()


def test_importing_the_package_loads_nothing_else():
    code = "import treewarden, sys; print([m for m in sys.modules if m.split('.')[0] in %r])"
    done = subprocess.run(
        [sys.executable, "-c", code % (("treewarden", "audit", "pandas", "pyarrow", "numpy"),)],
        capture_output=True,
        text=True,
        check=True,
        cwd=places.ROOT,
    )
    assert done.stdout.strip() == "['treewarden']"


@pytest.mark.parametrize("call", ["audit", "repair"])
def test_every_option_of_the_command_line_is_an_argument_with_the_same_default(call):
    known = signature(getattr(treewarden, call)).parameters
    for each in fields(AuditOptions):
        if each.name in known:
            assert known[each.name].default == each.default
        else:
            assert each.name in Options.__annotations__
    arguments = {spec.argument for spec in FILE_SPECS.values()}
    assert arguments <= {*known, *Options.__annotations__}
    named = {*OPTION_SPECS, *arguments}
    assert set(Options.__annotations__) <= named


@pytest.mark.parametrize("name", [name for name, spec in OPTION_SPECS.items() if spec.choices])
def test_type_checkers_know_the_words_that_an_option_takes(name):
    kind = get_type_hints(Options).get(name) or get_type_hints(treewarden.audit)[name]
    assert name == "learner" or get_args(kind) == OPTION_SPECS[name].choices
