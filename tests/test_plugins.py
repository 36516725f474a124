"""What every plug-in owes its folder, run on whatever is found there."""

from __future__ import annotations

import importlib
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.kit.rows import rows
from treewarden.audit import constraints, measures
from treewarden.audit.constraints import Constraint
from treewarden.audit.measures import EvidenceSource, LeafMeasure, Measure
from treewarden.audit.reading import Interval, Undetermined, exactly
from treewarden.commands.list import FOLDERS
from treewarden.policies import remedies, rules
from treewarden.policies.pack import load_pack
from treewarden.policies.remedies import Remedy
from treewarden.policies.rules import Rule
from treewarden.policies.shipped import shipped_packs
from treewarden.policies.verdict import PolicyVerdict
from treewarden.ppdm_models import formats
from treewarden.ppdm_models.errors import TreeFormatError
from treewarden.ppdm_models.formats import Format
from treewarden.ppdm_models.plugins import _first_line, discover, module_names, summaries
from treewarden.reports import renderers
from treewarden.reports.renderers import Renderer

FORMATS = discover(formats, "FORMAT", Format)
MEASURES = discover(measures, "MEASURE", Measure)
RULES = discover(rules, "RULE", Rule)
REMEDIES = discover(remedies, "REMEDY", Remedy)
RENDERERS = discover(renderers, "RENDERER", Renderer)
FOUND = {
    "treewarden.ppdm_models.formats": FORMATS,
    "treewarden.audit.constraints": discover(constraints, "CONSTRAINT", Constraint),
    "treewarden.audit.measures": MEASURES,
    "treewarden.policies.rules": RULES,
    "treewarden.policies.remedies": REMEDIES,
    "treewarden.reports.renderers": RENDERERS,
}
SAID = [(folder, name, said) for folder in FOUND for name, said in summaries(folder).items()]


@pytest.mark.parametrize("folder", FOUND)
def test_what_is_listed_is_what_is_found_each_by_the_name_of_its_file(folder):
    assert set(FOLDERS.values()) == set(FOUND)
    assert list(summaries(folder)) == list(FOUND[folder])


@rows(("folder", "name", "said"), SAID)
def test_a_plug_in_says_in_one_line_what_it_is(folder, name, said):
    module = importlib.import_module(module_names(sys.modules[folder])[name])
    assert said == (module.__doc__ or "").splitlines()[0]
    assert len(said) > 20
    assert said.endswith(".")


def test_what_starts_with_no_docstring_says_nothing_and_what_is_no_package_is_refused(tmp_path):
    file = tmp_path / "silent.py"
    file.write_text("# only a comment\nNAME = 'not said'\n")
    assert _first_line(file) == ""
    with pytest.raises(ModuleNotFoundError, match="no package 'audit.nowhere'"):
        summaries("audit.nowhere")


@rows("name", FORMATS)
def test_a_format_refuses_what_is_no_tree_with_its_own_error(name):
    for data in (b"", b"\x00\xff\xfe", b"<", b"{", b"[[[[", b"<a/>", b'{"a": 1}'):
        assert isinstance(FORMATS[name].sniff(data), bool), data
        with pytest.raises(TreeFormatError):
            FORMATS[name].open(data, "odd")


@pytest.mark.parametrize("name", MEASURES)
def test_a_measure_declares_what_a_policy_needs(name):
    measure = MEASURES[name]
    assert measure.unit
    assert measure.limits[0] < measure.limits[1]
    assert measure.risk in ("low", "high")
    assert measure.reads <= set(EvidenceSource)
    assert measure.reads - {EvidenceSource.TRUTH}
    assert measure.is_of_leaves == (
        isinstance(measure, LeafMeasure) or measure.reads == {EvidenceSource.SHAPE}
    )


@pytest.mark.parametrize("name", RULES)
def test_a_rule_never_passes_what_could_not_be_told(name):
    assert RULES[name].judge(Undetermined("no data"), 1.0) is PolicyVerdict.UNDETERMINED


@pytest.mark.parametrize("name", RULES)
def test_a_rule_fails_far_on_one_side_and_passes_far_on_the_other(name):
    verdicts = [RULES[name].judge(exactly(value), 1.0) for value in (-1e9, 1e9)]
    assert sorted(verdicts) == [PolicyVerdict.PASS, PolicyVerdict.FAIL]


@pytest.mark.parametrize("name", RULES)
@given(low=st.floats(-9, 9), width=st.floats(0, 9), limit=st.floats(-9, 9))
def test_the_margin_of_a_rule_is_1_or_more_where_it_passes_and_1_or_less_where_it_fails(
    name, low, width, limit
):
    rule, reading = RULES[name], Interval(low, low + width)
    margin, verdict = rule.margin(reading, limit), rule.judge(reading, limit)
    assert margin >= 0
    assert margin >= 1 or verdict is not PolicyVerdict.PASS
    assert margin <= 1 or verdict is not PolicyVerdict.FAIL


@pytest.mark.parametrize("name", RULES)
def test_what_could_not_be_told_has_no_margin(name):
    assert RULES[name].margin(Undetermined("no data"), 1.0) is None


@pytest.mark.parametrize("name", REMEDIES)
def test_a_remedy_says_whether_it_mends_leaves(name):
    assert isinstance(REMEDIES[name].mends_leaves, bool)


@pytest.mark.parametrize("name", RENDERERS)
def test_a_renderer_says_what_its_bytes_are(name):
    assert "/" in RENDERERS[name].media_type
    assert RENDERERS[name].suffix
    assert not RENDERERS[name].suffix.startswith(".")


@pytest.mark.parametrize("name", shipped_packs())
def test_a_pack_that_ships_is_understood_and_gives_its_sources(name):
    pack = load_pack(name)
    assert pack.name == name
    assert all(clause.source and clause.why for clause in pack.clauses)
