"""How a service is set up: by the command line, by variables of the environment, else as it stands here."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from treewarden.audit.workers.pool import processors
from treewarden.service.errors import SetupError

MEBIBYTE = 2**20
MOST_USUAL_SLOTS = 8
"""Each may take as much memory as ``child_memory`` says."""
Words = Annotated[tuple[str, ...], NoDecode]
"""Several words in one variable, separated by commas."""


def processors_for_jobs() -> int:
    """Return how many jobs are done side by side where nothing is said: one on each processor of this process."""
    return min(processors(), MOST_USUAL_SLOTS)


ADDRESS = re.compile(
    r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+(?:\.[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+)*"
    r"@[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\.[A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?)+"
)
"""An e-mail address as browsers take it, without quotes; nothing in it can begin another line or a list."""
LONGEST_ADDRESS = 254


def is_address(text: str) -> bool:
    """Return whether a text is an e-mail address."""
    return len(text) <= LONGEST_ADDRESS and ADDRESS.fullmatch(text) is not None


class Settings(BaseSettings):
    """Each field is a variable of the environment, ``TREEWARDEN_`` before its name in capitals.

    ``database`` is a URL (SQLite in the data folder where nothing is said), ``key_file`` holds the key that seals all
    others (made in the data folder where nothing is said; keep it elsewhere), ``table_roots`` are folders below which
    tables may be referred to by path, each of one organisation: ``ORGANISATION=FOLDER``, by its name or its id.
    ``bucket`` keeps the sealed files in an object store instead of the data folder. ``max_waiting``, ``max_tables`` and
    ``max_stored`` are what one organisation may have at a time. ``anchor_file`` is what the last digest of each log is
    written to. Sizes are bytes, times seconds where the name says nothing else.
    """

    model_config = SettingsConfigDict(env_prefix="TREEWARDEN_", extra="ignore", frozen=True)

    data_dir: Path = Path("treewarden-data")
    database: str = ""
    host: str = "127.0.0.1"
    port: int = Field(default=8321, ge=0, le=65535)
    base_url: str = ""
    trusted_proxies: Words = ("127.0.0.1", "::1")
    key_file: Path | None = None
    table_roots: Words = ()

    max_body: int = Field(default=MEBIBYTE, gt=0)
    max_model: int = Field(default=256 * MEBIBYTE, gt=0)
    max_table: int = Field(default=8192 * MEBIBYTE, gt=0)

    max_waiting: int = Field(default=200, gt=0)
    max_tables: int = Field(default=100, gt=0)
    max_stored: int = Field(default=102_400 * MEBIBYTE, gt=0)

    bucket: str = ""
    bucket_endpoint: str = ""
    bucket_prefix: str = ""
    bucket_region: str = ""
    bucket_http: bool = False

    slots: int = Field(default_factory=processors_for_jobs, ge=0, le=64)
    lease_seconds: float = Field(default=30.0, gt=0)
    heartbeat_seconds: float = Field(default=10.0, gt=0)
    poll_seconds: float = Field(default=1.0, gt=0)
    child_memory: int = Field(default=8192 * MEBIBYTE, gt=0)
    child_seconds: int = Field(default=3600, gt=0)
    read_seconds: int = Field(default=180, gt=0)
    idle_seconds: float = Field(default=120.0, ge=0)

    table_hours: float = Field(default=24.0, gt=0)
    session_hours: float = Field(default=12.0, gt=0)
    session_idle_minutes: float = Field(default=60.0, ge=2)
    secure_cookies: bool | None = None

    oidc_issuer: str = ""
    oidc_client_id: str = ""
    oidc_client_secret: SecretStr = SecretStr("")
    oidc_organisation: str = ""
    oidc_role: str = "viewer"

    webhook_hosts: Words = ()
    anchor_file: Path | None = None

    mail_host: str = ""
    mail_port: int | None = Field(default=None, gt=0, le=65535)
    mail_tls: Literal["starttls", "tls", "none"] = "starttls"
    mail_user: str = ""
    mail_password_file: Path | None = None
    mail_from: str = ""
    mail_domains: Words = ()

    otlp_endpoint: str = ""
    metrics_token: SecretStr = SecretStr("")
    metrics_open: bool = False
    log_level: str = "info"

    @model_validator(mode="after")
    def _beats_in_time(self) -> Self:
        if self.heartbeat_seconds > self.lease_seconds / 2:
            raise ValueError(
                "TREEWARDEN_HEARTBEAT_SECONDS must be at most half of "
                "TREEWARDEN_LEASE_SECONDS, so that a running worker keeps its jobs"
            )
        return self

    @model_validator(mode="after")
    def _can_mail(self) -> Self:
        if not self.mail_host:
            return self
        if not self.base_url:
            raise ValueError(
                "TREEWARDEN_MAIL_HOST needs TREEWARDEN_BASE_URL, because e-mails contain links"
            )
        if not is_address(self.mail_from):
            raise ValueError("TREEWARDEN_MAIL_HOST needs an address in TREEWARDEN_MAIL_FROM")
        if bool(self.mail_user) != (self.mail_password_file is not None):
            raise ValueError(
                "set both TREEWARDEN_MAIL_USER and TREEWARDEN_MAIL_PASSWORD_FILE, or neither"
            )
        if self.mail_user and self.mail_tls == "none":
            raise ValueError(
                "TREEWARDEN_MAIL_TLS can be none only if TREEWARDEN_MAIL_USER is not set"
            )
        return self

    @field_validator(
        "table_roots", "trusted_proxies", "webhook_hosts", "mail_domains", mode="before"
    )
    @classmethod
    def _words(cls, value: Any) -> Any:  # noqa: ANN401  # what a variable or a caller gives
        if isinstance(value, str):
            return tuple(word.strip() for word in value.split(",") if word.strip())
        return value

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, value: Words) -> Words:
        for each in value:
            try:
                network = ip_network(each)
            except ValueError as error:
                raise ValueError(
                    "must be addresses or networks such as 10.0.0.7,10.1.0.0/16"
                ) from error
            if not network.prefixlen:
                raise ValueError(
                    "must not include all addresses; name the addresses of your proxies"
                )
        return value

    @property
    def database_url(self) -> str:
        """The URL of the database, with the driver that is used."""
        url = self.database or f"sqlite:///{(self.data_dir / 'treewarden.db').absolute()}"
        scheme, separator, rest = url.partition("://")
        if scheme in ("postgres", "postgresql"):
            return f"postgresql+psycopg{separator}{rest}"
        return url

    @property
    def smtp_port(self) -> int:
        """The port of the mail server: the usual one of how it is reached, where nothing is said."""
        return self.mail_port or {"tls": 465, "starttls": 587, "none": 25}[self.mail_tls]

    @property
    def is_secure(self) -> bool:
        """Whether cookies go over TLS alone: where pages are reached by https, unless something else is said."""
        if self.secure_cookies is not None:
            return self.secure_cookies
        return self.base_url.startswith("https:")


def settings_from(options: Mapping[str, object]) -> Settings:
    """Return the settings of the environment, but for what is given and not None.

    Raises:
        SetupError: one of them cannot be; it is called by its variable, without its value.
    """
    said: Any = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings(**said)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = "_".join(map(str, first["loc"])).upper()
        problem = first["msg"].removeprefix("Value error, ")
        where = f"TREEWARDEN_{name}" if name else "settings"
        raise SetupError(
            where, f"{problem}; docs/engineering/service-settings.md lists all settings"
        ) from error
