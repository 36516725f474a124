"""What the gate is timed on: models that fit their tables, and figures that say whether goals are met."""

from __future__ import annotations

from benchmarks.gate import lines, write_models
from treewarden.jobs.gate.config import read_configuration
from treewarden.jobs.gate.gating import gate


def test_its_models_can_all_be_audited(tmp_path):
    assert len(write_models(tmp_path, 2, 200)) == 2
    found = gate(read_configuration(tmp_path / "treewarden.toml")).gate
    assert len(found.entries) == 2
    assert found.outcome != "NO AUDIT"


def test_a_goal_that_is_missed_is_said():
    seconds = {
        "one process": 10.0,
        "commands": 20.0,
        "changed": 9.0,
        "unchanged": 1.0,
        "help": 0.1,
        "load before": 0.0,
        "load after": 0.0,
    }
    text = "\n".join(lines(20, 100, 1, 2, seconds))
    assert "| gate, nothing known | 9.00 | 1.3 x 5.0 s | no |" in text
    assert "| gate, nothing changed | 1.00 | 2 s | yes |" in text
