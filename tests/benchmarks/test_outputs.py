"""The gates that the forms are timed on hold as many findings as was asked for."""

import pytest

from benchmarks.outputs import made
from treewarden.reports.figures.gate_rows import gate_rows


@pytest.mark.parametrize(("findings", "models"), [(7, 3), (6, 3), (3, 3), (5, 1)])
def test_so_many_findings_are_spread_over_the_models(findings, models):
    gate = made(findings, models)
    assert len(gate.entries) == models
    assert len(gate_rows(gate)) == findings
    assert len({row.key for row in gate_rows(gate)}) == findings
