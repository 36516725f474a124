"""What is published beside a sanitised table, so that anyone can grow the same trees from it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

import treewarden
from treewarden.jobs.sanitizing import Subject, settled
from treewarden.policies.judging.groups import Clauses
from treewarden.ppdm_models.learn.best_first import BestFirst
from treewarden.ppdm_models.learn.splits import ANY
from treewarden.ppdm_models.methods.tpp.checks import CONDITIONS, Problem
from treewarden.ppdm_models.methods.tpp.sanitise import Candidate, Job
from treewarden.ppdm_models.methods.tpp.scikit import Scikit
from treewarden.ppdm_models.tree.column import CategoricalColumn, Column

SCHEMA = "treewarden-sanitised/1"


def manifest(
    subject: Subject,
    best: Candidate,
    files: Mapping[str, bytes],
    after_reading: Sequence[Problem],
) -> bytes:
    """Return the manifest as JSON: nothing in it tells more of the original table than the sanitised one does.

    ``files`` are the table first and then one tree per job. Neither a digest of the original nor the groups of larger
    trees are in it.
    """
    (table, data), *trees = files.items()
    said = {
        "schema": SCHEMA,
        "version": treewarden.__version__,
        "table": {"file": table, "sha256": _digest(data), "records": int(best.groups.sizes.sum())},
        "columns": [_column(name, column, best) for name, column in best.columns.items()],
        "targets": list(subject.wanted.targets),
        "sensitive": subject.wanted.sensitive,
        "trees": [
            {
                "file": name,
                "sha256": _digest(written),
                "target": job.response.name,
                "leaves": leaves,
                "ties": ties,
                "learner": _learner(job, subject, best.step.splits),
            }
            for (name, written), job, leaves, ties in zip(
                trees, subject.jobs, best.step.leaves, best.step.ties, strict=True
            )
        ],
        "demanded": _demanded(subject),
        "found": {
            "k": best.step.k,
            "groups": best.step.groups,
            "most_frequent_share": best.step.largest_share,
        },
        "checks": _checks((*best.step.problems, *after_reading)),
    }
    return (json.dumps(said, indent=2, ensure_ascii=False) + "\n").encode("utf-8")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _column(name: str, column: Column, best: Candidate) -> dict[str, Any]:
    if isinstance(column, CategoricalColumn):
        return {"name": name, "kind": "categories", "values": list(column.categories)}
    values = sorted(set(column.numbers.tolist()))
    return {
        "name": name,
        "kind": "number",
        "values": values,
        "true_values_beside_splits": name in best.step.anchored,
    }


def _learner(job: Job, subject: Subject, splits: int) -> dict[str, Any]:
    """Return all that it takes to grow the tree again, in the order of the columns above."""
    learner, stop = settled(job, subject), {"splits": splits, "never_singled_out": ANY}
    if isinstance(learner, BestFirst):
        own = {
            "name": "treewarden best-first",
            "criterion": learner.criterion,
            "multiway": learner.multiway,
            "sets": list(learner.set_attributes or ()),
            "min_leaf": learner.min_leaf,
            "min_records": learner.min_records,
            "max_depth": learner.max_depth,
            "ties": "the first column, then the lowest cut or the first category; of sets, the one whose first "
            "differing category is not beside the node's first",
        }
        return {**own, **stop}
    if not isinstance(learner, Scikit):
        raise TypeError(f"no description of {type(learner).__name__}")
    return {
        "name": "scikit-learn",
        "criterion": learner.criterion,
        "min_leaf": learner.min_leaf,
        "min_records": learner.min_records,
        "same_under_seeds": list(learner.seeds),
        "matrix": [
            place.attribute if place.category is None else f"{place.attribute} = {place.category}"
            for place in learner.places
        ],
        **stop,
    }


def _demanded(subject: Subject) -> dict[str, Any]:
    wanted = subject.wanted
    said: dict[str, Any] = {"k": wanted.k, "l": wanted.l, "policy": None}
    if wanted.pack is not None:
        clauses = Clauses(wanted.pack)
        said["policy"] = {
            "name": wanted.pack.name,
            "sha256": wanted.pack.digest,
            "judged": [clause.id for clause in clauses.judged],
            "not_judged": list(clauses.not_judged),
        }
    return said


def _checks(problems: Sequence[Problem]) -> dict[str, Any]:
    found = {
        name: [problem.words for problem in problems if problem.condition == name]
        for name in CONDITIONS
    }
    return {"holds": not problems, "problems": found}
