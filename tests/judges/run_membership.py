"""Tries proofs of membership on single trees, against every part of a small register that grows the same file.

    python -m tests.judges.run_membership --files 5000 --seed 0
    python -m tests.judges.run_membership --files 1000 --seed 0 --learner rpart

A case draws a register of up to ten people and grows a tree on each part of it of some size, by scikit-learn under
several seeds, or by rpart (R), which draws nothing; where the register has no classes, under all classes of the members
too. Parts that give equal files are what
an adversary cannot tell apart. What is proved of one of them must hold for all, and what is shown to be open must
differ among them. Some cases have values that 32 bits hardly tell apart, some learners stop by more than counts, and
some files withhold class counts or give them in bands. Prints the seed of every miss, and how much of what holds for
all was proved (of files that say all counts and name all columns, of values that are surely apart: rpart names only
columns that it cut); the exit code is 1 after a miss.
"""

from __future__ import annotations

import argparse
import itertools
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from treewarden.audit.membership.candidates import Candidates, MembershipInference
from treewarden.audit.membership.inference import infer_members
from treewarden.audit.progress import clock
from treewarden.policies.remedies._withholding import banded, label_only
from treewarden.ppdm_models.arrays import FloatArray, IntArray
from treewarden.ppdm_models.files.load import open_model
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
from treewarden.ppdm_models.tables.routing import route
from treewarden.ppdm_models.tree.column import NumericColumn
from treewarden.ppdm_models.tree.tree import Tree

SECONDS = 5.0
ALL, NO_CLASSES, BANDS = "all", "no classes", "bands"
"""What a file says of class counts."""
BAND = 3
OTHER_STOPS: tuple[dict[str, object], ...] = (
    {"ccp_alpha": 0.03},
    {"ccp_alpha": 0.1},
    {"min_impurity_decrease": 0.05},
    {"max_leaf_nodes": 3},
)
SEEDS = 12
"""So many seeds of the learner are tried for each part: among equally good cuts it takes another with each."""
MORE_SEEDS = 120
"""So many where something missed with few: a table that is shown may need a rare draw of cuts."""
MOST_PER_CASE = 40
"""So many different files of one register are judged: those that come first, then one register is like another."""


@dataclass
class Tally:
    """What was tried and what missed, in words."""

    files: int = 0
    fixed: int = 0
    proved: int = 0
    open: int = 0
    shown: int = 0
    misses: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Take what another tally counted."""
        for name in ("files", "fixed", "proved", "open", "shown"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.misses += other.misses


@dataclass(frozen=True)
class RegisterCase:
    """People of a register, values (n, features) and classes (n,), how many are members, and the learner's settings.

    ``published`` is what the file says of class counts: all, none of them, or in which bands they lie.
    ``is_near`` says that some values are few last digits apart.
    """

    values: FloatArray
    classes: IntArray
    members: int
    is_labelled: bool
    settings: dict[str, object]
    published: str = ALL
    is_near: bool = False

    def parts(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield each set of members that may be, with their classes."""
        for chosen in itertools.combinations(range(len(self.values)), self.members):
            people = np.array(chosen)
            if self.is_labelled:
                yield people, self.classes[people]
                continue
            for classes in itertools.product((0, 1), repeat=self.members):
                yield people, np.array(classes)


def drawn(seed: int) -> RegisterCase:
    """Return a case by its seed."""
    random = np.random.default_rng(seed)
    is_labelled = bool(random.random() < 0.7)
    people = int(random.integers(7, 10 if is_labelled else 8))
    features = int(random.integers(1, 4))
    values = random.integers(0, random.choice([4, 8, 30]), size=(people, features)).astype(float)
    is_near = bool(random.random() < 0.2)
    if is_near:
        values = _nearly_alike(values, random)
    settings: dict[str, object] = {
        "max_depth": random.choice(np.array([None, 1, 2, 3], dtype=object)),
        "min_samples_leaf": int(random.choice([1, 1, 2])),
        "criterion": str(random.choice(["gini", "entropy"])),
    }
    if random.random() < 0.2:
        settings |= OTHER_STOPS[int(random.integers(len(OTHER_STOPS)))]
    return RegisterCase(
        values=values,
        classes=random.integers(0, 2, size=people),
        members=int(random.integers(3, people - 1)),
        is_labelled=is_labelled,
        settings=settings,
        published=str(random.choice([ALL, ALL, ALL, NO_CLASSES, BANDS])),
        is_near=is_near,
    )


def _nearly_alike(values: FloatArray, random: np.random.Generator) -> FloatArray:
    """Return numbers of 32 bits of which some are only a few last digits apart."""
    steps = values % 4
    near = (1 + values // 4).astype(np.float32) * np.float32(random.choice([0.5, 1.0, 3.0]))
    for step in range(1, 4):
        near = np.where(steps >= step, np.nextafter(near, np.float32(np.inf)), near)
    return near.astype(np.float64)


def grown(
    case: RegisterCase, people: IntArray, classes: IntArray, seed: int
) -> DecisionTreeClassifier:
    """Return the tree that the learner grows on some people."""
    learner = DecisionTreeClassifier(random_state=seed, **case.settings)
    return learner.fit(case.values[people], np.array(["no", "yes"])[classes])


def file_key(case: RegisterCase, tree: DecisionTreeClassifier) -> bytes:
    """Return what is published of a tree, equal where files are."""
    inner = tree.tree_
    records = inner.n_node_samples[:, None]
    counts = np.rint(inner.value[:, 0, :] * records).astype(np.int64)
    if case.published != ALL:
        labels = counts.argmax(axis=1)[:, None]
        bands = counts // BAND if case.published == BANDS else np.zeros_like(counts)
        bands = np.where((inner.children_left < 0)[:, None], bands, 0)
        counts = np.hstack([records, labels, bands])
    to_left = inner.__getstate__()["nodes"]["missing_go_to_left"]
    parts = (inner.children_left, inner.feature, inner.threshold, to_left, counts)
    return b"|".join(part.tobytes() for part in parts) + str(tree.classes_).encode()


def published_tree(case: RegisterCase, estimator: DecisionTreeClassifier) -> Tree:
    """Return the tree with what is published of it."""
    tree = from_sklearn(estimator, feature_names=[f"x{n}" for n in range(case.values.shape[1])])
    if case.published == ALL:
        return tree
    change = banded(BAND) if case.published == BANDS else label_only
    nodes = ((change if node.is_leaf else label_only)(tree, node) for node in tree.nodes)
    return replace(tree, nodes=tuple(nodes))


RPART = """
library(rpart)
library(jsonlite)
case <- fromJSON(commandArgs(trailingOnly = TRUE)[1], simplifyVector = FALSE)
values <- as.data.frame(do.call(rbind, lapply(case$values, unlist)))
names(values) <- case$names
grown <- rpart.control(cp = 0, maxcompete = 0, maxsurrogate = 0, xval = 0,
  maxdepth = case$depth, minsplit = case$split, minbucket = case$bucket)
for (part in case$parts) {
  d <- values[unlist(part$people), , drop = FALSE]
  d$y <- factor(c("no", "yes")[unlist(part$classes)], levels = c("no", "yes"))
  fit <- rpart(y ~ ., d, method = "class", parms = list(split = case$criterion), control = grown)
  frame <- fit$frame
  rows <- data.frame(node = as.integer(rownames(frame)),
    frame[c("var", "n", "wt", "dev", "yval", "complexity", "ncompete", "nsurrogate")])
  rows$var <- as.character(rows$var)
  splits <- if (is.null(fit$splits)) NULL else data.frame(var = rownames(fit$splits), fit$splits, row.names = NULL)
  parms <- list(prior = as.numeric(fit$parms$prior), loss = fit$parms$loss, split = unbox(fit$parms$split))
  yval2 <- frame$yval2
  dimnames(yval2) <- NULL
  whole <- list(frame = rows, yval2 = yval2, splits = splits, csplit = fit$csplit, xlevels = attr(fit, "xlevels"),
    ylevels = attr(fit, "ylevels"), method = unbox(fit$method), parms = parms,
    control = lapply(fit$control, unbox), call = "rpart(formula = y ~ ., data = d)")
  cat(toJSON(whole, digits = NA, null = "null", dataframe = "rows", auto_unbox = FALSE), "\n", sep = "")
}
"""
"""Grows a tree on each part of a register and prints it, an object a line; needs rpart and jsonlite."""
Alike = dict[bytes, list[tuple[IntArray, IntArray]]]


def judge(seed: int, learner: str = "scikit-learn") -> Tally:
    """Judge the files of one register."""
    if learner == "rpart":
        case = replace(drawn(seed), published=ALL)
        return _judge_files(seed, case, *rpart_files(case))
    tally = _judge_files(seed, drawn(seed), *sklearn_files(drawn(seed), SEEDS))
    if not tally.misses:
        return tally
    return _judge_files(seed, drawn(seed), *sklearn_files(drawn(seed), MORE_SEEDS))


def sklearn_files(case: RegisterCase, tree_seeds: int) -> tuple[dict[bytes, Tree], Alike]:
    """Return the different trees by what is published of them, and the parts that grow each."""
    alike: Alike = defaultdict(list)
    trees: dict[bytes, DecisionTreeClassifier] = {}
    for people, classes in case.parts():
        if len(np.unique(classes)) < 2:
            continue
        for tree_seed in range(tree_seeds):
            tree = grown(case, people, classes, tree_seed)
            key = file_key(case, tree)
            if trees.setdefault(key, tree).tree_.node_count > 1:
                alike[key].append((people, classes))
    judged = itertools.islice(alike, MOST_PER_CASE)
    return {key: published_tree(case, trees[key]) for key in judged}, alike


def rpart_files(case: RegisterCase) -> tuple[dict[bytes, Tree], Alike]:
    """Return the same for rpart, whose files say all counts; all trees are grown by one process."""
    parts = [part for part in case.parts() if len(np.unique(part[1])) == 2]
    said = {
        "values": case.values.tolist(),
        "names": [f"x{n}" for n in range(case.values.shape[1])],
        "depth": case.settings["max_depth"] or 30,
        "split": 2,
        "bucket": case.settings["min_samples_leaf"],
        "criterion": "gini" if case.settings["criterion"] == "gini" else "information",
        "parts": [
            {"people": (people + 1).tolist(), "classes": (classes + 1).tolist()}
            for people, classes in parts
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        script, file = Path(folder, "grow.R"), Path(folder, "case.json")
        script.write_text(RPART, "utf-8")
        file.write_text(json.dumps(said), "utf-8")
        command = ["Rscript", str(script), str(file)]
        lines = subprocess.run(command, check=True, capture_output=True).stdout.splitlines()
    alike: Alike = defaultdict(list)
    for line, part in zip(lines, parts, strict=True):
        alike[line].append(part)
    trees: dict[bytes, Tree] = {}
    for key in alike:
        tree = open_model(key, "rpart.json").model
        assert isinstance(tree, Tree)
        if len(tree.nodes) > 1 and len(trees) < MOST_PER_CASE:
            trees[key] = tree
    return trees, alike


def _judge_files(seed: int, case: RegisterCase, trees: dict[bytes, Tree], alike: Alike) -> Tally:
    tally = Tally()
    for key, tree in trees.items():
        tally.files += 1
        _judge_file(case, tree, alike[key], tally, f"seed {seed}")
    return tally


def _judge_file(
    case: RegisterCase,
    tree: Tree,
    parts: list[tuple[IntArray, IntArray]],
    tally: Tally,
    where: str,
) -> None:
    candidates, group_of = _candidates(case, *parts[0])
    stops = route(tree, candidates.columns)[None, :]
    found = infer_members((tree,), stops, candidates, clock(SECONDS))
    if not isinstance(found, MembershipInference):
        tally.misses.append(f"{where}: {found.reason}")
        return
    inside = np.stack(
        [np.bincount(group_of[people], minlength=len(candidates.sizes)) for people, _ in parts]
    )
    least, most = inside.min(axis=0), inside.max(axis=0)
    names_all = len(tree.features) == case.values.shape[1]
    is_plain = case.published == ALL and not case.is_near and names_all
    _hold(tally, where, found, (least, most), is_plain=is_plain)


def _hold(
    tally: Tally,
    where: str,
    found: MembershipInference,
    true: tuple[IntArray, IntArray],
    *,
    is_plain: bool,
) -> None:
    least, most = true
    sizes = found.candidates.sizes
    if (found.low > least).any() or (found.high < most).any():
        tally.misses.append(f"{where}: proved {found.low} to {found.high}, are {least} to {most}")
    if (found.reached_low < least).any() or (found.reached_high > most).any():
        said = f"shown {found.reached_low} to {found.reached_high}, are {least} to {most}"
        tally.misses.append(f"{where}: {said}")
    if not is_plain:
        return
    is_fixed = (least == sizes) | (most == 0)
    tally.fixed += int(sizes[is_fixed].sum())
    tally.proved += int((found.proved_in + found.proved_out).sum())
    tally.open += int(sizes[~is_fixed].sum())
    tally.shown += int(sizes[found.open_groups & ~is_fixed].sum())


def _candidates(
    case: RegisterCase, people: IntArray, classes: IntArray
) -> tuple[Candidates, IntArray]:
    """Return the register with some members, and the group of each person."""
    keys = case.values
    if case.is_labelled:
        keys = np.hstack([case.values, case.classes[:, None]])
    kinds, group_of = np.unique(keys, axis=0, return_inverse=True)
    group_of = group_of.reshape(-1)
    members = np.zeros((len(kinds), 2), dtype=np.int64)
    np.add.at(members, (group_of[people], classes), 1)
    columns = {
        f"x{n}": NumericColumn(kinds[:, n].astype(np.float64)) for n in range(case.values.shape[1])
    }
    candidates = Candidates(
        columns=columns,
        sizes=np.bincount(group_of),
        class_of=kinds[:, -1].astype(np.intp) if case.is_labelled else None,
        members=members,
        classes=("no", "yes"),
    )
    return candidates, group_of


def main() -> None:
    """Judge files until there are enough."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--learner", choices=["scikit-learn", "rpart"], default="scikit-learn")
    given = parser.parse_args()
    total, seed = Tally(), given.seed
    while total.files < given.files:
        total.add(judge(seed, given.learner))
        seed += 1
    for miss in total.misses:
        print("MISS", miss)
    print(
        f"{total.files:,} files, {len(total.misses)} misses; of {total.fixed:,} people whose membership all parts "
        f"share {total.proved:,} were proved ({total.proved / max(total.fixed, 1):.1%}); of {total.open:,} others "
        f"{total.shown:,} were shown to be open ({total.shown / max(total.open, 1):.1%})"
    )
    sys.exit(bool(total.misses))


if __name__ == "__main__":
    main()
