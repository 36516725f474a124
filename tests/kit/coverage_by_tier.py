"""Print how many lines and branches of the product each tier of the tests reaches: ``make coverage``.

The data files are what ``coverage run`` wrote, one for each process: ``.coverage.quick.*`` and ``.coverage.rest.*``.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from coverage import Coverage

PACKAGES = ("ppdm_models", "audit", "policies", "reports", "treewarden", "service")
TIERS = {"quick": ("quick",), "rest": ("rest",), "both": ("quick", "rest")}


@dataclass(frozen=True, slots=True)
class Reach:
    """How much of some files was reached: lines that were run, and branches that were taken."""

    lines: int = 0
    of_lines: int = 0
    branches: int = 0
    of_branches: int = 0

    def __add__(self, other: Reach) -> Reach:
        return Reach(
            self.lines + other.lines,
            self.of_lines + other.of_lines,
            self.branches + other.branches,
            self.of_branches + other.of_branches,
        )

    def shares(self) -> str:
        """Return both shares in percent, as two cells of a table."""
        shares = ((self.lines, self.of_lines), (self.branches, self.of_branches))
        return " | ".join(f"{100 * part / whole:.1f}" if whole else "" for part, whole in shares)


def measure_reach(folder: Path, tiers: tuple[str, ...]) -> dict[str, Reach]:
    """Return the reach of the tests of some tiers together, by package.

    Raises:
        FileNotFoundError: a tier left no data in the folder.
    """
    data = []
    for tier in tiers:
        of_tier = sorted(folder.glob(f".coverage.{tier}.*"))
        if not of_tier:
            raise FileNotFoundError(f"{folder}: no data of the tier {tier}; run make coverage")
        data += [str(path) for path in of_tier]
    joined = folder / f"joined-{'-'.join(tiers)}"
    coverage = Coverage(data_file=str(joined))
    coverage.combine(data, keep=True)
    written = joined.with_suffix(".json")
    coverage.json_report(outfile=str(written))
    return sum_by_package(json.loads(written.read_text())["files"])


def sum_by_package(files: dict[str, dict[str, dict[str, int]]]) -> dict[str, Reach]:
    """Return the reach in each package, of the ``files`` of coverage's JSON report."""
    sums: defaultdict[str, Reach] = defaultdict(Reach)
    for name, file in files.items():
        summary = file["summary"]
        sums[Path(name).parts[0]] += Reach(
            summary["covered_lines"],
            summary["num_statements"],
            summary["covered_branches"],
            summary["num_branches"],
        )
    return {package: sums[package] for package in PACKAGES if package in sums}


def main() -> None:
    folder = Path(sys.argv[1])
    reach = {name: measure_reach(folder, tiers) for name, tiers in TIERS.items()}
    print("| | " + " | ".join(f"{tier}: lines % | branches %" for tier in TIERS) + " |")
    print("|---|" + "---:|---:|" * len(TIERS))
    for package in PACKAGES:
        print(
            f"| `{package}/` | " + " | ".join(of[package].shares() for of in reach.values()) + " |"
        )
    whole = {tier: sum(of.values(), Reach()) for tier, of in reach.items()}
    print("| all | " + " | ".join(each.shares() for each in whole.values()) + " |")


if __name__ == "__main__":
    main()
