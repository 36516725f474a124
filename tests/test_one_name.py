"""Everything is imported under one name: folders at the top of a user's own code may be called as ours are."""

from __future__ import annotations

import subprocess
import sys
import zipfile

import pytest

import treewarden
from tests.kit import places
from tests.treewarden.conftest import GROUPS, PMML

FOLDERS = ("audit", "policies", "ppdm_models", "reports", "service")
USERS_CODE = {
    "reports/__init__.py": "",
    "reports/document.py": "raise RuntimeError('never imported')\n",
    "audit.py": "",
    "policies.py": "",
    "ppdm_models.py": "",
    "service/__init__.py": "",
    "service/foo.py": "",
}
SCRIPT = """
import audit, policies, ppdm_models, reports
from service import foo
import treewarden
result = treewarden.audit("flu.pmml", "people.csv", sensitive="flu", policy="strict")
users_modules = (audit, policies, ppdm_models, reports, foo)
print(result.verdict.name, *(module.__name__ for module in users_modules), sep="|")
"""


@pytest.fixture
def users_folder(tmp_path):
    for name, text in USERS_CODE.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, "utf-8")
    return tmp_path


def run_python(folder, *words):
    return subprocess.run([sys.executable, *words], cwd=folder, capture_output=True, text=True)


def test_each_folder_of_the_checkout_is_a_package_of_treewarden():
    links = [path for path in (places.ROOT / "treewarden").iterdir() if path.is_symlink()]
    assert sorted(path.name for path in links) == sorted(FOLDERS)
    assert all(path.readlink().as_posix() == f"../{path.name}" for path in links)


@pytest.mark.processes
def test_a_script_beside_its_own_reports_audit_policies_and_service(users_folder):
    rows = [f"{age},{sex},{flu}" for age, sex, flu, times in GROUPS for _ in range(times)]
    (users_folder / "people.csv").write_text("\n".join(["age,sex,flu", *rows, ""]), "utf-8")
    (users_folder / "flu.pmml").write_text(PMML, "utf-8")
    (users_folder / "script.py").write_text(SCRIPT, "utf-8")
    done = run_python(users_folder, "script.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "FAIL|audit|policies|ppdm_models|reports|service.foo\n"


@pytest.mark.processes
@pytest.mark.parametrize("words", [("--version",), ("list",), ("serve", "--help")])
def test_the_module_is_run_beside_a_users_own_code(users_folder, words):
    done = run_python(users_folder, "-m", "treewarden", *words)
    assert done.returncode == 0, done.stderr


@pytest.mark.processes
def test_the_function_stays_when_the_folder_of_the_same_name_is_imported():
    code = "import treewarden.audit.run, treewarden; print(treewarden.audit.__module__)"
    assert run_python(None, "-c", code).stdout.split() == ["treewarden.api.auditing"]


def test_only_public_names_are_listed():
    assert dir(treewarden) == sorted(treewarden.__all__)


@pytest.mark.processes
def test_the_wheel_has_one_name_at_its_top_and_every_module_below_it(tmp_path):
    words = ["-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "--quiet"]
    done = run_python(tmp_path, *words, "--wheel-dir", str(tmp_path), str(places.ROOT))
    assert done.returncode == 0, done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    tops = {name.split("/")[0] for name in names}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"treewarden"}
    modules = {
        f"{'' if folder == 'treewarden' else 'treewarden/'}{path.relative_to(places.ROOT).as_posix()}"
        for folder in (*FOLDERS, "treewarden")
        for path in (places.ROOT / folder).rglob("*.py")
    }
    assert modules <= set(names)
