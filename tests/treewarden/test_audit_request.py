"""What an audit can be asked is declared once: every door has it, by the same name."""

from __future__ import annotations

import inspect
import re
from datetime import date
from pathlib import Path

import pytest

import treewarden
from treewarden.audit.knowledge.knowledge import Knowledge
from treewarden.audit.option_spec import OptionDoor
from treewarden.audit.options import DEFAULT, KNOWLEDGE, OPTION_SPECS
from treewarden.commands.attest import COMMAND as ATTEST
from treewarden.commands.audit import COMMAND as AUDIT
from treewarden.commands.repair import COMMAND as REPAIR
from treewarden.jobs.attesting.attesting import (
    Assumed,
    AttestedClause,
    Predicate,
    plain_value,
    unstated_options,
)
from treewarden.jobs.audit_request import (
    EXCEPTIONS,
    FILE_SPECS,
    JUDGMENT_SPECS,
    AuditFiles,
    JudgmentForm,
    Request,
    files_of,
    flag_of,
    keys_for_flags,
)
from treewarden.jobs.gate.auditing import request_of
from treewarden.jobs.gate.config import GateConfig, ModelSection, read_configuration, said_in
from treewarden.jobs.gate.gate_job import GateJob
from treewarden.jobs.gate.models import models_of
from treewarden.jobs.typed_commands import audit_command
from treewarden.ppdm_models.tables.counting.addresses import address_of
from treewarden.service.schemas.audits import NewAudit

MODEL, TABLE = Path("tree.pmml"), Path("people.csv")
ONE_OF_EACH = AuditFiles(
    **{
        name: (Path(f"{name}.x"),) if spec.is_several else Path(f"{name}.x")
        for name, spec in FILE_SPECS.items()
    }
)


@pytest.mark.parametrize("command", [AUDIT, REPAIR, ATTEST])
def test_every_option_and_every_file_is_a_flag(command):
    flags = {flag for each in command.params for flag in each.opts}
    assert {f"--{name.replace('_', '-')}" for name in OPTION_SPECS} <= flags
    assert {f"--{spec.flag}" for spec in FILE_SPECS.values()} <= flags


def test_every_file_of_a_gate_is_a_key_of_a_model_and_of_all_models_where_that_is_declared():
    keys = {name: field.alias for name, field in ModelSection.model_fields.items()}
    shared = set(GateConfig.model_fields)
    for name, spec in FILE_SPECS.items():
        is_key = OptionDoor.GATE in spec.doors
        assert (keys.get(name) == spec.flag) is is_key
        assert (name in shared) is (is_key and spec.for_all)


def test_a_key_of_a_gate_takes_one_path_and_a_list_where_several_can_be_given():
    section = '[[model]]\npath = "a"\ntable = "b"\n'
    for name, spec in files_of(OptionDoor.GATE).items():
        said = said_in(f'{section}{spec.flag} = "c"\n'.encode(), "x").models[0]
        assert getattr(said, name) == (("c",) if spec.is_several else "c")


def test_every_file_that_the_service_takes_is_a_field_of_its_request():
    named = {name: spec.body for name, spec in FILE_SPECS.items() if spec.body}
    assert set(named) == set(files_of(OptionDoor.SERVICE))
    assert set(named.values()) <= set(NewAudit.model_fields)
    assert {"knowledge", "dictionary", "population", "beside", "domain"} == set(named)


def test_what_judges_an_audit_is_a_flag_a_keyword_and_a_key_of_a_gate_by_one_name():
    keywords = inspect.signature(treewarden.audit).parameters
    for name, spec in JUDGMENT_SPECS.items():
        flags = {flag: each for each in AUDIT.params for flag in each.opts}
        flag = flags[f"--{name.replace('_', '-')}"]
        assert (flag.default, flag.help) == (spec.default, spec.help)
        assert keywords[name].default == spec.default
        for section in (GateConfig, ModelSection):
            assert (name in section.model_fields) is (OptionDoor.GATE in spec.doors)
        assert bool(spec.body) is (OptionDoor.SERVICE in spec.doors)
        assert spec.body in ("", *NewAudit.model_fields)
        assert spec.attested in (*Predicate.model_fields, *AttestedClause.model_fields)


def test_the_help_of_a_knowledge_file_names_each_flag_that_it_replaces():
    flags = {flag for param in AUDIT.params for flag in param.opts}
    named = set(re.findall(r"--[a-z-]+", FILE_SPECS["knowledge"].help))
    assert named == {flag_of(name) for name in KNOWLEDGE}
    assert named <= flags


def test_only_an_audit_takes_exceptions():
    assert EXCEPTIONS == ("waivers", "baseline")
    for command, is_shown in ((AUDIT, {False}), (REPAIR, {True}), (ATTEST, set())):
        assert {each.hidden for each in command.params if each.name in EXCEPTIONS} == is_shown


def test_a_printed_command_names_what_judges_an_audit_where_it_is_not_usual():
    files = {name: Path(f"{name}.x") for name in EXCEPTIONS}
    command = audit_command(Request(MODEL, TABLE, policy="strict", fail_on="warning", **files))
    for words in (
        "--policy strict",
        "--fail-on warning",
        "--waivers waivers.x",
        "--baseline baseline.x",
    ):
        assert words in command
    assert "--fail-on" not in audit_command(Request(MODEL, TABLE, fail_on="error"))


def test_each_file_that_judges_a_model_of_a_gate_is_one_of_its_inputs_and_reaches_the_request(
    tmp_path,
):
    named = {
        name: ("error" if spec.form is JudgmentForm.SEVERITY else f"{name}.x")
        for name, spec in JUDGMENT_SPECS.items()
    }
    keys = "".join(f'{name} = "{value}"\n' for name, value in named.items())
    for name in ("a.pmml", "b.csv", *named.values()):
        (tmp_path / name).write_text("x")
    (tmp_path / "treewarden.toml").write_text(
        f'[[model]]\npath = "a.pmml"\ntable = "b.csv"\n{keys}'
    )
    (model,) = models_of(read_configuration(tmp_path / "treewarden.toml"))
    request = request_of(GateJob(model, "", today=date(2026, 1, 1)))
    for name, value in named.items():
        judging = getattr(request, name)
        assert Path(judging).name == value
        if JUDGMENT_SPECS[name].form is not JudgmentForm.SEVERITY:
            assert tmp_path / value in model.inputs


def test_all_files_of_a_request_are_protected_from_being_overwritten():
    paths = Request(MODEL, TABLE, files=ONE_OF_EACH).paths
    assert {path.name for path in paths} >= {f"{name}.x" for name in FILE_SPECS}


def test_a_printed_command_names_every_file():
    command = audit_command(Request(MODEL, TABLE, files=ONE_OF_EACH))
    for name, spec in FILE_SPECS.items():
        assert f"--{spec.flag} {name}.x" in command


def test_a_table_of_a_server_among_the_files_is_known_to_be_there():
    assert not ONE_OF_EACH.is_on_server
    address = address_of("postgresql://me@host/base#people")
    assert AuditFiles(population=address).is_on_server


def test_what_no_attestation_states_is_named_with_what_to_do_instead():
    unstated = list(unstated_options(Request(MODEL, TABLE, files=ONE_OF_EACH)))
    assert [option.flag for option in unstated] == ["with"]
    assert all(option.instead for option in unstated)
    assert list(unstated_options(Request(MODEL, TABLE))) == []


def test_an_attestation_states_every_option_of_knowledge():
    assert set(KNOWLEDGE) <= set(Assumed.model_fields)
    assert {name: plain_value(getattr(DEFAULT, name)) for name in KNOWLEDGE} == {
        name: plain_value(getattr(Knowledge(), name)) for name in KNOWLEDGE
    }


@pytest.mark.parametrize("door", [OptionDoor.GATE, OptionDoor.SERVICE])
def test_what_is_written_and_how_many_processes_there_are_is_for_the_machine_alone(door):
    closed = {name for name, spec in OPTION_SPECS.items() if door not in spec.doors}
    of_blame = {"blame", "same_everywhere", "smallest_reasons", "withholding_costs"}
    of_service = {"solver"} if door is OptionDoor.SERVICE else set()
    assert closed == {"jobs", "levels", "attack"} | of_blame | of_service


def test_where_no_command_line_can_be_changed_messages_name_keys():
    """A gate's file and a request to the service have keys; flags of commands to run stay flags."""
    rows = {
        "weka trained it; remove --learner": "weka trained it; remove 'learner' (W)",
        "use --sensitive flu": 'use sensitive = "flu" (W)',
        "add: --qi age,sex": 'add: qi = ["age", "sex"] (W)',
        "lower --min-leaf to what the file allows": "lower 'min_leaf' to what the file allows (W)",
        "name it: --id COLUMN": 'name it: id = "COLUMN" (W)',
        "add --data TABLE, or remove it": 'add table = "TABLE", or remove it (W)',
        "run treewarden repair m.pmml --sensitive flu": "run treewarden repair m.pmml --sensitive flu",
        "to write one, add --write-baseline FILE to the gate": "to write one, add --write-baseline FILE to the gate",
        "no flag": "no flag",
    }
    for door in (OptionDoor.GATE, OptionDoor.SERVICE):
        assert {text: keys_for_flags(text, door, "W") for text in rows} == rows
