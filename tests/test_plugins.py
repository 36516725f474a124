"""What every plug-in owes its folder, run on whatever is found there."""

from __future__ import annotations

import pytest

import audit.constraints
import audit.measures
import policies.remedies
import policies.rules
import ppdm_models.formats
import reports.renderers
from audit.constraints import Constraint
from audit.measures import Measure
from audit.reading import Undetermined, exactly
from policies.pack import load_pack, shipped_packs
from policies.remedies import Remedy
from policies.rules import Rule
from policies.verdict import Verdict
from ppdm_models.errors import TreeFormatError
from ppdm_models.formats import Format
from ppdm_models.plugins import discover, summary
from reports.renderers import Renderer
from tests import places

FORMATS = discover(ppdm_models.formats, "FORMAT", Format)
MEASURES = discover(audit.measures, "MEASURE", Measure)
RULES = discover(policies.rules, "RULE", Rule)
PLUGINS = {
    **{f"formats/{name}": plugin for name, plugin in FORMATS.items()},
    **{
        f"constraints/{name}": plugin
        for name, plugin in discover(audit.constraints, "CONSTRAINT", Constraint).items()
    },
    **{f"measures/{name}": plugin for name, plugin in MEASURES.items()},
    **{f"rules/{name}": plugin for name, plugin in RULES.items()},
    **{
        f"remedies/{name}": plugin
        for name, plugin in discover(policies.remedies, "REMEDY", Remedy).items()
    },
    **{
        f"renderers/{name}": plugin
        for name, plugin in discover(reports.renderers, "RENDERER", Renderer).items()
    },
}


@pytest.mark.parametrize("name", PLUGINS)
def test_a_plug_in_says_in_one_line_what_it_is(name):
    said = summary(PLUGINS[name])
    assert len(said) > 20
    assert said.endswith(".")


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("data", [b"", b"\x00\xff\xfe", b"<", b"{", b"[[[[", b"<a/>", b'{"a": 1}'])
def test_a_format_refuses_what_is_no_tree_with_its_own_error(name, data):
    assert isinstance(FORMATS[name].sniff(data), bool)
    with pytest.raises(TreeFormatError):
        FORMATS[name].open(data, "odd")


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_declares_what_a_policy_needs(name):
    measure = MEASURES[name]
    assert measure.unit
    assert measure.limits[0] < measure.limits[1]
    assert measure.risk in ("low", "high")


@pytest.mark.parametrize("name", RULES)
def test_a_rule_never_passes_what_could_not_be_told(name):
    assert RULES[name].judge(Undetermined("no data"), 1.0) is Verdict.UNDETERMINED


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fails_far_on_one_side_and_passes_far_on_the_other(name):
    verdicts = [RULES[name].judge(exactly(value), 1.0) for value in (-1e9, 1e9)]
    assert sorted(verdicts) == [Verdict.PASS, Verdict.FAIL]


@pytest.mark.parametrize("name", shipped_packs())
def test_a_pack_that_ships_is_understood_and_gives_its_sources(name):
    pack = load_pack(name)
    assert pack.name == name
    assert all(clause.source and clause.why for clause in pack.clauses)


@pytest.mark.parametrize("name", PLUGINS)
def test_the_id_is_the_file_name(name):
    folder, _, identity = name.partition("/")
    root = places.ROOT
    assert list(root.glob(f"*/{folder}/{identity}.py"))
