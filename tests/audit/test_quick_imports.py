"""What is imported, and what is left alone: nobody waits for what is not used."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.kit import places
from tests.kit.tiers import cases

HEAVY = (
    "casadi",
    "lxml",
    "matplotlib",
    "ortools",
    "pandas",
    "pyarrow",
    "pyomo",
    "scipy",
    "sklearn",
)
"""What only audits, tables, plots and some formats need."""
PACKAGES = ("ppdm_models", "audit", "policies", "reports")
FOUND = """
import sys
from treewarden.ppdm_models.plugins import discover
from {package} import {contract}
list(discover(sys.modules[{package!r}], {export!r}, {contract}).values())
"""
LISTED = """
from treewarden.commands.list import COMMAND
COMMAND.main([], standalone_mode=False)
"""
TAKING_PART = """
from pathlib import Path
import treewarden.commands.miner
import treewarden.commands.party
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.jobs.vertical.columns import NumberHandling, holding_of
table = read_table(Path({path!r}))
holding_of(table, ["text", "number"], "class", ["no", "yes"], NumberHandling.BINS)
"""
COUNTING = """
from pathlib import Path
import numpy as np
import pyarrow as pa
from treewarden.ppdm_models.tables.number_formats import array_of
from treewarden.ppdm_models.tables.counting.databases import open_source
from treewarden.ppdm_models.tables.counting.source import count_table
from treewarden.jobs.posterior import grouped
print(count_table(open_source(Path({path!r}))).rows)
print(list(grouped([], pa.schema([("p", pa.float64())]))), array_of(np.ones(2), np.ones(2) > 0))
"""
AUDITED = """
from treewarden.cli import cli
words = ["audit", {model!r}, "--data", {table!r}, "--sensitive", "play", "--split", "none", "--quiet"]
cli([*words, *{more!r}], standalone_mode=False)
"""
INSPECTED = """
from treewarden.cli import cli
cli(["inspect", {model!r}], standalone_mode=False)
"""
USED = """
import sys
{before}
import treewarden.audit.run
import matplotlib.figure
print("scipy.stats" in sys.modules, "matplotlib.pyplot" in sys.modules)
from pyomo.common.dependencies import matplotlib, scipy, scipy_available
print(bool(scipy_available), scipy.stats.norm.cdf(0.0), matplotlib.pyplot.__name__)
"""


def printed(code):
    """Return the last words that a program prints."""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return said.stdout.split()


def seen_of(names, code):
    """Return which of some modules a program has imported."""
    tail = f"import sys\nprint('seen', *[name for name in {names!r} if name in sys.modules])"
    words = printed(f"{code}\n{tail}")
    return words[len(words) - words[::-1].index("seen") :]


def test_importing_a_package_loads_nothing_but_itself():
    code = "import sys\nimport treewarden\nimport __future__\n"
    for package in PACKAGES:
        code += (
            "finders, modules = list(sys.meta_path), set(sys.modules)\n"
            f"import treewarden.{package}\n"
            "print(finders == sys.meta_path, *sorted(set(sys.modules) - modules))\n"
        )
    assert printed(code) == [
        word for package in PACKAGES for word in ("True", f"treewarden.{package}")
    ]


def test_importing_treewarden_loads_nothing_but_itself():
    code = "import sys\nmodules = set(sys.modules)\nimport treewarden\n"
    assert printed(f"{code}print(*sorted(set(sys.modules) - modules - {{'__future__'}}))") == [
        "treewarden"
    ]


def test_what_plug_ins_are_there_is_found_without_a_heavy_package():
    codes = [
        "import treewarden.policies.pack",
        FOUND.format(package="treewarden.audit.measures", export="MEASURE", contract="Measure"),
        FOUND.format(
            package="treewarden.audit.constraints", export="CONSTRAINT", contract="Constraint"
        ),
        FOUND.format(package="treewarden.policies.rules", export="RULE", contract="Rule"),
        FOUND.format(package="treewarden.policies.remedies", export="REMEDY", contract="Remedy"),
        LISTED,
    ]
    assert seen_of(HEAVY, "\n".join(codes)) == []


def test_what_is_listed_is_not_imported():
    assert (
        seen_of(
            [
                "numpy",
                "treewarden.audit.measures",
                "treewarden.ppdm_models.formats",
                "treewarden.reports.renderers",
            ],
            LISTED,
        )
        == []
    )


@pytest.mark.processes
def test_a_side_of_a_session_imports_what_reads_its_table_and_no_more(tmp_path):
    path = tmp_path / "own.csv"
    path.write_text("text,number,class\na,1.5,yes\n,,no\n")
    left_out = [name for name in HEAVY if name != "pyarrow"]
    assert (
        seen_of([*left_out, "PIL", "treewarden.audit.measures"], TAKING_PART.format(path=str(path)))
        == []
    )


@pytest.mark.processes
def test_a_table_is_counted_and_a_posterior_written_without_pandas(tmp_path):
    path = tmp_path / "part-0.parquet"
    pq.write_table(pa.table({"text": ["a", None], "number": [1.5, 2.5]}), path)
    assert seen_of(["pandas"], COUNTING.format(path=str(tmp_path))) == []


@pytest.mark.processes
@pytest.mark.parametrize("before", cases(["import scipy", ""], quick=1))
def test_pyomo_has_nothing_imported_along_that_nobody_asks_it_for(before):
    found = printed(USED.format(before=before))
    assert found == ["False", "False", "True", "0.5", "matplotlib.pyplot"]


@pytest.mark.processes
def test_a_worker_imports_what_solves_a_block_and_no_more():
    left_out = [
        "treewarden.audit.system.system",
        "pydantic",
        "pyarrow",
        "pyomo.environ",
        "scipy.stats",
    ]
    assert seen_of(left_out, "import treewarden.audit.solver.worker") == []


UNUSED_BY_ONE_TREE = (
    "casadi",
    "duckdb",
    "jinja2",
    "lxml",
    "matplotlib",
    "ortools",
    "pandas",
    "pyomo",
    "scipy",
    "sklearn",
    "treewarden.audit.adversaries",
    "treewarden.audit.consistent_tables.table_search",
    "treewarden.audit.entropy.rounds",
    "treewarden.audit.inverters._bounds",
    "treewarden.audit.joint",
    "treewarden.audit.measures.noise",
    "treewarden.audit.claims.judge_claim",
    "treewarden.audit.ipopt",
    "treewarden.audit.membership.candidates",
    "treewarden.audit.outputs",
    "treewarden.audit.reconstruction.proved",
    "treewarden.audit.workers",
    "treewarden.audit.partial.target_inference",
    "treewarden.audit.randomised",
    "treewarden.audit.regression",
    "treewarden.audit.releases",
    "treewarden.audit.solver",
    "treewarden.jobs.gate",
    "treewarden.policies.exceptions.baseline",
    "treewarden.policies.repair",
    "treewarden.ppdm_models.formats.xgboost.xgboost_model",
    "treewarden.ppdm_models.learn",
    "treewarden.ppdm_models.methods",
    "urllib.request",
)
"""What an audit of one tree with counts in its leaves, few profiles and no split rows has no use for."""
MOST_MODULES = 280
"""So many modules of ours at most load for it, packages counted too."""
LOADED = """
import sys
print("loaded", *sys.modules)
"""


@pytest.fixture(scope="module")
def loaded(tmp_path_factory):
    """The modules that an audit of a small tree with its table loads."""
    return modules_of_audit(tmp_path_factory)


def modules_of_audit(tmp_path_factory, *more):
    table = tmp_path_factory.mktemp("golf") / "golf.csv"
    kinds = (
        ("sunny,80,yes", 4),
        ("sunny,80,no", 1),
        ("rain,70,yes", 4),
        ("rain,80,yes", 1),
        ("rain,80,no", 4),
    )
    rows = [kind for kind, times in kinds for _ in range(times)]
    table.write_text("\n".join(["outlook,temperature,play", *rows, ""]))
    model = places.DATA / "formats/pmml/good/golf.pmml"
    words = printed(AUDITED.format(model=str(model), table=str(table), more=more) + LOADED)
    return words[len(words) - words[::-1].index("loaded") :]


def test_an_audit_of_one_tree_leaves_alone_what_other_models_need(loaded):
    assert "treewarden.audit.run" in loaded
    assert not {*UNUSED_BY_ONE_TREE} & {*loaded}


def test_an_audit_of_one_tree_loads_no_more_modules_than_it_needs(loaded):
    assert len([name for name in loaded if name.split(".")[0] == "treewarden"]) <= MOST_MODULES


def test_a_page_of_one_tree_is_drawn_without_a_library_for_plots(tmp_path_factory):
    page = tmp_path_factory.mktemp("page") / "report.html"
    loaded = modules_of_audit(tmp_path_factory, "--format", f"html={page}")
    assert "treewarden.reports.figures.charts" in loaded
    assert not {"matplotlib", "scipy", "pandas"} & {*loaded}


def test_to_inspect_a_file_imports_no_audit_and_no_table():
    model = places.DATA / "formats/pmml/good/golf.pmml"
    # What a file proves of its records is worked out with SciPy's sparse rows, and with nothing else of it.
    heavy = [name for name in HEAVY if name != "scipy"]
    others = [
        "pydantic",
        "scipy.optimize",
        "scipy.sparse.csgraph",
        "treewarden.audit.knowledge.knowledge",
        "treewarden.audit.run",
        "treewarden.policies.judging",
        "treewarden.reports.building",
        "treewarden.reports.document.parts",
    ]
    assert seen_of([*heavy, *others], INSPECTED.format(model=str(model))) == []
