"""Compares algorithm APT (Sharkey et al. 2008) with optimal pruning: accuracy kept at an equal requirement.

    python -m benchmarks.studies.pruning --data FOLDER [--out docs/engineering/studies] [--quick]

Writes pruning.md and its figure. Trees are ID3's, one branch per category or per interval of eight.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.machine import machine
from benchmarks.studies.pruning_data import SETS, Part, grown, hierarchies, parts, whole
from benchmarks.studies.zhu_du_figures import bars
from benchmarks.tables import number, table
from tests.judges.spread import ask_where, imported, in_order
from treewarden.audit.population.population import Population
from treewarden.policies.pack import Pack, read_pack
from treewarden.policies.remedies._pruning import prospect
from treewarden.ppdm_models.pruning.prune import Pruned, prune, prune_optimally
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tables.taxonomy import Taxonomies
from treewarden.ppdm_models.tree.tree import Tree

REQUIREMENTS = {
    "k = 5": (("k_anonymity", "at_least", 5, ""),),
    "k = 25": (("k_anonymity", "at_least", 25, ""),),
    "k = 100": (("k_anonymity", "at_least", 100, ""),),
    "(20, 2)": (("cl_diversity", "below", 20, "l = 2"),),
    "(5, 2)": (("cl_diversity", "below", 5, "l = 2"),),
    "k = 10, label at most 80 %": (
        ("k_anonymity", "at_least", 10, ""),
        ("label_disclosure", "at_most", 0.8, ""),
    ),
}
METHODS = ("APT, all siblings", "APT", "optimal")
IN_FIGURE = "k = 25"
TINY = 0.005
"""Points that are printed as none."""


@dataclass(frozen=True)
class Result:
    """One method on one training part: leaves left, and the share right among those learnt from and among the others.

    A tree that is empty predicts the commonest class.
    """

    leaves: int
    learnt: float
    other: float


def pack_of(name: str) -> Pack:
    """Return a requirement as a policy pack."""
    lines = ['name = "study"', 'version = "1"', f'title = "{name}"']
    for measure, rule, limit, parameters in REQUIREMENTS[name]:
        lines += ["[[clause]]", f'id = "{measure}"', f'measure = "{measure}"', f'rule = "{rule}"']
        lines += [f"limit = {limit}", f"parameters = {{ {parameters} }}"]
    return read_pack("\n".join(lines).encode(), name)


def results(part: Part, requirement: str) -> Iterator[Result]:
    """Yield what is left of one tree under one requirement, method by method."""
    tree, plain = grown(part)
    for given, taxonomies, method in (
        (plain, {}, METHODS[0]),
        (tree, hierarchies(part), METHODS[1]),
        (tree, hierarchies(part), METHODS[2]),
    ):
        yield _result(part, tree, given, taxonomies, requirement, method)


def _result(
    part: Part, tree: Tree, given: Tree, taxonomies: Taxonomies, requirement: str, method: str
) -> Result:
    truth = np.eye(len(tree.classes))[part.learnt.target]
    stops = route(tree, part.learnt.columns)
    people = Population((), {}, np.ones(len(truth)), stops, truth)
    found = prospect(given, people, pack_of(requirement), taxonomies)
    assert not isinstance(found, str), found
    pruned: Pruned | None
    if method == "optimal":
        assert found.right is not None
        pruned = prune_optimally(found.prunable, *found.right)
    else:
        pruned = prune(found.prunable)
    if pruned is None:
        common = int(truth.sum(axis=0).argmax())
        return Result(
            1,
            float((part.learnt.target == common).mean()),
            float((part.other.target == common).mean()),
        )
    left = replace(pruned.tree, no_true_child=tree.no_true_child)
    said = np.array([tree.classes.index(str(node.score)) for node in left.nodes])
    learnt = said[np.array(pruned.node_map)[stops]] == part.learnt.target
    # Node numbers are the same in both forms of the tree; only the other one can route numbers.
    others = said[np.array(pruned.node_map)[route(tree, part.other.columns)]]
    return Result(
        len(left.leaves), float(learnt.mean()), float((others == part.other.target).mean())
    )


def document(
    rows: dict[tuple[str, str], list[list[Result]]], sizes: dict[str, str], runs: int
) -> str:
    """Return the study in Markdown; ``rows`` hold one list of results per run, by data set and requirement."""
    lines, means = [], []
    for (name, requirement), found in rows.items():
        mean = {
            of: [float(np.mean([getattr(run[i], of) for run in found])) for i in range(3)]
            for of in ("leaves", "learnt", "other")
        }
        means.append(mean)
        lines.append(
            [
                name,
                requirement,
                *(number(leaves, 0) for leaves in mean["leaves"]),
                *(number(100 * share, 2) for share in mean["learnt"]),
                number(100 * (mean["learnt"][2] - mean["learnt"][1]), 2),
                *(number(100 * share, 2) for share in mean["other"]),
            ]
        )
    learnt, other = (100 * np.array([mean[of] for mean in means]) for of in ("learnt", "other"))
    gain, beyond = learnt[:, 2] - learnt[:, 1], other[:, 2] - other[:, 1]
    head = ["data", "requirement"]
    head += [f"{of}: {how}" for of in ("leaves", "learnt %") for how in ("all", "APT", "optimal")]
    head += ["gain"] + [f"other %: {how}" for how in ("all", "APT", "optimal")]
    return TEXT.format(
        table=table(head, lines),
        sizes=table(["data", "what it is"], sizes.items()),
        better=int((gain > TINY).sum()),
        mean=number(float(gain.mean()), 2),
        most=number(float(gain.max()), 2),
        ahead=int((beyond > TINY).sum()),
        behind=int((beyond < -TINY).sum()),
        partial=number(float((learnt[:, 1] - learnt[:, 0]).mean()), 2),
        cells=len(rows),
        runs=runs,
        machine=machine(),
    )


TEXT = """# What optimal pruning keeps beyond algorithm APT

Made by `make studies DATA=FOLDER`. {runs} random partings of each data set, seeds from 0 up, two thirds learnt from;
means are given. Machine: {machine}.

**Trees.** ID3 by information gain, each attribute once per path, nodes of fewer than two records not split. Numbers are
cut at their octiles and make one branch per interval. **Requirement.** Every leaf has k records at least; or is
recursively (c, l)-diverse; or its label is true of a limited share of its people: all on the owner's real counts.

**Methods.** *All*: APT, all siblings of a failing child are merged. *APT*: siblings merge under the same value of a
hierarchy, numeric neighbours with each other, at last all. *Optimal*: of all prunings by those same merges the one that
is right most often on the records learnt from (exact dynamic programming). Hierarchies are made by halving each
attribute's values in alphabetical order: not good ones, but the same for both. A tree that is empty counts as one leaf
with the commonest class.

{sizes}

Not used: msweb has no class; the two toy tables have 13 and 9 rows.

## Accuracy kept at an equal requirement

{table}

*learnt*: share right of the records learnt from; *other*: of the others; *gain*: points of *learnt* that optimal adds
to APT.

![points of training accuracy lost](pruning.svg)

## What it shows

- Optimal adds to APT in {better} of {cells} rows, {mean} points on average over all and {most} at most. On the records
  that were not learnt from it is ahead in {ahead} rows and behind in {behind}: neither method looks at them.
- Merging some siblings instead of all is what matters most: {partial} points on average (*APT* against *all*).
- Where all siblings must merge (binary trees, or no hierarchy), APT is already optimal for every requirement here: a
  leaf that meets size, diversity or label share still does when another that meets it joins, and merging never raises
  training accuracy, so the pruning that merges least is the best. The tests check it.
- So what is left to gain comes from choosing with whom a small group is merged.
"""


def main() -> None:
    """Run the study as the command line says."""
    ask = argparse.ArgumentParser(prog="python -m benchmarks.studies.pruning", description=__doc__)
    ask.add_argument("--data", type=Path, required=True, help="folder with the data sets")
    ask.add_argument("--out", type=Path, default=Path("docs/engineering/studies"))
    ask.add_argument("--quick", action="store_true", help="the three smallest sets, one run")
    ask_where(ask, jobs=1)
    given = ask.parse_args()
    runs = 1 if given.quick else 5
    names = ("heart", "breast", "cmc") if given.quick else tuple(SETS)
    rows: dict[tuple[str, str], list[list[Result]]] = {}
    sizes, lost = {}, []
    for name in names:
        everyone = whole(given.data, name)
        sizes[name] = f"{len(everyone.target):,} records, class {SETS[name].target}"
        cut = list(parts(everyone, runs))
        cases = [(part, requirement) for requirement in REQUIREMENTS for part in cut]
        found = in_order(measured, cases, given.jobs, given.cluster, chunk=1)
        for (_, requirement), results_of in zip(cases, found, strict=True):
            rows.setdefault((name, requirement), []).append(results_of)
        grown_right = np.mean([_unpruned(part) for part in cut])
        kept = rows[name, IN_FIGURE]
        lost.append(
            [100 * (grown_right - np.mean([run[i].learnt for run in kept])) for i in range(3)]
        )
        print(name, flush=True)
    given.out.mkdir(parents=True, exist_ok=True)
    series = {method: [float(each[i]) for each in lost] for i, method in enumerate(METHODS)}
    bars(given.out / "pruning.svg", list(names), series, f"points lost, {IN_FIGURE}")
    (given.out / "pruning.md").write_text(document(rows, sizes, runs), encoding="utf-8")
    print(given.out / "pruning.md")


def measured(part: Part, requirement: str) -> list[Result]:
    """Return what pruning one part to a requirement comes to, by each method."""
    return list(results(part, requirement))


def _unpruned(part: Part) -> float:
    tree, _ = grown(part)
    said = np.array([tree.classes.index(str(node.score)) for node in tree.nodes])
    return float((said[route(tree, part.learnt.columns)] == part.learnt.target).mean())


if __name__ == "__main__":
    imported(__spec__).main()
