"""The second step to an audit: who is who in the table, which policy, and what else the adversary knows."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Form, Query, Request
from fastapi.responses import Response
from pydantic import ValidationError

from treewarden.audit.knowledge.adversaries import PRESETS
from treewarden.audit.knowledge.levels import LeafLevel, RowOrder, SplitLevel
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


class NewAuditForm(Body):
    """What was chosen, as a form sends it."""

    kind: str = "audit"
    sensitive: str = ""
    qi: list[str] = []
    pack: str = "standard"
    weights: str = ""
    leaf: str = LeafLevel.AS_PUBLISHED.value
    split: str = SplitLevel.AS_PUBLISHED.value
    row_order: str = RowOrder.KNOWN.value
    marginal: str = ""
    accuracy: str = ""
    knows: str = ""
    target_known: str = ""
    secret: str = ""
    bins: str = ""
    worlds_budget: str = ""
    knowledge: str = ""
    purpose: str = ""
    waivers: str = ""
    keeps_table: str = ""
    register_id: str = ""


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
    found: dict[str, Any] = {}
    if has_table:
        if asked.sensitive in asked.qi:
            problem = f"{asked.sensitive!r} is to be protected; it cannot be known to everybody too"
            raise InvalidError("qi", problem)
        found |= {"sensitive": asked.sensitive} if asked.sensitive else {}
        found |= {"qi": asked.qi} if asked.qi else {}
        found |= {"weights": asked.weights} if asked.weights else {}
        found |= _somebody(asked)
    if not asked.knowledge.strip():
        found |= {"leaf": asked.leaf} if asked.leaf != LeafLevel.AS_PUBLISHED else {}
        found |= {"split": asked.split} if asked.split != SplitLevel.AS_PUBLISHED else {}
        found |= {"row_order": asked.row_order} if asked.row_order != RowOrder.KNOWN else {}
        found |= {"marginal": True} if asked.marginal else {}
        found |= {"accuracy": True} if asked.accuracy else {}
    if asked.worlds_budget.strip():
        try:
            found["worlds_budget"] = float(asked.worlds_budget)
        except ValueError:
            raise InvalidError("worlds_budget", "a number is needed, such as 20") from None
    return found


def _somebody(asked: NewAuditForm) -> dict[str, Any]:
    """Return the options that declare somebody who knows some columns only, and a secret that is no target."""
    if asked.secret and asked.secret == asked.sensitive:
        problem = f"{asked.secret!r} is to be protected already; choose another column, or none"
        raise InvalidError("secret", problem)
    knows, bins = _parts(asked.knows), _parts(asked.bins)
    if asked.target_known and not (knows and (asked.secret or asked.knowledge.strip())):
        problem = "say which columns the neighbour knows, and which other column is to stay secret"
        raise InvalidError("target_known", problem)
    if bins and not asked.secret:
        raise InvalidError("bins", "part the numbers of another secret; choose its column")
    found: dict[str, Any] = {"knows": knows} if knows else {}
    found |= {"secret": asked.secret} if asked.secret else {}
    found |= {"bins": bins} if bins else {}
    return found | ({"target_known": True} if asked.target_known else {})


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
