"""The benchmark of reading runs to its end on small files; how long anything takes is not judged here."""

import subprocess
import sys

import pytest


def test_the_benchmark_of_reading_writes_a_ratio_for_every_file(tmp_path):
    pytest.importorskip("xgboost", reason="writes the models that are read")
    pytest.importorskip("lightgbm", reason="writes the models that are read")
    page = tmp_path / "page.md"
    command = [sys.executable, "-m", "benchmarks.formats", "--quick", "--out", str(page)]
    subprocess.run(command, check=True, capture_output=True, timeout=280)
    lines = page.read_text(encoding="utf-8").splitlines()
    read = {line.split(" | ")[1] for line in lines if line.startswith("| treewarden |")}
    assert read == {
        "forest.pmml",
        "xgboost.json",
        "xgboost-dump.json",
        "lightgbm.txt",
        "lightgbm.json",
    }
    assert any(line.startswith("| leaf measures |") for line in lines)
