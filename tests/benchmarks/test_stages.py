"""The benchmark's stages are functions that the estimate really calls."""

from benchmarks.maxent.stages import Stages
from tests.kit.cases import multiway_case
from treewarden.audit.entropy.estimate import estimate
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.options import AuditOptions
from treewarden.audit.system.system import build_system


def test_every_stage_takes_some_of_the_time():
    system = build_system(multiway_case(4, Knowledge(leaf="rates", split="gini"), records=30))
    with Stages() as stages:
        estimate(system, AuditOptions(jobs=1, rows="real"))
    assert min(stages.seconds.values()) > 0
