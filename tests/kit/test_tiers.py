"""Which tests are left out of the quick tier, and that it is said."""

import ast
import re
import subprocess
import tomllib
from collections import Counter

import pytest

from tests.kit import places, tiers

FILE = """
import pytest
from tests.kit.tiers import cases, few, seeds

@pytest.fixture
def cluster():
    pass

@pytest.mark.parametrize("seed", seeds(8, quick=(0, 5, 7), second=6))
def test_draws(seed):
    pass

@pytest.mark.parametrize("case", cases("abc", quick=1))
def test_cases(case):
    pass

@pytest.mark.postgresql
def test_server():
    pass

def test_on_a_cluster(cluster):
    pass

@pytest.mark.in_both
def test_loops():
    print("tried", few(range(9), 3, 5))
"""
QUICK = {"test_draws[0]", "test_draws[5]", "test_draws[7]", "test_cases[a]", "test_loops"}
SEEDS = {f"test_draws[{seed}]" for seed in (1, 2, 3, 4)}
SECOND = {
    *SEEDS,
    "test_cases[b]",
    "test_cases[c]",
    "test_server",
    "test_on_a_cluster",
    "test_loops",
}
DRAWS = {*SEEDS, "test_draws[6]", "test_loops"}
RUNS = {"quick": QUICK, "rest": SECOND, "all": QUICK | SECOND, "soundness": DRAWS}
LOOPS = {
    "quick": [0, 4, 8],
    "rest": [0, 2, 4, 6, 8],
    "all": [0, 2, 4, 6, 8],
    "soundness": [*range(9)],
}


class Names:
    """A plug-in that notes what was collected."""

    def __init__(self):
        self.names = set()

    def pytest_collection_finish(self, session):
        self.names |= {item.name for item in session.items}


@pytest.mark.parametrize("tier", tiers.TIERS)
def test_a_tier_has_its_tests_and_quick_says_what_it_leaves_out(tier, tmp_path, capsys):
    (tmp_path / "test_file.py").write_text(FILE, encoding="utf-8")
    found = Names()
    words = ["-p", "no:cacheprovider", "-p", "tests.conftest", "--rootdir", str(tmp_path)]
    words += ["-c", "/dev/null", "--import-mode=importlib", "--tier", tier, str(tmp_path)]
    assert pytest.main([*words, "-s"], plugins=[found]) == 0
    assert found.names == RUNS[tier]
    said = capsys.readouterr().out
    assert ("left out" in said) == (tier == "quick")
    assert f"tried {LOOPS[tier]}\n" in said


def test_whoever_loops_over_a_few_is_in_both_tiers():
    for path in (places.ROOT / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        for test in ast.parse(text).body if tiers.few.__module__ in text else ():
            if isinstance(test, ast.FunctionDef) and test.name.startswith("test_"):
                calls = [each.func for each in ast.walk(test) if isinstance(each, ast.Call)]
                marks = {ast.unparse(each) for each in test.decorator_list}
                loops = "few" in {ast.unparse(each) for each in calls}
                assert not loops or "pytest.mark.in_both" in marks, (path, test.name)


def test_no_test_sleeps():
    """A loop may look again after a while, and a job that never ends is ended by its test."""
    for path in (places.ROOT / "tests").rglob("test_*.py"):
        text = path.read_text(encoding="utf-8")
        if ".sleep(" in text:
            tree = ast.parse(text)
            for program in ast.walk(tree):
                if isinstance(program, ast.Constant) and isinstance(program.value, str):
                    found = re.findall(r"\.sleep\(([\d.]+)\)", program.value)
                    assert all(float(seconds) >= 60 for seconds in found), (path, program.lineno)
            loops = [each for each in ast.walk(tree) if isinstance(each, ast.While)]
            in_loops = {id(each) for loop in loops for each in ast.walk(loop)}
            for call in ast.walk(tree):
                if isinstance(call, ast.Call) and ast.unparse(call.func).endswith(".sleep"):
                    seconds = ast.literal_eval(call.args[0])
                    assert id(call) in in_loops or not 0 < seconds < 60, (path, call.lineno)


def test_what_is_left_out_is_counted_by_reason():
    line = tiers.left_out_line(Counter(more_seeds=1200, browser=2))
    assert line == (
        "left out, run them with make test-all: 1,202 tests "
        "(1,200 further draws of claims that the quick tier tries on a few; 2 in a browser)"
    )


def test_a_long_case_is_left_out_unless_its_claim_would_be_tried_on_none():
    tests = [("f[a]", None), ("f[b]", None), ("f[c]", "more_seeds"), ("g[a]", None), ("h", None)]
    found = tiers.without_long_cases(tests, {"f[b]", "f[c]", "g[a]"})
    assert found == [None, "more_cases", "more_seeds", None, None]
    found = tiers.without_long_cases(tests, {"f[a]", "f[b]"})
    assert found == [None, None, "more_seeds", None, None]


def test_long_cases_are_in_order_and_of_tests_that_are_there():
    text = (places.ROOT / "tests/kit/long_cases.txt").read_text(encoding="utf-8")
    assert text.splitlines() == sorted(tiers.LONG_CASES)
    for name in map(tiers.claim_of, tiers.LONG_CASES):
        path, _, test = name.partition("::")
        assert f"def {test.rpartition('::')[2]}(" in (places.ROOT / path).read_text("utf-8"), name


@pytest.mark.parametrize("quick", [0, (), (8,), 9])
def test_a_claim_has_a_seed_in_the_quick_tier(quick):
    with pytest.raises(AssertionError):
        tiers.seeds(8, quick=quick)


def test_the_tools_that_only_one_environment_has_are_all_looked_for():
    """Else a test that is skipped everywhere is run nowhere."""
    made = tomllib.loads((places.ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = {
        extra: {re.split(r"[^A-Za-z0-9_-]", each)[0].replace("-", "_") for each in needs}
        for extra, needs in made["project"]["optional-dependencies"].items()
    }
    only_tools = (
        extras["tools"] - extras["dev"] - extras["demo"] - {"pyopenssl"}
    )  # sigstore needs it
    looked_for = re.search(r"^ONLY_TOOLS := (.*)$", (places.ROOT / "Makefile").read_text(), re.M)[1]
    assert [each for each in only_tools if not re.match(looked_for, each)] == []
    ran = subprocess.run(
        ["make", "--dry-run", "test-tools"],
        cwd=places.ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    for path in (places.ROOT / "tests").rglob("test_*.py"):
        if re.search(rf"importorskip\(\s*\"({looked_for})", path.read_text(encoding="utf-8")):
            assert str(path.relative_to(places.ROOT)) in ran
