"""Reads the statements of the first level, as they were frozen, and says those of them that no tables say.

Once a version is released its level stays as it is, and what changes in the tables comes as a level of its own.

What a database itself refuses: changes of the log, decisions about one's own, other parts for what is written.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import Dialect

UNCHANGED = "the log is never changed"
OWN = "nobody decides about what is their own"
STAYS = "who had a part in it never changes"
UNTIMED = "CAST(NULL AS TIMESTAMP WITH TIME ZONE)"
WAIVERS: Mapping[str, str] = {
    "sqlite": "json_each(a.waivers) AS named JOIN waiver w ON w.id = named.value",
    "postgresql": "json_array_elements_text(a.waivers) AS named(id) JOIN waiver w ON w.id = named.id",
}
FIXED: Mapping[str, tuple[str, ...]] = {
    "audit": ("created_by", "pack_version_id"),
    "pack_version": ("created_by",),
    "waiver": ("requested_by",),
}
"""The columns that say who had a part, and are written once."""


def guard_statements(dialect: str) -> Iterator[str]:
    """Yield what makes the view ``release_party`` and the triggers, for "sqlite" or "postgresql"."""
    yield _release_party(dialect)
    yield from _sqlite_triggers() if dialect == "sqlite" else _postgresql_triggers()


def _release_party(dialect: str) -> str:
    """Return the view of everybody whose own a release is."""
    version = "FROM release r JOIN model_version v ON v.id = r.model_version_id"
    audited = "FROM release r JOIN audit a ON a.id = r.audit_id"
    same = "o.organisation_id = v.organisation_id AND o.digest = v.digest"
    return f"""CREATE VIEW release_party AS
SELECT r.id AS release_id, r.uploader_id AS account_id, 'uploaded' AS part, {UNTIMED} AS since FROM release r
UNION ALL SELECT r.id, r.opened_by, 'opened', {UNTIMED} FROM release r
UNION ALL SELECT r.id, a.created_by, 'asked', {UNTIMED} {audited}
UNION ALL SELECT r.id, p.created_by, 'wrote', {UNTIMED} {audited} JOIN pack_version p ON p.id = a.pack_version_id
UNION ALL SELECT r.id, c.account_id, 'brought', c.created_at {version}
JOIN blob o ON {same} JOIN contributor c ON c.blob_id = o.id
UNION ALL SELECT r.id, o.uploaded_by, 'brought', o.created_at {version} JOIN model_version o ON {same}
UNION ALL SELECT r.id, w.requested_by, 'waived', {UNTIMED} {audited} CROSS JOIN {WAIVERS[dialect]}"""


def _sqlite_triggers() -> Iterator[str]:
    for what in ("update", "delete"):
        yield (
            f"CREATE TRIGGER log_entry_no_{what} BEFORE {what} ON log_entry "
            f"BEGIN SELECT RAISE(ABORT, '{UNCHANGED}'); END"
        )
    for what in ("insert", "update"):
        yield (
            f"CREATE TRIGGER review_four_eyes_{what} AFTER {what} ON review WHEN {_is_own()} "
            f"BEGIN SELECT RAISE(ABORT, '{OWN}'); END"
        )
    for name, columns in FIXED.items():
        yield (
            f"CREATE TRIGGER {name}_parts BEFORE UPDATE ON {name} WHEN {_changes(columns, 'IS NOT')} "
            f"BEGIN SELECT RAISE(ABORT, '{STAYS}'); END"
        )
    for what in ("update", "delete"):
        yield (
            f"CREATE TRIGGER contributor_no_{what} BEFORE {what} ON contributor "
            f"BEGIN SELECT RAISE(ABORT, '{STAYS}'); END"
        )


def _postgresql_triggers() -> Iterator[str]:
    yield (
        "CREATE FUNCTION log_entry_unchanged() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{UNCHANGED}'; END $$"
    )
    yield (
        "CREATE TRIGGER log_entry_unchanged BEFORE UPDATE OR DELETE OR TRUNCATE ON log_entry "
        "FOR EACH STATEMENT EXECUTE FUNCTION log_entry_unchanged()"
    )
    yield (
        "CREATE FUNCTION review_four_eyes() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN IF {_is_own()} THEN RAISE EXCEPTION '{OWN}' USING ERRCODE = 'check_violation'; "
        "END IF; RETURN NEW; END $$"
    )
    yield (
        "CREATE TRIGGER review_four_eyes AFTER INSERT OR UPDATE ON review "
        "FOR EACH ROW EXECUTE FUNCTION review_four_eyes()"
    )
    yield (
        "CREATE FUNCTION parts_stay() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{STAYS}' USING ERRCODE = 'check_violation'; END $$"
    )
    for name, columns in FIXED.items():
        yield (
            f"CREATE TRIGGER {name}_parts BEFORE UPDATE ON {name} FOR EACH ROW "
            f"WHEN ({_changes(columns, 'IS DISTINCT FROM')}) EXECUTE FUNCTION parts_stay()"
        )
    yield (
        "CREATE TRIGGER contributor_stays BEFORE UPDATE OR DELETE OR TRUNCATE ON contributor "
        "FOR EACH STATEMENT EXECUTE FUNCTION parts_stay()"
    )


def _is_own() -> str:
    return (
        "EXISTS (SELECT 1 FROM release_party p WHERE p.release_id = NEW.release_id "
        "AND p.account_id = NEW.reviewer_id AND (p.since IS NULL OR p.since <= NEW.at))"
    )


def _changes(columns: tuple[str, ...], differs: str) -> str:
    return " OR ".join(f"OLD.{column} {differs} NEW.{column}" for column in columns)


DIALECTS: dict[str, Dialect] = {"sqlite": sqlite.dialect(), "postgresql": postgresql.dialect()}  # type: ignore[no-untyped-call]  # SQLAlchemy has no types there
END = ";\n\n"
"""What parts the statements of a file: none holds an empty line."""


def frozen_path(level: str, dialect: str) -> Path:
    """Return the file that holds the statements of a level for a kind of database."""
    return Path(__file__).with_name("versions") / f"level_{level}.{dialect}.sql"


def frozen_statements(level: str, dialect: str) -> list[str]:
    """Return the statements of a level as they were frozen."""
    return frozen_path(level, dialect).read_text(encoding="utf-8").removesuffix(END).split(END)
