"""``treewarden grow``: a tree from a randomised table, or none and a reason."""

import hashlib
import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pytest

from tests.kit.run import run_command
from tests.kit.tiers import cases
from tests.treewarden.conftest import CLAUSE
from treewarden.jobs.randomised import growing
from treewarden.jobs.randomised.growing import MOST_CLASSES, GrowRequest, grown
from treewarden.ppdm_models.files.load import read_tree
from treewarden.ppdm_models.methods.randomised.generating import ATTRIBUTES, people
from treewarden.ppdm_models.methods.randomised.learning import Method
from treewarden.ppdm_models.methods.randomised.manifest import Hidden, Manifest, manifest_bytes
from treewarden.ppdm_models.methods.randomised.noise import hiding, noisy

LEVELS = ("none", "school", "college", "bachelor", "master")
LEVEL = 0.25


def hidden(each):
    noise = hiding("uniform", LEVEL, each.low, each.high)
    return Hidden(
        name=each.name,
        noise="uniform",
        level=LEVEL,
        confidence=0.95,
        parameter=noise.alpha,
        low=each.low,
        high=each.high,
        is_whole=each.is_whole,
        values=LEVELS if each.name == "elevel" else (),
        domain="declared",
    )


def tables():
    """Return a table with noise and without, each column as a list."""
    random = np.random.default_rng(9)
    made = people(4_000, 3, random)
    true = {name: values.tolist() for name, values in made.columns.items()}
    true["elevel"] = [LEVELS[int(each)] for each in true["elevel"]]
    seen = {
        each.name: noisy(made.columns[each.name], hidden(each).hiding, random).tolist()
        for each in ATTRIBUTES
    }
    beside = {
        "town": ["X", "Y"] * 2_000,
        "shoe": [38 + number % 7 for number in range(4_000)],
        "one": [1] * 4_000,
        "group": ["A" if each else "B" for each in made.in_group_a],
        "row": [f"r{number}" for number in range(4_000)],
    }
    return {**seen, **beside}, {**true, **beside}


NOISY, TRUE = tables()


class Files:
    """A noisy table, its manifest and a true table, in a folder."""

    def __init__(self, folder):
        self.folder, self.out = folder, folder / "out.csv"
        self.manifest, self.true = folder / "m.json", folder / "true.csv"

    def write(self, noisy_columns, true_columns):
        pa_csv.write_csv(pa.table(noisy_columns), self.out)
        pa_csv.write_csv(pa.table(true_columns), self.true)
        manifest = Manifest(
            version="1",
            file="out.csv",
            sha256=hashlib.sha256(self.out.read_bytes()).hexdigest(),
            records=4_000,
            columns=tuple(map(hidden, ATTRIBUTES)),
            clear=("town",),
            label="group",
        )
        self.manifest.write_bytes(manifest_bytes(manifest))

    def run(self, *more, tree="tree.json", target="group", method="byclass"):
        asked = [self.out, "--manifest", self.manifest, "--target", target, "--method", method]
        asked += ["-o", self.folder / tree, *more]
        return run_command("grow", *asked)


@pytest.fixture
def files(tmp_path):
    found = Files(tmp_path)
    found.write(NOISY, TRUE)
    return found


@pytest.mark.parametrize("method", ["global", "byclass", "local"])
def test_a_tree_is_written_and_does_well_on_true_records(files, method):
    outcome = files.run("--test", files.true, method=method)
    assert outcome.exit_code == 0, outcome.output
    tree = read_tree(files.folder / "tree.json")
    assert (
        f"{len(tree.leaves)} leaves, grown by {method} from 4,000 records on 10 columns"
        in outcome.stdout
    )
    assert (
        "'town', 'row' (text, not hidden); 'one' (fewer than two distinct values)" in outcome.stdout
    )
    assert "the most frequent class alone: 50.0%" in outcome.stdout
    right = float(outcome.stdout.split("true.csv: ")[1].split("%")[0])
    assert right > 80


@pytest.mark.parametrize("name", cases(["tree.json", "tree.pmml"], quick=1))
def test_audits_conversions_and_repairs_take_the_tree(files, name):
    assert files.run(tree=name).exit_code == 0
    audited = run_command(
        *(
            ["audit", str(files.folder / name), "--data", str(files.true), "--sensitive", "group"]
            + ["--policy", "baseline", "--verbose"]
        )
    )
    assert audited.exit_code == 1, audited.output
    assert "What the file publishes is not true of this table" not in audited.stdout
    assert "labels, as the learner saw noisy records" in audited.stdout
    other = files.folder / ("c.pmml" if name.endswith("json") else "c.json")
    converted = run_command("convert", files.folder / name, other)
    assert converted.exit_code == 0, converted.output
    assert read_tree(other).nodes == read_tree(files.folder / name).nodes
    arguments = [str(files.folder / name), "--data", str(files.true), "--sensitive", "group"]
    policy = files.folder / "large.toml"
    policy.write_text(
        CLAUSE.format(name="large", measure="k_anonymity", rule="at_least", limit=100)
    )
    fixed = files.folder / f"fixed-{name}"
    repaired = run_command("repair", *arguments, "--policy", policy, "-o", fixed)
    assert repaired.exit_code == 0, repaired.output
    changed = read_tree(fixed)
    assert changed.learner.saw_noise
    assert 1 < len(changed.leaves) < len(read_tree(files.folder / name).leaves)


def test_columns_can_be_chosen_and_the_exact_kernel_too(files):
    outcome = files.run("--columns", "age,salary", "--kernel", "exact")
    assert outcome.exit_code == 0, outcome.output
    assert [each.name for each in read_tree(files.folder / "tree.json").features] == [
        "age",
        "salary",
    ]


def test_what_a_test_table_has_besides_is_counted(files):
    outcome = files.run()
    wanted = GrowRequest(files.out, files.manifest, "group", Method.BYCLASS)
    found, subject = grown(wanted)
    plain = growing.tested(found.tree, subject.records.attributes, files.true)
    strange = {name: list(values) for name, values in TRUE.items()}
    strange["salary"][:3] = [1e9, -1e9, None]
    strange["elevel"][3] = "doctor"
    strange["group"][4:7] = ["C", "C", None]
    pa_csv.write_csv(pa.table(strange), files.true)
    told = growing.tested(found.tree, subject.records.attributes, files.true)
    assert outcome.exit_code == 0
    assert (plain.records, plain.unknown, plain.unanswered, plain.outside) == (4_000, 0, 0, 0)
    assert (told.records, told.unknown, told.unanswered) == (3_999, 2, 1)
    assert (told.outside, told.unlabelled) == (3, 1)
    assert plain.right - 7 <= told.right < plain.right + 3
    said = files.run("--test", files.true, "--force").stdout
    assert "2 wrong, as the tree does not know their class" in said
    assert "3 values outside their domain" in said


def test_records_that_lack_a_value_are_left_out_and_it_is_said(files):
    lacking = {name: list(values) for name, values in NOISY.items()}
    lacking["salary"][:100], lacking["group"][100:130] = [None] * 100, [None] * 30
    files.write(lacking, TRUE)
    outcome = files.run()
    assert outcome.exit_code == 0, outcome.output
    assert "from 3,870 records" in outcome.stdout
    assert "left out: 130 records that lack a value" in outcome.stdout


def replaced(**columns):
    return {**NOISY, **columns}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"target": "grup"}, "no column 'grup' (did you mean 'group'?)"),
        ({"target": "age"}, "its values are hidden by noise"),
        ({"target": "one"}, "has one value; choose a target with two or more"),
        ({"target": "row"}, f"has 4,000 values, more than {MOST_CLASSES} classes"),
        ({"columns": "town"}, "text, not hidden; leave it out of --columns"),
        ({"columns": "group,age"}, "is the target; leave it out"),
        ({"columns": "aeg"}, "no column 'aeg'"),
        ({"tree": "tree.dot"}, "unknown suffix"),
        ({"tree": "out.csv"}, "unknown suffix"),
        ({"tree": "no/tree.json"}, "there is no such folder"),
        ({"tree": "m.json"}, "is an input"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_is_written(files, arguments, said):
    before = sorted(files.folder.iterdir())
    chosen = ["--columns", arguments.pop("columns")] if "columns" in arguments else []
    outcome = files.run(*chosen, **arguments)
    assert (outcome.exit_code, outcome.stdout) == (4, "")
    assert outcome.stderr.startswith("nothing was done: ")
    assert said in outcome.stderr
    assert sorted(files.folder.iterdir()) == before


def test_a_manifest_of_another_file_or_none_at_all_is_refused(files):
    with files.out.open("a") as file:
        file.write("\n")
    assert "it is of another file than out.csv" in files.run().stderr
    files.manifest.write_text("{}")
    assert "not a manifest" in files.run().stderr
    files.manifest.unlink()
    outcome = files.run()
    assert outcome.exit_code == 4
    assert "m.json: there is no such file" in outcome.stderr


def test_a_manifest_that_speaks_of_a_column_that_is_not_there_is_refused(files):
    told = json.loads(files.manifest.read_bytes())
    files.manifest.write_text(json.dumps({**told, "clear": ["town", "gone"]}))
    assert "it speaks of a column 'gone' that the table lacks" in files.run().stderr


@pytest.mark.parametrize("method", ["global", "byclass", "local"])
def test_too_few_records_are_refused(files, method):
    few = 900 if method == "global" else 1_700
    files.write({name: values[:few] for name, values in NOISY.items()}, TRUE)
    outcome = files.run(method=method)
    assert outcome.exit_code == 4
    assert f"{method} needs 1,000" in outcome.stderr
    assert not (files.folder / "tree.json").exists()


def test_a_value_that_no_noise_can_make_is_named_but_not_shown(files):
    files.write(replaced(age=[*NOISY["age"][:9], 987.25, *NOISY["age"][10:]]), TRUE)
    outcome = files.run()
    assert outcome.exit_code == 4
    assert "column 'age', row 10: the value lies further" in outcome.stderr
    assert "987" not in outcome.stderr


def test_a_test_table_without_a_column_or_the_noisy_one_is_refused(files):
    short = {name: values for name, values in TRUE.items() if name != "loan"}
    pa_csv.write_csv(pa.table(short), files.true)
    outcome = files.run("--test", files.true)
    assert (outcome.exit_code, "no column 'loan'" in outcome.stderr) == (4, True)
    assert "is the noisy table itself" in files.run("--test", files.out).stderr
    assert not (files.folder / "tree.json").exists()


def test_a_tree_that_is_there_is_replaced_only_by_force(files):
    (files.folder / "tree.json").write_text("mine")
    assert "already exists" in files.run().stderr
    assert (files.folder / "tree.json").read_text() == "mine"
    assert files.run("--force").exit_code == 0


def test_a_command_line_that_is_not_understood_is_wrong_usage(files):
    assert files.run(method="best").exit_code == 2
    assert files.run("--columns", ",").exit_code == 2
    assert "value for --columns: a line break" in files.run("--columns", "a\nb").stderr
    assert files.run("--format", "dot").exit_code == 2


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"parameter": 1e300}, "'age': the range or the noise is larger"),
        ({"low": -1.7e308, "high": 1.7e308}, "'age': the range or the noise is larger"),
        ({"low": 1e300, "high": 1.0000000000000002e300}, "'age': the range or the noise is larger"),
        ({"noise": "discretize", "parameter": 1e-9}, "'age': 'parameter' does not agree"),
        ({"parameter": 1e9}, "'age': 'parameter' does not agree"),
    ],
)
def test_a_manifest_that_says_what_cannot_be_is_refused(files, changed, said):
    told = json.loads(files.manifest.read_bytes())
    told["columns"][2].update(changed)
    files.manifest.write_text(json.dumps(told))
    outcome = files.run()
    assert (outcome.exit_code, outcome.stdout) == (4, "")
    assert said in outcome.stderr


@pytest.mark.parametrize("values", [[1e15, 1e15 + 0.125], [5e-324, 0]])
def test_numbers_in_clear_that_cannot_be_parted_are_not_used(files, values):
    files.write(replaced(shoe=values * 2_000), TRUE)
    outcome = files.run()
    assert outcome.exit_code == 0, outcome.output
    assert "'shoe', 'one' (fewer than two distinct values)" in outcome.stdout
