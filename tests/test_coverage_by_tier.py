"""What each tier of the tests reaches is summed up by package."""

import pytest

from tests.kit.coverage_by_tier import Reach, measure_reach, sum_by_package


def summary(lines, of_lines, branches, of_branches):
    return {
        "summary": {
            "covered_lines": lines,
            "num_statements": of_lines,
            "covered_branches": branches,
            "num_branches": of_branches,
        }
    }


def test_files_of_a_package_are_added_up():
    files = {
        "audit/run.py": summary(3, 4, 1, 2),
        "audit/solver/starts.py": summary(5, 5, 0, 0),
        "reports/words.py": summary(1, 8, 1, 6),
        "setup.py": summary(9, 9, 9, 9),
    }
    assert sum_by_package(files) == {"audit": Reach(8, 9, 1, 2), "reports": Reach(1, 8, 1, 6)}
    assert Reach(8, 9, 1, 2).shares() == "88.9 | 50.0"
    assert Reach(1, 1, 0, 0).shares() == "100.0 | "


def test_a_tier_without_data_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match="no data of the tier quick; run make coverage"):
        measure_reach(tmp_path, ("quick",))
