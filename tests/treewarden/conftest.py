"""A small published tree and its table, as a user has them: files, and policies that they pass or fail."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.kit.run import run_command

PMML = """<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4">
  <Header/>
  <DataDictionary>
    <DataField name="age" optype="continuous" dataType="double"/>
    <DataField name="sex" optype="categorical" dataType="string"><Value value="F"/><Value value="M"/></DataField>
    <DataField name="flu" optype="categorical" dataType="string"><Value value="no"/><Value value="yes"/></DataField>
  </DataDictionary>
  <TreeModel functionName="classification" splitCharacteristic="binarySplit">
    <MiningSchema>
      <MiningField name="age"/>
      <MiningField name="sex"/>
      <MiningField name="flu" usageType="target"/>
    </MiningSchema>
    <Node id="0" score="no" recordCount="40">
      <True/>
      <ScoreDistribution value="no" recordCount="21"/>
      <ScoreDistribution value="yes" recordCount="19"/>
      <Node id="1" score="no" recordCount="20">
        <SimplePredicate field="age" operator="lessThan" value="40"/>
        <ScoreDistribution value="no" recordCount="12"/>
        <ScoreDistribution value="yes" recordCount="8"/>
      </Node>
      <Node id="2" score="yes" recordCount="20">
        <SimplePredicate field="age" operator="greaterOrEqual" value="40"/>
        <ScoreDistribution value="no" recordCount="9"/>
        <ScoreDistribution value="yes" recordCount="11"/>
        <Node id="3" score="yes" recordCount="12">
          <SimplePredicate field="sex" operator="equal" value="F"/>
          <ScoreDistribution value="no" recordCount="3"/>
          <ScoreDistribution value="yes" recordCount="9"/>
        </Node>
        <Node id="4" score="no" recordCount="8">
          <SimplePredicate field="sex" operator="equal" value="M"/>
          <ScoreDistribution value="no" recordCount="6"/>
          <ScoreDistribution value="yes" recordCount="2"/>
        </Node>
      </Node>
    </Node>
  </TreeModel>
</PMML>
"""
PRINTED = """n= 40

node), split, n, loss, yval, (yprob)
      * denotes terminal node

1) root 40 19 no (0.52500000 0.47500000)
  2) age< 40 20  8 no (0.60000000 0.40000000) *
  3) age>=40 20  9 yes (0.45000000 0.55000000)
    6) sex=M 8  2 no (0.75000000 0.25000000) *
    7) sex=F 12  3 yes (0.25000000 0.75000000) *
"""
"""The tree of the PMML as R prints it, a format that is only read."""
GROUPS = (
    (30, "F", "no", 7),
    (30, "F", "yes", 3),
    (35, "M", "no", 5),
    (35, "M", "yes", 5),
    (50, "F", "no", 3),
    (50, "F", "yes", 9),
    (60, "M", "no", 6),
    (60, "M", "yes", 2),
)
CLAUSE = """name = "{name}"
version = "1"
title = "{name}"

[[clause]]
id = "the-one"
measure = "{measure}"
rule = "{rule}"
limit = {limit}
"""
POLICIES = {
    "lenient": ("k_anonymity", "at_least", 5),
    "harsh": ("k_anonymity", "at_least", 10),
    "hopeless": ("k_anonymity", "at_least", 1000),
    "truth": ("disclosure", "at_most", 0.99),
    "unsure": ("kl_individual", "at_least", 0.004),
}
KNOWN = """
[[adversary]]
name = "neighbour"
knows = ["sex"]

[[adversary]]
name = "register"
knows = "register"
"""
"""Adversaries who know some columns only, as a file declares them."""


@dataclass(frozen=True)
class Files:
    """The files of one test, and a way to run the command on them."""

    folder: Path
    model: Path
    table: Path

    def policy(self, name):
        return str(self.folder / f"{name}.toml")

    def run(self, command, *arguments, sensitive=True):
        told = ["--sensitive", "flu"] if sensitive else []
        return self.run_words(command, self.model, "--data", self.table, *told, *arguments)

    def run_words(self, *words):
        return run_command(*words)

    def report(self, *words):
        """Return the exit code and the report of an audit under a policy that asks nothing of adversaries."""
        done = self.run("audit", "--policy", self.policy("lenient"), "--format", "json", *words)
        assert done.exit_code in (0, 1, 3), done.output
        return done.exit_code, json.loads(done.stdout)


@pytest.fixture
def files(tmp_path):
    """Write the model, the table and the policies; nothing else is in the folder."""
    return written(tmp_path)


def written(folder):
    """Write the model, the table and the policies into a folder."""
    rows = [f"{age},{sex},{flu}" for age, sex, flu, times in GROUPS for _ in range(times)]
    (folder / "flu.pmml").write_text(PMML, encoding="utf-8")
    (folder / "people.csv").write_text("\n".join(["age,sex,flu", *rows, ""]), encoding="utf-8")
    for name, (measure, rule, limit) in POLICIES.items():
        text = CLAUSE.format(name=name, measure=measure, rule=rule, limit=limit)
        (folder / f"{name}.toml").write_text(text, encoding="utf-8")
    return Files(folder, folder / "flu.pmml", folder / "people.csv")


@pytest.fixture
def told(files):
    """A file that declares two adversaries."""
    (files.folder / "known.toml").write_text(KNOWN)
    return files.folder / "known.toml"
