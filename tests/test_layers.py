"""The order of the rooms, checked on the source: who may import whom, and who may touch a solver."""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from pathlib import Path

from tests.kit import places, syntax

ROOMS = """
ppdm_models
ppdm_models/tree
ppdm_models/semantics
ppdm_models/tables/dialect.py
ppdm_models/tables/readers
ppdm_models/tables
ppdm_models/tables/counting
ppdm_models/outputs
ppdm_models/outputs/readers
ppdm_models/formats
ppdm_models/formats/common
ppdm_models/formats/sklearn
ppdm_models/formats/pmml
ppdm_models/formats/xgboost
ppdm_models/formats/lightgbm
ppdm_models/formats/catboost
ppdm_models/formats/onnx
ppdm_models/formats/skops
ppdm_models/formats/spark
ppdm_models/formats/rare
ppdm_models/formats/own
ppdm_models/files
ppdm_models/learn
ppdm_models/pruning
ppdm_models/methods
ppdm_models/methods/tpp
ppdm_models/methods/generalise
ppdm_models/methods/synthesis
ppdm_models/methods/randomised
ppdm_models/methods/vertical

audit
audit/progress.py
audit/bounds.py
audit/knowledge
audit/options.py
audit/workers
audit/population
audit/inverters
audit/outputs/whole_row.py
audit/outputs
audit/facts
audit/constraints
audit/system
audit/ipopt
audit/solver
audit/workers/clusters
audit/engine/time_budget.py
audit/engine/problem.py
audit/consistent_tables/facts
audit/consistent_tables/proofs
audit/consistent_tables/witnesses
audit/consistent_tables
audit/entropy
audit/engine
audit/membership/learners
audit/membership
audit/reconstruction
audit/claims
audit/joint
audit/blame
audit/regression
audit/partial/fitting
audit/partial
audit/partial/attributes
audit/partial/ensembles
audit/randomised
audit/evidence.py
audit/measures
audit/measures/noise
audit/result.py
audit/leaf_only_audit.py
audit/exposures.py
audit/run_inputs.py
audit/run_tree.py
audit/run_ensemble.py
audit/run.py
audit/release_claims.py
audit/releases.py
audit/adversaries.py

policies
policies/verdict.py
policies/rules
policies/clause.py
policies/validation.py
policies/comparing.py
policies/pack.py
policies/leaf_requirements.py
policies/importing
policies/judging
policies/explain
policies/exceptions
policies/remedies
policies/repair

reports
reports/document
reports/building
reports/figures
reports/renderers

treewarden
treewarden/terminal
treewarden/jobs
treewarden/jobs/policies
treewarden/jobs/attesting
treewarden/jobs/tables
treewarden/jobs/gate
treewarden/jobs/randomised
treewarden/jobs/vertical
treewarden/learn
treewarden/api
treewarden/commands
treewarden/cli.py
treewarden/__main__.py

service
service/database
service/database/migrations
service/database/migrations/versions
service/auth
service/vault
service/site.py
service/ledger
service/schemas
service/use_cases/paging.py
service/use_cases/accounts/attempts.py
service/use_cases/policies.py
service/use_cases/accounts
service/use_cases
service/worker
service/operations
service/api
service/pages
service/running.py
service/commands
"""
ORDER = [line for line in ROOMS.splitlines() if line]
"""Each room, or single file, may import what stands above it, and itself. The same order is in CONTRIBUTING.md."""

SOLVERS = {"casadi", "cyipopt"}
TOUCHES_SOLVERS = {
    "audit/ipopt/solver_backends.py",
    "audit/ipopt/model.py",
}
IMPORTS_PYOMO = "audit/ipopt/model.py"
"""Everybody else takes Pyomo from there: left to itself, it has half of SciPy imported along."""
PRODUCERS = (
    "sklearn",
    "pmml",
    "xgboost",
    "lightgbm",
    "catboost",
    "onnx",
    "skops",
    "spark",
    "rare",
    "own",
)
PLUGIN_FOLDERS = (
    *(f"ppdm_models/formats/{room}" for room in PRODUCERS),
    "ppdm_models/outputs/readers",
    "audit/constraints",
    "audit/inverters",
    "audit/measures",
    "audit/measures/noise",
    "audit/membership/learners",
    "policies/rules",
    "policies/remedies",
    "reports/renderers",
    "treewarden/commands",
    "service/commands",
)


def module_of(path: Path) -> str:
    """Return the name under which a file is imported: all packages are in ``treewarden``."""
    name = ".".join(path.with_suffix("").parts).removesuffix(".__init__")
    return name if path.parts[0] == "treewarden" else f"treewarden.{name}"


PACKAGES = tuple(dict.fromkeys(entry.split("/")[0] for entry in ORDER))
SOURCES = [
    path.relative_to(places.ROOT)
    for package in PACKAGES
    for path in sorted((places.ROOT / package).rglob("*.py"))
]
MODULES = {module_of(path): path for path in SOURCES}


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return the full name of each module that a file of the product imports, and of each name taken from one."""
    return tuple(name for each in import_statements(path) for name in each.names)


def import_statements(path: Path) -> list[syntax.Import]:
    """Return the imports of a file of the product."""
    return syntax.product()[path.as_posix()].imports


@cache
def used(path: Path) -> tuple[Path, ...]:
    """Return our own files that a file imports."""
    found = (MODULES.get(name) or MODULES.get(name.rpartition(".")[0]) for name in imported(path))
    return tuple(dict.fromkeys(file for file in found if file is not None))


def place(path: Path) -> int:
    """Return where a file stands in the order: itself, else its folder."""
    entry = path.as_posix() if path.as_posix() in ORDER else path.parent.as_posix()
    return ORDER.index(entry)


def imports_point_up():
    for path in SOURCES:
        yield from (f"{path} -> {other}" for other in used(path) if place(other) > place(path))


def imports_of_tests_or_benchmarks():
    for path in SOURCES:
        for name in imported(path):
            if name.split(".")[0] in ("tests", "benchmarks"):
                yield f"{path} -> {name}"


def imports_of_benchmarks_by_other_tests():
    """What both need is in `tests/judges` or `tests/kit`; benchmarks are imported by their own tests alone."""
    tests = places.ROOT / "tests"
    for path in sorted(tests.rglob("*.py")):
        text = path.read_text("utf-8") if path.relative_to(tests).parts[0] != "benchmarks" else ""
        if "benchmarks" in text:  # few say the word, and the others need not be parsed
            names = [name for each in syntax.facts_of(text).imports for name in each.names]
            yield from (f"{path} -> {name}" for name in names if name.startswith("benchmarks."))


def imports_go_round_in_a_circle():
    done: set[Path] = set()
    for start in SOURCES:
        stack = [(start, iter(used(start)))]
        trail = {start: None} if start not in done else {}
        while stack and trail:
            path, rest = stack[-1]
            other = next((each for each in rest if each not in done and each != path), None)
            if other is None:
                stack.pop()
                trail.pop(path)
                done.add(path)
            elif other in trail:
                yield f"{path} -> {other}"
                return
            else:
                trail[other] = None
                stack.append((other, iter(used(other))))


LATE_IMPORTS = {
    "audit/consistent_tables/engine.py": {
        "treewarden.audit.consistent_tables.facts.intervals",
        "treewarden.audit.consistent_tables.proofs.propagate",
        "treewarden.audit.consistent_tables.table_search",
        "treewarden.audit.consistent_tables.witnesses.ordered_sets",
    },
    "audit/consistent_tables/facts/facts.py": {"treewarden.audit.outputs.whole_row"},
    "audit/consistent_tables/facts/intervals.py": {
        "treewarden.audit.consistent_tables.facts.exact",
    },
    "audit/consistent_tables/facts/splits.py": {
        "scipy.sparse",
        "scipy.special",
        "treewarden.audit.consistent_tables.facts.exact",
    },
    "audit/consistent_tables/retrain.py": {"treewarden.ppdm_models.learn.growers"},
    "audit/consistent_tables/witnesses/witness_pool.py": {
        "treewarden.audit.consistent_tables.facts.intervals",
    },
    "audit/constraints/policy_growth.py": {"treewarden.audit.facts.stopped_leaves"},
    "audit/constraints/split_choice.py": {"treewarden.audit.facts.node_candidates"},
    "audit/constraints/stopped_leaf.py": {"treewarden.audit.facts.stopped_leaves"},
    "audit/engine/problem.py": {"scipy"},
    "audit/entropy/estimate.py": {"treewarden.audit.entropy.rounds"},
    "audit/entropy/problem.py": {
        "treewarden.audit.consistent_tables.proofs.propagate",
        "treewarden.audit.ipopt.backends",
    },
    "audit/facts/rows.py": {"treewarden.audit.outputs.whole_row"},
    "audit/inverters/__init__.py": {"treewarden.audit.inverters._bounds"},
    "audit/ipopt/backends.py": {
        "treewarden.audit.ipopt.solver_backends",
    },
    "audit/measures/_shared.py": {"treewarden.audit.regression.totals"},
    "audit/population/forest.py": {
        "treewarden.audit.population.routing",
        "treewarden.ppdm_models.tables.predict",
    },
    "audit/outputs/conditions.py": {"treewarden.ppdm_models.tables.predict"},
    "audit/reconstruction/of_model.py": {
        "treewarden.audit.reconstruction.boosted",
        "treewarden.audit.reconstruction.drawn_records",
        "treewarden.audit.reconstruction.generated_cells",
        "treewarden.audit.reconstruction.single_values",
    },
    "audit/reconstruction/generated_cells.py": {"scipy.optimize"},
    "audit/reconstruction/named_values.py": {
        "scipy",
        "treewarden.audit.membership.cuts",
        "treewarden.audit.reconstruction.problem",
        "treewarden.audit.reconstruction.proved",
    },
    "audit/reconstruction/of_table.py": {
        "treewarden.audit.reconstruction.exchanges",
        "treewarden.audit.reconstruction.boosted",
        "treewarden.audit.reconstruction.named_values",
        "treewarden.audit.reconstruction.of_model",
        "treewarden.audit.reconstruction.single_values",
    },
    "audit/reconstruction/proved.py": {"scipy.sparse.csgraph"},
    "audit/run.py": {
        "treewarden.audit.claims.judge_claim",
        "treewarden.audit.run_ensemble",
    },
    "audit/run_inputs.py": {
        "treewarden.audit.blame.of_model",
        "treewarden.audit.membership.of_model",
        "treewarden.audit.outputs.beside_rows",
        "treewarden.audit.outputs.conditions",
        "treewarden.audit.reconstruction.of_table",
        "treewarden.audit.regression.totals",
    },
    "audit/run_tree.py": {
        "treewarden.audit.claims.judge_claim",
        "treewarden.audit.consistent_tables.retrain",
        "treewarden.audit.system.conflict",
        "treewarden.audit.workers.pool",
    },
    "policies/judging/finding.py": {"treewarden.policies.judging.place_groups"},
    "policies/pack.py": {"treewarden.policies.comparing"},
    "policies/remedies/withhold_least.py": {
        "treewarden.audit.blame.certainty",
        "treewarden.audit.blame.of_model",
        "treewarden.audit.blame.withholding",
        "treewarden.audit.joint.draws",
        "treewarden.audit.run_inputs",
    },
    "ppdm_models/formats/pmml/_nodes.py": {"treewarden.ppdm_models.formats.pmml._columns"},
    "ppdm_models/formats/pmml/_tree.py": {"treewarden.ppdm_models.formats.sklearn._arrays"},
    "ppdm_models/formats/pmml/pmml.py": {
        "treewarden.ppdm_models.formats.pmml._mining",
        "treewarden.ppdm_models.formats.pmml._rewrite",
        "treewarden.ppdm_models.formats.pmml._write",
    },
    "ppdm_models/outputs/sheets.py": {
        "treewarden.ppdm_models.tables.readers",
        "treewarden.ppdm_models.tables.readers.workbook",
    },
    "reports/building/build.py": {
        "treewarden.reports.building.claims",
        "treewarden.reports.building.ensembles",
    },
    "reports/building/steps.py": {
        "treewarden.policies.repair.repair",
        "treewarden.ppdm_models.files.convert",
    },
    "reports/renderers/__init__.py": {"treewarden.reports.building.entry"},
    "reports/renderers/html.py": {"treewarden.reports.figures.plots"},
    "service/operations/observability.py": {
        "opentelemetry.exporter.otlp.proto.http.trace_exporter",
        "opentelemetry.instrumentation.fastapi",
        "opentelemetry.sdk.resources",
        "opentelemetry.sdk.trace",
        "opentelemetry.sdk.trace.export",
    },
    "treewarden/commands/_common_options.py": {
        "treewarden.audit.workers.clusters.cluster",
        "treewarden.jobs.audit_request",
    },
    "treewarden/commands/_reporting.py": {
        "treewarden.reports.building.redacted",
        "treewarden.terminal.gate_summary",
    },
    "treewarden/commands/audit.py": {
        "treewarden.jobs.planning",
        "treewarden.jobs.exceptions",
        "treewarden.jobs.posterior",
        "treewarden.policies.exceptions.baseline",
        "treewarden.terminal.progress",
    },
    "treewarden/commands/gate.py": {"treewarden.jobs.gate.repair_steps"},
    "treewarden/jobs/audit_inputs.py": {
        "treewarden.audit.adversaries",
        "treewarden.audit.leaf_only_audit",
        "treewarden.audit.releases",
    },
    "treewarden/jobs/auditing.py": {"treewarden.jobs.attacking", "treewarden.jobs.exceptions"},
    **dict.fromkeys(
        (
            "service/use_cases/audits.py",
            "service/worker/auditing.py",
            "treewarden/commands/inspect.py",
            "treewarden/jobs/gate/auditing.py",
        ),
        {"treewarden.jobs.further_files"},
    ),
    "treewarden/jobs/inputs.py": {
        "treewarden.ppdm_models.files.convert",
        "treewarden.ppdm_models.tables.arrow_column",
        "treewarden.ppdm_models.tables.counting.databases",
        "treewarden.ppdm_models.tables.counting.source",
        "treewarden.ppdm_models.tables.read_table",
        "treewarden.reports.document.parts",
    },
    "treewarden/jobs/inspecting.py": {
        "treewarden.audit.reconstruction.domain",
        "treewarden.audit.reconstruction.of_model",
    },
    "treewarden/jobs/next_steps.py": {"treewarden.ppdm_models.files.convert"},
    "treewarden/jobs/population.py": {
        "treewarden.audit.knowledge.adversaries",
        "treewarden.audit.population.file_only_population",
        "treewarden.ppdm_models.tables.counting.databases",
        "treewarden.ppdm_models.tables.counting.source",
    },
    "treewarden/jobs/read_inputs.py": {
        "treewarden.audit.population.linked_population",
        "treewarden.audit.releases",
        "treewarden.jobs.declared",
        "treewarden.jobs.further_files",
        "treewarden.ppdm_models.tree.rename_columns",
    },
    "treewarden/terminal/progress.py": {"treewarden.audit.solver.checkpoint"},
}
"""What is imported when it is first needed: rooms of models, adversaries and searches that most audits do without, and
packages of an extra."""


def an_import_hides_inside_a_function():
    for path in SOURCES:
        late = LATE_IMPORTS.get(path.as_posix(), set())
        for statement in import_statements(path):
            if statement.is_inside and statement.module not in late:
                yield f"{path}:{statement.line}"


def a_solver_is_touched_elsewhere():
    for path in SOURCES:
        touched = {name.split(".")[0] for name in imported(path)} & SOLVERS
        if touched and path.as_posix() not in TOUCHES_SOLVERS:
            yield f"{path}: {', '.join(touched)}"


def pyomo_is_imported_elsewhere():
    for path in SOURCES:
        is_imported = any(name.split(".")[0] == "pyomo" for name in imported(path))
        if is_imported and path.as_posix() != IMPORTS_PYOMO:
            yield str(path)


def plug_ins_import_each_other():
    for folder in map(Path, PLUGIN_FOLDERS):
        for path in SOURCES:
            if path.parent == folder:
                others = (each for each in used(path) if each.parent == folder and each != path)
                yield from (f"{path} -> {each}" for each in others if not each.name.startswith("_"))


def a_folder_of_plug_ins_holds_another_room():
    """One of plug-ins it may hold: they are found there too."""
    for folder in PLUGIN_FOLDERS:
        rooms = [room for room in ORDER if room.startswith(f"{folder}/")]
        yield from (f"{folder}: {room}" for room in rooms if room not in PLUGIN_FOLDERS)


RULES = [
    imports_point_up,
    imports_of_tests_or_benchmarks,
    imports_of_benchmarks_by_other_tests,
    imports_go_round_in_a_circle,
    an_import_hides_inside_a_function,
    a_solver_is_touched_elsewhere,
    pyomo_is_imported_elsewhere,
    plug_ins_import_each_other,
    a_folder_of_plug_ins_holds_another_room,
]


def test_no_rule_is_broken_anywhere():
    broken = {rule.__name__: list(rule()) for rule in RULES}
    assert broken == dict.fromkeys(broken, [])


def test_every_folder_is_in_the_order_and_every_entry_is_there():
    folders = {path.parent.as_posix() for path in SOURCES}
    assert folders <= set(ORDER)
    assert all((places.ROOT / entry).exists() for entry in ORDER)
    assert len(ORDER) == len(set(ORDER))


def test_the_packages_stand_together_in_the_order():
    packages = [entry.split("/")[0] for entry in ORDER]
    turns = sum(one != other for one, other in pairwise(packages))
    assert turns == len(PACKAGES) - 1


def test_the_contributors_guide_names_every_room_and_every_file_beside_the_rooms():
    guide = (places.ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rooms = [Path(entry).name for entry in ORDER if "/" in entry and not entry.endswith(".py")]
    files = [path.name for path in SOURCES if len(path.parts) == 2 and path.name[:2] != "__"]
    assert [name for name in (*rooms, *files) if name not in guide] == []
