"""Every setting of the environment, by section: its variable, what it is, and what of its value may be told. Pure."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class EnvironmentSetting:
    """One variable; `attribute` is its name in Django's settings, `is_secret` says that its value is never told."""

    variable: str
    text: str
    attribute: str = ""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """Settings that belong together."""

    title: str
    settings: tuple[EnvironmentSetting, ...]


_Setting = EnvironmentSetting
SECTIONS = (
    Section(
        "Required",
        (
            _Setting("PANEL_SECRET_KEY", "Django's signing key", is_secret=True),
            _Setting("PANEL_MASTER_KEY", "encrypts private keys at rest", is_secret=True),
            _Setting("PANEL_DATABASE", "PostgreSQL", is_secret=True),
            _Setting("PANEL_REDIS_URL", "Redis", is_secret=True),
        ),
    ),
    Section(
        "Where it is reached",
        (
            _Setting("PANEL_URL", "address that people open", "PANEL_URL"),
            _Setting("PANEL_ALLOWED_HOSTS", "host names", "ALLOWED_HOSTS"),
            _Setting("PANEL_SESSION_IDLE_MINUTES", "minutes after which an idle session ends", "SESSION_IDLE_MINUTES"),
            _Setting("PANEL_TRUSTED_PROXIES", "reverse proxies that are believed", "TRUSTED_PROXIES"),
            _Setting("PANEL_UPDATE_HOST", "where the gateway takes DNS UPDATE and AXFR", "UPDATE_HOST"),
            _Setting("PANEL_UPDATE_PORT", "its port", "UPDATE_PORT"),
        ),
    ),
    Section(
        "Zones",
        (
            _Setting("PANEL_DEFAULT_NAMESERVERS", "NS of a new zone", "DEFAULT_NAMESERVERS"),
            _Setting("PANEL_DEFAULT_HOSTMASTER", "mailbox in its SOA", "DEFAULT_HOSTMASTER"),
            _Setting("PANEL_REFUSED_SUFFIXES", "names that nobody may have as a zone", "REFUSED_SUFFIXES"),
            _Setting("PANEL_PUBLIC_SUFFIX_LIST", "a file of more such names", "PUBLIC_SUFFIX_LIST"),
            _Setting("PANEL_ALLOW_LUA_RECORDS", "LUA records, which are code on the nodes", "ALLOW_LUA_RECORDS"),
            _Setting("PANEL_ALIAS_RESOLVER", "resolver by which nodes follow ALIAS", "ALIAS_RESOLVER"),
            _Setting("PANEL_DNS_RESOLVERS", "resolvers by which parents are found", "DNS_RESOLVERS"),
            _Setting("PANEL_TRUST_ANCHORS", "DS records of the root", "TRUST_ANCHORS"),
            _Setting("PANEL_TOKENS_DELETE_MANY", "every token deletes any number of zones", "TOKENS_DELETE_MANY"),
        ),
    ),
    Section(
        "Publishing and nodes",
        (
            _Setting("PANEL_SCHEMAS", "schemas of PowerDNS's LMDB that are written", "SCHEMAS"),
            _Setting("PANEL_LOG_DAYS", "days for which segments are kept", "LOG_DAYS"),
            _Setting("PANEL_RING0_REQUIRED", "nodes wait for ring 0 as long as it is away", "RING0_REQUIRED"),
            _Setting("PANEL_RING0_PATIENCE", "seconds for which they wait else", "RING0_PATIENCE"),
            _Setting("PANEL_REFUSAL_PATIENCE", "seconds for which a node may refuse a change", "REFUSAL_PATIENCE"),
            _Setting("PANEL_TRANSFER_PROCESSES", "workers of imports and exports", "TRANSFER_PROCESSES"),
        ),
    ),
    Section(
        "Quotas",
        (
            _Setting("PANEL_PERSON_QUOTAS", "how much one person may have", "PERSON_QUOTAS"),
            _Setting("PANEL_TEAM_QUOTAS", "how much one team may have", "TEAM_QUOTAS"),
        ),
    ),
    Section(
        "APIs, webhooks, metrics",
        (
            _Setting("PANEL_API_REQUESTS_PER_MINUTE", "requests of a token in a minute", "API_REQUESTS_PER_MINUTE"),
            _Setting("PANEL_METRICS_NETWORKS", "networks that read /metrics without a token", "METRICS_NETWORKS"),
            _Setting("PANEL_OUTBOUND_NETWORKS", "private networks that webhooks may reach", "OUTBOUND_NETWORKS"),
            _Setting("PANEL_OUTBOUND_HTTP", "webhooks over plain http as well", "OUTBOUND_HTTP"),
            _Setting("PANEL_SOURCE_NETWORKS", "private networks that imports may read from", "SOURCE_NETWORKS"),
        ),
    ),
    Section(
        "Mail",
        (
            _Setting("PANEL_MAIL_HOST", "mail server for alerts", "EMAIL_HOST"),
            _Setting("PANEL_MAIL_PORT", "its port", "EMAIL_PORT"),
            _Setting("PANEL_MAIL_USER", "name there", "EMAIL_HOST_USER"),
            _Setting("PANEL_MAIL_PASSWORD", "password there", is_secret=True),
            _Setting("PANEL_MAIL_TLS", "how it is encrypted", "MAIL_TLS"),
            _Setting("PANEL_MAIL_FROM", "sender of alerts", "DEFAULT_FROM_EMAIL"),
        ),
    ),
    Section(
        "Where it keeps things",
        (
            _Setting("PANEL_VAR", "the publisher's LMDB and the segments", "VAR_DIR"),
            _Setting("PANEL_STATIC_ROOT", "collected static files", "STATIC_ROOT"),
            _Setting("PANEL_TRANSFER_DIR", "files of imports and exports", "TRANSFER_DIR"),
            _Setting("PANEL_SEGMENTS_S3_BUCKET", "bucket for segments and snapshots"),
            _Setting("PANEL_SEGMENTS_S3_ENDPOINT", "where it is"),
            _Setting("PANEL_SEGMENTS_S3_REGION", "its region"),
            _Setting("PANEL_SEGMENTS_S3_PREFIX", "what names in it begin with"),
            _Setting("PANEL_SEGMENTS_S3_ACCESS_KEY", "its credentials", is_secret=True),
            _Setting("PANEL_SEGMENTS_S3_SECRET_KEY", "its credentials", is_secret=True),
            _Setting("PANEL_STATEMENT_SECONDS", "how long PostgreSQL may take", "STATEMENT_SECONDS"),
            _Setting("PANEL_DEBUG", "Django's debug pages; never in production", "DEBUG"),
        ),
    ),
)


def value_text(value: Any) -> str:
    """Return the value as a person reads it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={value_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(value_text, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value in {None, ""} else str(value)
