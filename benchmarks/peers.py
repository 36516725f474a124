"""The same answers by other tools and by treewarden, in turn on one machine: processor seconds, and their ratios.

Run as ``python -m benchmarks.peers --data ../shared/data --peers FOLDER [--rounds 3]``. The folder is not part of the
project: ``venv`` with ``pip install sacroml pycanon``; optionally ``arx`` with compiled classes of ARX in ``build`` and
its other archives below ``lib`` and ``root``; and ``r`` with sdcMicro in ``lib`` (its imports below ``root``). What is
not there is left out, and said.

Each tool runs as a command of its own, which times the answer alone too, after all is imported and read: "in process".
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from benchmarks.adult import NUMBERS, QUASI_IDENTIFIERS, SENSITIVE, adult
from benchmarks.machine import machine

FEW = ("race", "sex", "income")
"""Quasi-identifiers that leave groups of several people, so that k, l and t say something."""
CLOCK = """
import json, sys, time
def told(act):
    seconds = []
    for _ in range(3):
        begun = time.process_time()
        answer = act()
        seconds.append(time.process_time() - begun)
    print("ANSWER", json.dumps({"seconds": sorted(seconds)[1], "answer": answer}, default=str))
"""
TREE = """
import numpy as np
from sklearn.tree import DecisionTreeClassifier
held = np.load("rows.npz")
fitted = DecisionTreeClassifier(random_state=0).fit(held["X"], held["y"])
"""
TARGET = """
import logging
logging.disable(logging.CRITICAL)
from sacroml.attacks.target import Target
rows = {"X_train": held["X"], "y_train": held["y"], "X_test": held["X2"], "y_test": held["y2"]}
target = Target(model=fitted, dataset_name="adult", **rows)
for number in range(held["X"].shape[1]):
    target.add_feature(str(number), [number], "float")
"""
STRUCTURAL = """
from sacroml.attacks.structural_attack import StructuralAttack
def act():
    found = StructuralAttack(write_report=False).attack(target)
    found = found["attack_experiment_logger"]["attack_instance_logger"]["instance_0"]
    return {key: found[key] for key in found if key.endswith("risk")}
told(act)
"""
WORST_CASE = """
from sacroml.attacks.worst_case_attack import WorstCaseAttack
def act():
    WorstCaseAttack(write_report=False, n_reps=10, n_dummy_reps=0).attack(target)
told(act)
"""
OUR_LEAVES = """
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.leaf_only_audit import glance_at_file
from treewarden.ppdm_models.formats.sklearn._fitted import from_sklearn
def act():
    readings = glance_at_file(from_sklearn(fitted), Knowledge(), (), ()).full.readings
    known = {call.measure: found.reading for call, found in readings.items()}
    return {name: str(known[name]) for name in ("k_anonymity", "distinct_diversity")}
told(act)
"""
OUR_WORST_CASE = """
from treewarden.audit.membership.attacks import AttackedPeople, worst_case_metrics
def act():
    X, y = np.concatenate([held["X"], held["X2"]]), np.concatenate([held["y"], held["y2"]])
    is_member = np.arange(len(X)) < len(held["X"])
    worst_case_metrics(AttackedPeople(fitted.predict_proba(X), y, is_member))
told(act)
"""
PYCANON = """
import pandas
from pycanon import anonymity
table, names = pandas.read_csv("table.csv"), sys.argv[1].split(",")
def act():
    secret = [sys.argv[2]]
    k, l = anonymity.k_anonymity(table, names), anonymity.l_diversity(table, names, secret)
    return [int(k), int(l), float(anonymity.t_closeness(table, names, secret))]
told(act)
"""
OUR_GROUPS = """
from pathlib import Path
import numpy as np
from treewarden.ppdm_models.tables.read_table import read_table
from treewarden.ppdm_models.methods.generalise.lattice import grouped
table = read_table(Path("table.csv"))
columns = {name: table.categories(name) for name in table.columns}
def act():
    secret = columns[sys.argv[2]]
    group = grouped([columns[name].codes for name in sys.argv[1].split(",")], len(secret.codes))
    classes = len(secret.categories)
    size = (int(group.max()) + 1) * classes
    cells = np.bincount(group * classes + secret.codes, minlength=size).reshape(-1, classes)
    share = cells / cells.sum(axis=1, keepdims=True)
    t = np.abs(share - cells.sum(axis=0) / cells.sum()).sum(axis=1).max() / 2
    return [int(cells.sum(axis=1).min()), int((cells > 0).sum(axis=1).min()), float(t)]
told(act)
"""
SDCMICRO = """
suppressMessages(library(sdcMicro))
words <- commandArgs(TRUE)
table <- read.csv("table.csv", stringsAsFactors = TRUE, check.names = FALSE)
names <- strsplit(words[1], ",")[[1]]
for (column in names(table)) table[[column]] <- as.integer(table[[column]])
act <- function() {
  k <- min(freqCalc(table, keyVars = names)$fk)
  l <- ldiversity(table, keyVars = names, ldiv_index = words[2])
  c(k, min(l[, 1]))
}
seconds <- sapply(1:3, function(i) { took <- system.time(answer <<- act()); took[[1]] + took[[2]] })
told <- 'ANSWER {"seconds": %f, "answer": [%d, %d]}\\n'
cat(sprintf(told, median(seconds), as.integer(answer[1]), as.integer(answer[2])))
"""
ARX = """
import org.deidentifier.arx.*;
import org.deidentifier.arx.criteria.*;
import org.deidentifier.arx.AttributeType.Hierarchy;
import org.deidentifier.arx.AttributeType.Hierarchy.DefaultHierarchy;
import com.sun.management.OperatingSystemMXBean;
import java.lang.management.ManagementFactory;
public class Klt {
  public static void main(String[] words) throws Exception {
    java.util.List<String> names = java.util.Arrays.asList(words[0].split(","));
    double[] seconds = new double[3];
    boolean meets = false;
    for (int round = 0; round < 3; round++) {
      Data data = Data.create("table.csv", java.nio.charset.StandardCharsets.UTF_8, ',');
      DataHandle rows = data.getHandle();
      for (int column = 0; column < rows.getNumColumns(); column++) {
        String name = rows.getAttributeName(column);
        boolean secret = name.equals(words[1]);
        AttributeType plain = AttributeType.INSENSITIVE_ATTRIBUTE;
        if (secret) plain = AttributeType.SENSITIVE_ATTRIBUTE;
        if (!names.contains(name)) data.getDefinition().setAttributeType(name, plain);
        else {
          DefaultHierarchy hierarchy = Hierarchy.create();
          for (String value : rows.getDistinctValues(column)) hierarchy.add(value);
          data.getDefinition().setAttributeType(name, hierarchy);
        }
      }
      ARXConfiguration asked = ARXConfiguration.create();
      asked.addPrivacyModel(new KAnonymity(Integer.parseInt(words[2])));
      asked.addPrivacyModel(new DistinctLDiversity(words[1], Integer.parseInt(words[3])));
      asked.addPrivacyModel(new EqualDistanceTCloseness(words[1], Double.parseDouble(words[4])));
      asked.setSuppressionLimit(0d);
      OperatingSystemMXBean machine = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
      long begun = machine.getProcessCpuTime();
      meets = new ARXAnonymizer().anonymize(data, asked).isResultAvailable();
      seconds[round] = (machine.getProcessCpuTime() - begun) / 1e9;
    }
    java.util.Arrays.sort(seconds);
    System.out.println("ANSWER {\\"seconds\\": " + seconds[1] + ", \\"answer\\": " + meets + "}");
  }
}
"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--data", type=Path, default=Path("../shared/data"))
    parser.add_argument("--peers", type=Path, default=Path("build/peers"))
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    peers = given.peers.resolve()
    with tempfile.TemporaryDirectory() as folder:
        write_inputs(given.data.resolve(), Path(folder))
        print(f"{machine()}; processor seconds, medians of {given.rounds}\n")
        print(
            "| answer | tool | command | in process | command ÷ ours | in process ÷ ours | answer |"
        )
        print("|---|---|---:|---:|---:|---:|---|")
        for name, ours, others in questions(peers):
            compare(name, ours, others, Path(folder), given.rounds)


def write_inputs(data: Path, folder: Path) -> None:
    """Write a table of Adult, and seven tenths of its rows as numbers for a tree of income."""
    table = adult(data)
    names = (*QUASI_IDENTIFIERS, SENSITIVE)
    with (folder / "table.csv").open("w", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(names)
        rows.writerows(zip(*(table.columns[name].cells() for name in names), strict=True))
    inputs = [table.categories(name).codes for name in names if name != "income"]
    inputs += [np.array([float(cell) for cell in table.columns[name].cells()]) for name in NUMBERS]
    rows = np.column_stack(inputs).astype(float)
    labels = table.categories("income").codes
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = order[: len(rows) * 7 // 10], order[len(rows) * 7 // 10 :]
    np.savez(folder / "rows.npz", X=rows[train], y=labels[train], X2=rows[test], y2=labels[test])
    fitted = DecisionTreeClassifier(random_state=0).fit(rows[train], labels[train])
    print(f"tree: {fitted.get_n_leaves():,} leaves, {len(train):,} people; ", end="")


def questions(peers: Path):
    """Yield each question: its name, our command, and those of others that are there."""
    ours, theirs = sys.executable, str(peers / "venv/bin/python")
    yield (
        "leaf checks",
        [ours, "-c", CLOCK + TREE + OUR_LEAVES],
        {"SACRO-ML structural": [theirs, "-c", CLOCK + TREE + TARGET + STRUCTURAL]},
    )
    yield (
        "worst-case attack, 10 times",
        [ours, "-c", CLOCK + TREE + OUR_WORST_CASE],
        {"SACRO-ML worst case": [theirs, "-c", CLOCK + TREE + TARGET + WORST_CASE]},
    )
    for words, asked in ((QUASI_IDENTIFIERS, ("1", "1", "0.99")), (FEW, ("1", "1", "0.99"))):
        names = ",".join(words)
        others = {"pycanon": [theirs, "-c", CLOCK + PYCANON, names, SENSITIVE]}
        if (peers / "arx/build").is_dir():
            others["ARX (meets k, l, t?)"] = [
                "java", "-cp", arx(peers / "arx"), "Klt", names, SENSITIVE, *asked
            ]  # fmt: skip
        if (peers / "r/lib/sdcMicro").is_dir():
            others["sdcMicro (k, l)"] = ["Rscript", "-e", SDCMICRO, names, SENSITIVE]
            libraries = [peers / "r/lib", *peers.glob("r/root/usr/lib/R/site-library")]
            os.environ["R_LIBS"] = ":".join(map(str, libraries))
        yield (
            f"k, l, t by {len(words)} columns",
            [ours, "-c", CLOCK + OUR_GROUPS, names, SENSITIVE],
            others,
        )


def arx(folder: Path) -> str:
    """Compile the program that asks ARX, and return where its classes are."""
    archives = [str(path) for top in ("lib", "root") for path in folder.glob(f"{top}/**/*.jar")]
    classes = ":".join([str(folder / "build"), *archives])
    source = folder / "Klt.java"
    source.write_text(ARX)
    subprocess.run(["javac", "-nowarn", "-cp", classes, "-d", folder / "build", source], check=True)
    return classes


def compare(name, ours, others, folder, rounds) -> None:
    """Run all in turn, and print what each took."""
    tools = {"treewarden": ours, **others}
    taken = {tool: [] for tool in tools}
    for _ in range(rounds):
        for tool, command in tools.items():
            if taken[tool] is not None:
                found = took(command, folder)
                taken[tool] = None if found is None else [*taken[tool], found]
    whole, within = middle(taken["treewarden"])
    for tool, runs in taken.items():
        if runs is None:
            print(f"| {name} | {tool} | not there | | | | |")
            continue
        command, inside = middle(runs)
        answer = json.dumps(runs[0][2]).replace('"', "")[:110]
        print(
            f"| {name} | {tool} | {command:.2f} | {inside:.4f} | {command / whole:.1f} | "
            f"{inside / within:.1f} | {answer} |",
            flush=True,
        )


def middle(runs) -> tuple[float, float]:
    return statistics.median(run[0] for run in runs), statistics.median(run[1] for run in runs)


def took(command, folder):
    """Return the processor seconds of a command that answers once, and of the answer, and it; None where it failed."""
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    try:
        done = subprocess.run(command, capture_output=True, cwd=folder, env=environment, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        print(str(getattr(error, "stderr", error))[-400:], file=sys.stderr)
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    answers = [line for line in done.stdout.decode().splitlines() if line.startswith("ANSWER")]
    found = json.loads(answers[-1].removeprefix("ANSWER"))
    return spent - 2 * found["seconds"], found["seconds"], found["answer"]


if __name__ == "__main__":
    main()
