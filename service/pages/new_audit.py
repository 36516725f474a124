"""The second step to an audit: who is who in the table, which policy, and what else the adversary knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError, create_model

from treewarden.audit.knowledge.adversaries import PRESETS
from treewarden.audit.knowledge.levels import LeafLevel, RowOrder, SplitLevel
from treewarden.audit.option_spec import Concern, Content, OptionDoor
from treewarden.audit.options import DEFAULT, OPTION_SPECS, options_of
from treewarden.service.api._requests import AtSite, Reading, Who, asks, reads
from treewarden.service.auth.principal import Permission, Principal
from treewarden.service.errors import InvalidError, ServiceError
from treewarden.service.pages._forms import AUDIT, is_asked_again, refusal, see, status_of, waited
from treewarden.service.pages._rendering import asked_columns, facts_of, page, target_of
from treewarden.service.schemas.audits import NewAudit
from treewarden.service.schemas.base import Body, Id, PageRequest
from treewarden.service.schemas.models import TrainingTable, Version
from treewarden.service.site import Unit
from treewarden.service.use_cases.audits import submit
from treewarden.service.use_cases.models import get_version
from treewarden.service.use_cases.policies import list_packs
from treewarden.service.use_cases.tables import get_table, list_tables

ROUTER = APIRouter(tags=["pages"])
LEAVES = (
    (LeafLevel.AS_PUBLISHED, "what the file says"),
    (LeafLevel.LABELS, "its label alone"),
    (LeafLevel.RATES, "the shares of its classes"),
    (LeafLevel.COUNTS, "the counts of its classes"),
)
SPLITS = (
    (SplitLevel.AS_PUBLISHED, "as the file says"),
    (SplitLevel.NONE, "not known"),
    (SplitLevel.GINI, "Gini impurity"),
    (SplitLevel.ENTROPY, "entropy"),
    (SplitLevel.GAIN_RATIO, "gain ratio"),
)
ORDERS = (
    (RowOrder.KNOWN, "known: draws of records can be repeated from a seed"),
    (RowOrder.UNKNOWN, "not known"),
)


FORM_OPTIONS = options_of(OptionDoor.PAGE)
"""The options of an audit that the form has, each an input of its name."""


class _AuditForm(Body):
    """What was chosen beside the options of an audit."""

    kind: str = "audit"
    pack: str = "standard"
    knowledge: str = ""
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

else:
    NewAuditForm = create_model(
        "NewAuditForm",
        __base__=_AuditForm,
        __module__=__name__,
        **{name: _input_of(name) for name in FORM_OPTIONS},
    )


@ROUTER.get("/submit/{version_id}", **reads(Permission.SUBMIT))
def get_asked(
    request: Request,
    who: Who,
    unit: Reading,
    version_id: Id,
    table: Annotated[Id | None, Query()] = None,
) -> Response:
    """Show what can be asked; while the files are being read, wait for that."""
    version = get_version(unit, who, version_id)
    training_table = get_table(unit, who, table) if table else None
    if is_asked_again(request):
        return waited(_is_read(version, training_table))
    return _render_page(
        request, who, unit, version, training_table, _first(version, training_table)
    )


@ROUTER.post("/submit/{version_id}", **asks(Permission.SUBMIT))
def post_asked(
    request: Request,
    who: Who,
    site: AtSite,
    version_id: Id,
    asked: Annotated[NewAuditForm, Form()],
    table: Annotated[Id | None, Query()] = None,
) -> Response:
    """Ask for the audit, and lead on to it."""
    try:
        new = NewAudit(
            kind=asked.kind,  # type: ignore[arg-type]  # pydantic refuses any other
            model_version_id=version_id,
            table_id=table,
            register_id=asked.register_id or None,
            pack=asked.pack,
            options=_options(asked, table is not None),
            knowledge=asked.knowledge.strip(),
            waivers=bool(asked.waivers),
            purpose=asked.purpose.strip(),
            keeps_table=bool(asked.keeps_table),
        )
        with site.unit() as unit:
            audit = submit(unit, who, new)
    except (ServiceError, ValidationError) as error:
        with site.reading() as unit:
            version = get_version(unit, who, version_id)
            training_table = get_table(unit, who, table) if table else None
            return _render_page(
                request, who, unit, version=version, table=training_table, asked=asked, error=error
            )
    return see(f"/audits/{audit.id}")


def _registers(unit: Unit, who: Principal, table: TrainingTable | None) -> list[tuple[str, str]]:
    """Return the other tables that somebody may audit with, newest first: which of them may be a register."""
    if table is None:
        return []
    tables = list_tables(unit, who, PageRequest()).items
    others = (other for other in tables if other.may_audit and other.state == "ready")
    return [(other.id, other.file_name) for other in others if other.id != table.id]


def _is_read(*each: Version | TrainingTable | None) -> bool:
    return all(one is None or one.state != "reading" for one in each)


def _first(version: Version, table: TrainingTable | None) -> NewAuditForm:
    """Return what is chosen to begin with: what the model's file says, as far as the table has it."""
    names = [column_of.name for column_of in table.columns or ()] if table else []
    target = target_of(version.summary)
    sensitive = target if target in names else ""
    asked = [name for name in asked_columns(version.summary) if name in names and name != sensitive]
    return NewAuditForm(sensitive=sensitive, qi=asked, waivers="yes")


def _options(asked: NewAuditForm, has_table: bool) -> dict[str, Any]:
    """Return the options of the audit; those that were left as they are stand for themselves."""
    if has_table:
        _check_columns(asked)
    left_out = set() if has_table else {Concern.COLUMNS, Concern.ADVERSARY}
    left_out |= {Concern.KNOWLEDGE} if asked.knowledge.strip() else set()
    values = {
        name: _value_of(name, getattr(asked, name))
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


def _check_columns(asked: NewAuditForm) -> None:
    """Check that what is to be protected is not known, and that an adversary with partial knowledge is whole."""
    if asked.sensitive in asked.qi:
        problem = f"{asked.sensitive!r} is to be protected; it cannot be known to everybody too"
        raise InvalidError("qi", problem)
    if asked.secret and asked.secret == asked.sensitive:
        problem = f"{asked.secret!r} is to be protected already; choose another column, or none"
        raise InvalidError("secret", problem)
    if asked.target_known and not (
        _parts(asked.knows) and (asked.secret or asked.knowledge.strip())
    ):
        problem = "say which columns the neighbour knows, and which other column is to stay secret"
        raise InvalidError("target_known", problem)
    if _parts(asked.bins) and not asked.secret:
        raise InvalidError("bins", "part the numbers of another secret; choose its column")


def _parts(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _render_page(
    request: Request,
    who: Principal,
    unit: Unit,
    version: Version,
    table: TrainingTable | None,
    asked: NewAuditForm,
    error: ServiceError | ValidationError | None = None,
) -> Response:
    return page(
        request,
        "asked.html.j2",
        who,
        status=status_of(error) if error else 200,
        version=version,
        table=table,
        asked=asked,
        registers=_registers(unit, who, table),
        packs=list_packs(unit, who),
        leaves=LEAVES,
        splits=SPLITS,
        orders=ORDERS,
        presets=tuple(PRESETS),
        facts=facts_of(version),
        is_waiting=not _is_read(version, table),
        refused=refusal(error, AUDIT) if error else "",
    )
