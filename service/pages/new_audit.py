"""The second step to an audit: who is who in the table, which policy, and what else the adversary knows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import Field, ValidationError, create_model

from treewarden.audit.knowledge.adversaries import PRESETS
from treewarden.audit.knowledge.levels import LeafLevel, RowOrder, SplitLevel
from treewarden.audit.option_spec import Concern, Content, OptionDoor
from treewarden.audit.options import DEFAULT, OPTION_SPECS, options_of
from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import AUDIT, is_asked_again, refusal, see, status_of, waited
from treewarden.service.pages._rendering import asked_columns, facts_of, page, target_of
from treewarden.service.schemas.audits import MOST_OUTPUTS, NewAudit
from treewarden.service.schemas.base import Body, Id, PageRequest
from treewarden.service.schemas.models import TrainingTable, Version
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import submit
from treewarden.service.use_cases.models import get_version
from treewarden.service.use_cases.policies import list_packs
from treewarden.service.use_cases.tables import get_table, list_tables

ROUTER = APIRouter(tags=["pages"])
LEAVES = (
    (LeafLevel.AS_PUBLISHED, "what the file contains"),
    (LeafLevel.LABELS, "only its label"),
    (LeafLevel.RATES, "the shares of its classes"),
    (LeafLevel.COUNTS, "the counts of its classes"),
)
SPLITS = (
    (SplitLevel.AS_PUBLISHED, "as in the file"),
    (SplitLevel.NONE, "not known"),
    (SplitLevel.GINI, "Gini impurity"),
    (SplitLevel.ENTROPY, "entropy"),
    (SplitLevel.GAIN_RATIO, "gain ratio"),
)
ORDERS = (
    (RowOrder.KNOWN, "known: a sample can be repeated from its seed"),
    (RowOrder.UNKNOWN, "not known"),
)


FORM_OPTIONS = options_of(OptionDoor.PAGE)
"""The options of an audit that the form has, each an input of its name."""


class _AuditForm(Body):
    """What was chosen beside the options of an audit."""

    kind: str = "audit"
    pack: str = "standard"
    knowledge: str = ""
    domain: str = ""
    purpose: str = ""
    waivers: str = ""
    keeps_table: str = ""
    register_id: str = ""


def _input_of(name: str) -> tuple[Any, Any]:
    """Return the type and the first value of an option's input: columns to choose from, or text."""
    spec, default = OPTION_SPECS[name], getattr(DEFAULT, name)
    if tuple in spec.kinds and spec.content is Content.COLUMNS:
        return list[str], []
    return str, default.value if spec.choices else ""


if TYPE_CHECKING:

    class NewAuditForm(_AuditForm):
        """What was chosen, as a form sends it."""

        sensitive: str = ""
        qi: list[str] = []
        secret: str = ""
        knows: str = ""
        bins: str = ""
        target_known: str = ""
        claims: str = ""

else:
    NewAuditForm = create_model(
        "NewAuditForm",
        __base__=_AuditForm,
        __module__=__name__,
        **{name: _input_of(name) for name in FORM_OPTIONS},
    )


class NamedFiles(Body):
    """The files of an audit, by their ids, as the address names them; ``outputs`` are parted by commas."""

    table: Id | None = None
    outputs: str = Field(default="", max_length=33 * MOST_OUTPUTS, pattern=r"^[0-9a-f,]*$")
    dictionary: Id | Literal[""] = ""

    @property
    def output_ids(self) -> tuple[str, ...]:
        """The ids of the outputs."""
        return tuple(_parts(self.outputs))


@dataclass(frozen=True, slots=True)
class AuditSources:
    """What is to be audited: a version, its table, and the further files, in the order of the form."""

    version: Version
    table: TrainingTable | None
    outputs: tuple[TrainingTable, ...]
    dictionary: TrainingTable | None

    @property
    def tables(self) -> tuple[TrainingTable, ...]:
        """The files beside the model."""
        return tuple(each for each in (self.table, *self.outputs, self.dictionary) if each)

    @property
    def is_read(self) -> bool:
        """Whether none is still being read."""
        files: tuple[Version | TrainingTable, ...] = (self.version, *self.tables)
        return all(file.state != "reading" for file in files)

    @property
    def unreadable(self) -> TrainingTable | None:
        """The first of the further files that could not be read or is erased."""
        further = (file for file in self.tables if file is not self.table)
        return next((file for file in further if file.state in ("refused", "erased")), None)


def _sources(unit: Unit, principal: Principal, version_id: str, named: NamedFiles) -> AuditSources:
    return AuditSources(
        get_version(unit, principal, version_id),
        get_table(unit, principal, named.table) if named.table else None,
        tuple(get_table(unit, principal, table_id) for table_id in named.output_ids),
        get_table(unit, principal, named.dictionary) if named.dictionary else None,
    )


@ROUTER.get("/submit/{version_id}", **reads(Permission.SUBMIT))
def get_asked(
    request: Request,
    principal: Who,
    unit: Reading,
    version_id: Id,
    named: Annotated[NamedFiles, Query()],
) -> Response:
    """Show what can be asked; while the files are being read, wait for that."""
    sources = _sources(unit, principal, version_id, named)
    if is_asked_again(request):
        return waited(sources.is_read)
    return _render_page(request, principal, unit, sources, _first(sources.version, sources.table))


@ROUTER.post("/submit/{version_id}", **asks(Permission.SUBMIT))
def post_asked(
    request: Request,
    principal: Who,
    site: AtSite,
    version_id: Id,
    form: Annotated[NewAuditForm, Form()],
    named: Annotated[NamedFiles, Query()],
) -> Response:
    """Ask for the audit, and lead on to it."""
    try:
        new = NewAudit(
            kind=form.kind,  # type: ignore[arg-type]  # pydantic refuses any other
            model_version_id=version_id,
            table_id=named.table,
            register_id=form.register_id or None,
            output_ids=named.output_ids,
            dictionary_id=named.dictionary or None,
            pack=form.pack,
            options=_options(form, named.table is not None),
            knowledge=form.knowledge.strip(),
            domain=form.domain.strip(),
            waivers=bool(form.waivers),
            purpose=form.purpose.strip(),
            keeps_table=bool(form.keeps_table),
        )
        with site.unit() as unit:
            audit = submit(unit, principal, new)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            sources = _sources(unit, principal, version_id, named)
            return _render_page(request, principal, unit, sources, form, error)
    return see(f"/audits/{audit.id}")


def _registers(
    unit: Unit, principal: Principal, table: TrainingTable | None
) -> list[tuple[str, str]]:
    """Return the other tables that somebody may audit with, newest first: which of them may be a register."""
    if table is None:
        return []
    tables = list_tables(unit, principal, PageRequest()).items
    others = (
        other
        for other in tables
        if other.may_audit and other.state == "ready" and other.holds == "records"
    )
    return [(other.id, other.file_name) for other in others if other.id != table.id]


def _first(version: Version, table: TrainingTable | None) -> NewAuditForm:
    """Return what is chosen to begin with: what the model's file says, as far as the table has it."""
    names = [column_of.name for column_of in table.columns or ()] if table else []
    target = target_of(version.summary)
    sensitive = target if target in names else ""
    asked = [name for name in asked_columns(version.summary) if name in names and name != sensitive]
    return NewAuditForm(sensitive=sensitive, qi=asked, waivers="yes")


def _options(form: NewAuditForm, has_table: bool) -> dict[str, Any]:
    """Return the options of the audit; those that were left as they are stand for themselves."""
    if has_table:
        _check_columns(form)
    left_out = set() if has_table else {Concern.COLUMNS, Concern.ADVERSARY}
    left_out |= {Concern.KNOWLEDGE} if form.knowledge.strip() else set()
    values = {
        name: _value_of(name, getattr(form, name))
        for name in FORM_OPTIONS
        if OPTION_SPECS[name].concern not in left_out
    }
    return {name: value for name, value in values.items() if value is not None}


def _value_of(name: str, text: str | list[str]) -> Any:  # noqa: ANN401  # as the option is
    """Return the value of an option, None where it was left as it is."""
    spec = OPTION_SPECS[name]
    if isinstance(text, list):
        return text or None
    if bool in spec.kinds:
        return True if text else None
    if spec.choices:
        return None if text == getattr(DEFAULT, name) else text
    if tuple in spec.kinds:
        return _parts(text) or None
    if float not in spec.kinds:
        return text or None
    try:
        return float(text) if text.strip() else None
    except ValueError:
        raise InvalidError(name, "a number is needed, such as 20") from None


def _check_columns(form: NewAuditForm) -> None:
    """Check that what is to be protected is not known, and that an adversary with partial knowledge is whole."""
    if form.sensitive in form.qi:
        problem = (
            f"{form.sensitive!r} is the protected column, so it cannot also be "
            "known to the adversary; untick it"
        )
        raise InvalidError("qi", problem)
    if form.secret and form.secret == form.sensitive:
        problem = f"{form.secret!r} is protected already; choose another column, or none"
        raise InvalidError("secret", problem)
    if form.target_known and not (_parts(form.knows) and (form.secret or form.knowledge.strip())):
        problem = (
            "the neighbour needs both: name the columns that the neighbour knows, "
            "and the other column to protect"
        )
        raise InvalidError("target_known", problem)
    if _parts(form.bins) and not form.secret:
        raise InvalidError("bins", "belong to another protected column; choose that column")


def _parts(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _render_page(
    request: Request,
    principal: Principal,
    unit: Unit,
    sources: AuditSources,
    form: NewAuditForm,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    version, table = sources.version, sources.table
    return page(
        request,
        "asked.html.j2",
        principal,
        status=status_of(error) if error else 200,
        version=version,
        table=table,
        outputs=sources.outputs,
        dictionary=sources.dictionary,
        unreadable=sources.unreadable,
        asked=form,
        registers=_registers(unit, principal, table),
        packs=list_packs(unit, principal),
        leaves=LEAVES,
        splits=SPLITS,
        orders=ORDERS,
        presets=tuple(PRESETS),
        facts=facts_of(version),
        is_waiting=not sources.is_read,
        refused=refusal(error, AUDIT) if error else "",
    )
