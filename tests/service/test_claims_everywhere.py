"""A claim of differential privacy has the same outcome wherever it is judged: shell, Python, gate, API and page."""

import json
import re
from dataclasses import replace

import pytest

import treewarden as tw
from tests.judges.drawn_labels import WORDS, labelled_forest, labelled_tree
from tests.kit.run import run_command
from tests.kit.service import sites
from tests.kit.service import work_to_do as make
from treewarden.api.result import with_keywords
from treewarden.ppdm_models.files.load import writers
from treewarden.ppdm_models.tree.ensemble import with_claim
from treewarden.ppdm_models.tree.privacy_claim import read_claim
from treewarden.service.auth.principal import Role

API = "/api/v1"
LEAVES, LABELS = [[30, 25], [24, 24], [40, 20]], [0, 1, 0]
POLICY = "differential-privacy"
SPENDING = WORDS.replace("independent", "private")
CASES = [
    (f"epsilon=0.5, {WORDS}", "not refuted", "PASS"),
    (f"epsilon=2, {WORDS}", "not refuted", "FAIL"),
    (f"epsilon=0.5, {WORDS}, seed=known", "void", "FAIL"),
    (f"epsilon=0.05, {SPENDING}, label_epsilon=3", "refuted", "FAIL"),
    ("epsilon=0.5, splits=independent, bounds=public", "undetermined", "UNDETERMINED"),
    (
        "epsilon=0.5, mechanism=permute-and-flip-monotonic, splits=independent",
        "undetermined",
        "UNDETERMINED",
    ),
]


@pytest.fixture
def files(tmp_path):
    model, table = tmp_path / "model.json", tmp_path / "people.csv"
    model.write_bytes(writers()["treewarden_json"].write(labelled_tree(LEAVES, LABELS)))
    rows = [
        f"p{leaf},c{code}\n"
        for leaf, counts in enumerate(LEAVES)
        for code, count in enumerate(counts)
        for _ in range(count)
    ]
    table.write_text("place,illness\n" + "".join(rows))
    return model, table


@pytest.fixture
def site(tmp_path):
    with sites.make_site("sqlite", tmp_path / "site") as found:
        yield found


@pytest.fixture
def client(site):
    ann = sites.add_account(site, sites.add_organisation(site), "ann", Role.SUBMITTER)
    return sites.open_client(site, ann)


def uploaded(site, client, kind, path):
    """Upload a model or a table, let it be read, and return the id of its version, or its own."""
    address = f"{API}/tables"
    if kind == "model":
        made = client.post(f"{API}/models", json={"name": "trees"}).json()["id"]
        address = f"{API}/models/{made}/versions"
    digest = sites.upload_file(client, path.read_bytes(), kind)
    body = {"digest": digest, "file_name": path.name}
    made = client.post(address, json=body).json()["id"]
    make.do_all(site)
    return made


def finished(site, client, audit_id):
    make.do_all(site)
    done = client.get(f"{API}/audits/{audit_id}").json()
    assert done["state"] == "done", done
    href = next(report["href"] for report in done["reports"] if report["form"] == "json")
    (claim,) = client.get(href).json()["claims"]
    return claim["outcome"], done["verdict"]


def as_in_python(part):
    """Return what was found of claims as Python says it: with arguments in place of flags."""
    if isinstance(part, dict):
        return {key: as_in_python(each) for key, each in part.items()}
    if isinstance(part, list):
        return [as_in_python(each) for each in part]
    return with_keywords(part) if isinstance(part, str) else part


@pytest.mark.parametrize(("words", "outcome", "verdict"), CASES)
def test_shell_python_and_gate_agree(files, tmp_path, words, outcome, verdict):
    model, table = files
    told = ("--data", table, "--sensitive", "illness", "--policy", POLICY, "--claims", words)
    told = (*told, "--worlds-budget", 1)
    shell = run_command("audit", model, *told, "--format", "json", "--quiet")
    document = json.loads(shell.stdout)
    assert (document["claims"][0]["outcome"], document["verdict"]) == (outcome, verdict)
    settings = {"sensitive": "illness", "policy": POLICY, "claims": words, "worlds_budget": 1}
    python = tw.audit(model, table, **settings)
    assert python.to_dict()["claims"] == as_in_python(document["claims"])
    (tmp_path / "treewarden.toml").write_text(
        f'[[model]]\npath = "model.json"\ntable = "people.csv"\nsensitive = "illness"\npolicy = "{POLICY}"\n'
        f'claims = "{words}"\nworlds_budget = 1\n'
    )
    gate = run_command("gate", "--config", tmp_path / "treewarden.toml", "--format", "json")
    assert gate.exit_code == shell.exit_code
    (entry,) = json.loads(gate.stdout)["entries"]
    assert entry["outcome"] == verdict


@pytest.mark.parametrize(("words", "outcome", "verdict"), CASES)
def test_the_service_gives_the_same_answer_to_programs_and_to_people(
    site, client, files, words, outcome, verdict
):
    version = uploaded(site, client, "model", files[0])
    table = uploaded(site, client, "table", files[1])
    body = {"model_version_id": version, "table_id": table, "pack": POLICY}
    options = {"sensitive": "illness", "claims": words, "worlds_budget": 1}
    asked = client.post(f"{API}/audits", json={**body, "options": options})
    assert asked.status_code == 202, asked.text
    assert finished(site, client, asked.json()["id"]) == (outcome, verdict)
    table = uploaded(site, client, "table", files[1])
    client.follow_redirects = False
    form = client.get(f"/submit/{version}?table={table}").text
    assert "Claim of differential privacy" in form
    sent = {"sensitive": "illness", "qi": ["place"], "pack": POLICY, "claims": words}
    answer = client.post(f"/submit/{version}?table={table}", data=sent | {"worlds_budget": "1"})
    assert answer.status_code == 303, answer.text
    audit_id = answer.headers["location"].rpartition("/")[2]
    assert finished(site, client, audit_id) == (outcome, verdict)
    shown = client.get(f"/audits/{audit_id}").text
    assert re.search(f"Claim of differential privacy</dt><dd>{re.escape(words)}", shown)


@pytest.mark.parametrize(
    ("words", "said"),
    [("epsilon=much", "give a number above 0"), ("eps=1", "unknown key")],
)
def test_words_that_are_no_claim_come_back_to_the_form(site, client, files, words, said):
    version = uploaded(site, client, "model", files[0])
    table = uploaded(site, client, "table", files[1])
    sent = {"sensitive": "illness", "qi": ["place"], "pack": POLICY, "claims": words}
    answer = client.post(f"/submit/{version}?table={table}", data=sent)
    assert answer.status_code == 422
    assert said in answer.text
    body = {"model_version_id": version, "table_id": table, "options": {"claims": words}}
    refused = client.post(f"{API}/audits", json=body)
    assert refused.status_code == 422
    assert said in refused.json()["detail"]


def test_no_door_lets_the_owner_replace_what_one_of_several_trees_says(files, tmp_path):
    """The second tree says nothing, and the first one that its bounds are of the table."""
    stated = f"epsilon=0.5, {WORDS}, label_epsilon=0.25, trees=all"
    own = read_claim(f"epsilon=10, {WORDS.replace('public', 'table')}", "the file")
    forest = labelled_forest(LEAVES, [(0, 1, 0), (0, 0, 1)], [(0, 0), (0, 0)], None)
    first, second = forest.members
    first = replace(first, model=with_claim(first.model, own))
    model = tmp_path / "model.pmml"
    model.write_bytes(writers()["pmml"].write(replace(forest, members=(first, second))))
    told = ("--data", files[1], "--sensitive", "illness", "--policy", POLICY)
    said = "claims: epsilon is 0.5, and the file says 10.0; leave it out"
    refused = run_command("audit", model, *told, "--claims", stated, "--quiet")
    assert (refused.exit_code, said in refused.stderr) == (4, True)
    with pytest.raises(tw.TreewardenError, match="the file says 10.0"):
        tw.audit(model, files[1], sensitive="illness", policy=POLICY, claims=stated)
    (tmp_path / "treewarden.toml").write_text(
        f'[[model]]\npath = "model.pmml"\ntable = "people.csv"\nsensitive = "illness"\npolicy = "{POLICY}"\n'
        f'claims = "{stated}"\n'
    )
    gate = run_command("gate", "--config", tmp_path / "treewarden.toml", "--format", "json")
    assert gate.exit_code == 4
    assert json.loads(gate.stdout)["entries"][0]["outcome"] == "NO AUDIT"
    alone = run_command("audit", model, *told, "--format", "json", "--quiet")
    (found,) = json.loads(alone.stdout)["claims"]
    assert (found["outcome"], alone.exit_code) == ("void", 1)
