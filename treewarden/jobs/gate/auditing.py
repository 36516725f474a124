"""What a process of a gate does for one model: the same audit as ``treewarden audit``, told as an entry."""

from __future__ import annotations

import hashlib
import json
import os
import traceback
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import treewarden
from treewarden.audit.option_spec import KeySetting, OptionDoor
from treewarden.audit.options import AuditOptions
from treewarden.audit.progress import Step, silent
from treewarden.audit.result import names_of_tested
from treewarden.audit.solver.checkpoint import keeping
from treewarden.jobs.attesting.attesting import unstated_options
from treewarden.jobs.attesting.checking import (
    CheckRequest,
    any_of,
    attested_entry,
    read_attestation,
)
from treewarden.jobs.audit_request import Earlier, Request, flag_of, keys_for_flags
from treewarden.jobs.auditing import JudgedAudit, audit_file
from treewarden.jobs.exceptions import baseline_of
from treewarden.jobs.gate.changed import Digests, key_of
from treewarden.jobs.gate.config import audit_options, given_settings
from treewarden.jobs.gate.gate_job import GateAnswer, GateJob
from treewarden.jobs.gate.models import GateModel
from treewarden.jobs.inputs import ModelBytes, file_of_source, opened, told_table
from treewarden.jobs.read_inputs import knowledge_of, pack_of
from treewarden.ppdm_models.errors import TooManyProfilesError, TreewardenError, os_reason
from treewarden.ppdm_models.files.load import read_bytes
from treewarden.ppdm_models.tree.ensemble import trees_of
from treewarden.ppdm_models.tree.privacy_claim import plain_claims
from treewarden.reports.building.build import audit_document
from treewarden.reports.building.entry import entry_of, unaudited, undecided
from treewarden.reports.building.redacted import WHERE_IT_IS_TOLD, problem_of
from treewarden.reports.document.document import Document, EarlierFiles, Provenance, one_line
from treewarden.reports.document.gate import Entry
from treewarden.reports.document.parts import File
from treewarden.reports.renderers import rendered, renderer

KEY = KeySetting("'id'", "write id = {} in its section of the gate's file", json.dumps)
"""What the gate's file calls the column that says who is who."""
KEYS_OF = "in its [[model]] of the gate's file"
TOO_LITTLE = "this machine has too little memory for the audit; audit a smaller tree, or fewer quasi-identifiers"
NOT_OF_COLUMNS = (
    "adversaries with partial knowledge are configured, but attestations do not cover them"
)
SAME_PATHS = "all workers of a cluster need the same files under the same paths"
CHANGED = "the file changed while the gate ran; run it again"


def answered(order: GateJob, step: Step = silent) -> GateAnswer:
    """Return what comes of a model: its entry and its own reports, or why it could not be audited."""
    model = order.model
    try:
        with keeping(order.kept):
            return _audited(order, step)
    except TooManyProfilesError as error:
        return GateAnswer(undecided(model.name, model.file, problem_of(error)))
    except MemoryError:
        problem = TOO_LITTLE
    except (
        Exception
    ) as error:  # one model's trouble is no reason to leave the others without a result
        if os.environ.get("TREEWARDEN_TRACEBACK"):
            traceback.print_exc()
        cause, told, _ = problem_of(error, _quoted_flags(error, model)).partition(WHERE_IT_IS_TOLD)
        problem = f"{naming_keys(cause.rstrip('. '))}. {told}" if told else naming_keys(cause)
    return GateAnswer(unaudited(model.name, model.file, problem))


def naming_keys(text: str) -> str:
    """Return a message with keys of the gate's file in place of flags of the command line."""
    return keys_for_flags(text, OptionDoor.GATE, KEYS_OF)


def _quoted_flags(error: BaseException, model: GateModel) -> Iterator[str]:
    """Yield the flags of settings of a model whose values, such as names of columns, a message quotes."""
    quoted = str(error).partition(";")[0]  # what follows may list columns
    values = given_settings(model.settings) | ({} if model.key is None else {"id": model.key})
    for name, value in values.items():
        words = value if isinstance(value, tuple) else (value,)
        if any(repr(word) in quoted for word in words if isinstance(word, str)):
            yield flag_of(name)


def request_of(order: GateJob) -> Request:
    """Return the request of an audit; the model's bytes are those that the gate saw.

    Raises:
        TreewardenError: the model cannot be read, or is another file by now.
    """
    model = order.model
    _check_files(order)
    data = read_bytes(model.path)
    if order.model_digest and hashlib.sha256(data).hexdigest() != order.model_digest:
        raise TreewardenError(model.path.name, CHANGED)
    return Request(
        ModelBytes(data, model.path.name),
        model.table,
        options_of(order),
        model.files,
        **(model.judgment | {"policy": str(model.policy)}),
        name=model.name,
        today=order.today,
        earlier=tuple(Earlier(path, table) for path, table in model.earlier),
        key=model.key,
        key_setting=KEY,
    )


def _check_files(order: GateJob) -> None:
    """Check that this machine reads the files that the gate saw, where it may be another one.

    Raises:
        TreewardenError: it does not.
    """
    if not order.rests_on:
        return
    try:
        found = key_of(order.model, Digests(), treewarden.__version__, order.today or date.min)
    except OSError as error:
        raise TreewardenError(
            Path(error.filename or order.model.file).name,
            f"{os_reason(error)} on the worker that audits it; {SAME_PATHS}",
        ) from error
    if found != order.rests_on:
        problem = f"the worker has another version of this file; {SAME_PATHS}"
        raise TreewardenError(order.model.file, problem)


def options_of(order: GateJob) -> AuditOptions:
    """Return how the audit is done: as configured, and nothing for reports that nobody wants."""
    return audit_options(order.model.settings, jobs=order.jobs, levels=bool(order.forms))


def _audited(order: GateJob, step: Step) -> GateAnswer:
    model = order.model
    request = request_of(order)
    attested, refused = _attested(model, request)
    if attested is not None:
        return GateAnswer(attested)
    done = audit_file(request, step, grades=bool(order.forms))
    with step("reporting"):
        document = audit_document(
            done.audit, done.decision, _provenance(order, done), draws_tree=bool(order.forms)
        )
        entry = _with_refusals(entry_of(document, model.name, model.file), refused)
        reports = {form: _rendered(document, model.file, form) for form in order.forms}
    return GateAnswer(
        entry,
        reports,
        needed=tuple(sorted(done.uses.needed)),
        told=tuple(sorted(done.uses.told)),
        baseline=baseline_of(done.audit, done.decision, request) if order.wants_baseline else None,
    )


def _attested(model: GateModel, request: Request) -> tuple[Entry | None, tuple[str, ...]]:
    """Return the entry of a model for whose audit an attestation stands, or why none does."""
    if not model.attestations:
        return None, ()
    pack, options = pack_of(request), request.options
    unstated = next(unstated_options(request), None)
    if unstated is not None:
        return None, (f"the key {unstated.flag!r} is set, and attestations do not cover it",)
    if options.knows is not None or options.secret is not None or request.files.adversaries:
        return None, (NOT_OF_COLUMNS,)
    trees = opened(request.model).model
    question = CheckRequest(
        pack,
        knowledge_of(request),
        options.qi,
        model.fail_on,
        strict_ties=options.strict_ties,
        columns=options.column_of_feature,
        sensitive=None if options.sensitive == trees.target else options.sensitive,
        claims=None if options.claims is None else plain_claims(options.claims),
        domain=_domain_digest(request),
    )
    envelopes = [
        (attestation.name, read_attestation(attestation)) for attestation in model.attestations
    ]
    keys = [each.read_bytes() for each in model.trust]
    found, refused = any_of(envelopes, keys, request.model, question)
    if found is None:
        return None, refused
    names = names_of_tested(tuple(trees_of(trees)), but="")
    return attested_entry(found, pack, model.name, model.file, one_line(names)), ()


def _domain_digest(request: Request) -> str | None:
    """Return the digest of the values that are declared public of the columns, None where none are."""
    if request.files.domain is None:
        return None
    from treewarden.jobs.further_files import load_public_domain  # where one is declared

    return load_public_domain(request.files.domain).digest


def _with_refusals(entry: Entry, refused: Sequence[str]) -> Entry:
    """Return the entry with why no attestation stood for an audit with the table."""
    if not refused:
        return entry
    more = f" (and {len(refused) - 1} more)" if refused[1:] else ""
    said = f"{entry.headline}; no attestation is valid: {refused[0]}{more}"
    return entry.model_copy(update={"headline": said})


def _provenance(order: GateJob, done: JudgedAudit) -> Provenance:
    """Return where the report comes from, with the digests that the gate took: no table is read twice for one."""
    model, pack = order.model, done.subject.pack
    register = model.files.population
    return Provenance(
        version=treewarden.__version__,
        model=File(name=model.path.name, sha256=order.model_digest),
        table=_table(order, done),
        candidates=None if register is None else told_table(register),
        outputs=tuple(map(file_of_source, model.files.beside)),
        pack=File(name=pack.name.replace("/", "_"), sha256=pack.digest),
        created=order.created or None,
        earlier=tuple(
            EarlierFiles(model=file_of_source(path), table=told_table(table))
            for path, table in model.earlier
        ),
    )


def _table(order: GateJob, done: JudgedAudit) -> File | None:
    """Return what is told of the table; what a server holds has no digest but that of what came back."""
    if isinstance(order.model.table, Path):
        return File(name=order.model.table.name, sha256=order.table_digest)
    return done.subject.table


def _rendered(document: Document, file: str, form: str) -> bytes:
    return rendered(renderer(form), document, file)
