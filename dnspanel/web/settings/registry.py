"""All environment settings by section: variable, description, and whether the value is secret. Pure."""

from dataclasses import dataclass
from typing import Any

from dnspanel.texts import gettext_lazy


@dataclass(frozen=True, slots=True)
class EnvironmentSetting:
    """An environment variable. `attribute` is its name in Django's settings. Pages never show a secret's value."""

    variable: str
    text: str
    attribute: str = ""
    is_secret: bool = False


class Section:
    def __init__(self, title: str, *settings: EnvironmentSetting) -> None:
        self.title, self.settings = title, settings


def _setting(variable: str, text: str) -> EnvironmentSetting:
    return EnvironmentSetting(variable, text, variable.removeprefix("PANEL_"))


SECTIONS = (
    Section(
        gettext_lazy("Required"),
        EnvironmentSetting("PANEL_SECRET_KEY", gettext_lazy("Django secret key"), is_secret=True),
        EnvironmentSetting("PANEL_MASTER_KEY", gettext_lazy("key that encrypts private keys at rest"), is_secret=True),
        EnvironmentSetting("PANEL_MASTER_KEY_OLD", gettext_lazy("former master keys"), is_secret=True),
        EnvironmentSetting("PANEL_DEMO_PASSWORD", gettext_lazy("password of the demo’s people"), is_secret=True),
        EnvironmentSetting("PANEL_DATABASE", "PostgreSQL", is_secret=True),
        EnvironmentSetting("PANEL_REDIS_URL", gettext_lazy("Redis"), is_secret=True),
    ),
    Section(
        gettext_lazy("Addresses and proxies"),
        EnvironmentSetting("PANEL_URL", gettext_lazy("public URL of the panel"), "PANEL_URL"),
        _setting("PANEL_PROXY_URL", gettext_lazy("URL for the proxy’s health checks")),
        _setting("PANEL_ALLOWED_HOSTS", gettext_lazy("allowed host names")),
        _setting("PANEL_SESSION_IDLE_MINUTES", gettext_lazy("session idle timeout in minutes")),
        _setting("PANEL_TRUSTED_PROXIES", gettext_lazy("trusted reverse proxies")),
        _setting("PANEL_GATEWAY_ADDRESSES", gettext_lazy("gateway addresses for secondaries")),
        _setting("PANEL_UPDATE_HOST", gettext_lazy("gateway listen address for DNS UPDATE and AXFR")),
        _setting("PANEL_UPDATE_PORT", gettext_lazy("gateway listen port")),
        _setting("PANEL_UPDATE_TLS_PORT", gettext_lazy("gateway TLS port (0: disabled)")),
        _setting(
            "PANEL_UPDATE_TLS_CERTIFICATE",
            gettext_lazy("file with the gateway’s TLS certificate (default: self-issued)"),
        ),
        _setting("PANEL_UPDATE_TLS_KEY", gettext_lazy("file with the TLS certificate’s private key")),
        _setting("PANEL_GATEWAY_TLS_ADDRESSES", gettext_lazy("gateway addresses for secondaries over TLS")),
    ),
    Section(
        gettext_lazy("Zones"),
        _setting("PANEL_DEFAULT_NAMESERVERS", gettext_lazy("name servers for new zones")),
        _setting("PANEL_DEFAULT_HOSTMASTER", gettext_lazy("SOA mailbox for new zones")),
        _setting("PANEL_REFUSED_SUFFIXES", gettext_lazy("zone names that aren’t allowed")),
        _setting("PANEL_PUBLIC_SUFFIX_LIST", gettext_lazy("file with more zone names that aren’t allowed")),
        _setting("PANEL_ALLOW_LUA_RECORDS", gettext_lazy("allow LUA records, which run code on nodes")),
        _setting("PANEL_ALIAS_RESOLVER", gettext_lazy("resolver for ALIAS records on nodes")),
        _setting("PANEL_DNS_RESOLVERS", gettext_lazy("resolvers for finding parent zones")),
        _setting("PANEL_PUBLIC_RESOLVERS", gettext_lazy("public resolvers that people can query")),
        _setting("PANEL_TRUST_ANCHORS", gettext_lazy("root zone DS records")),
        _setting("PANEL_TOKENS_DELETE_MANY", gettext_lazy("allow every token to delete any number of zones")),
    ),
    Section(
        gettext_lazy("Publishing and nodes"),
        _setting("PANEL_SCHEMAS", gettext_lazy("PowerDNS LMDB schemas to write")),
        _setting("PANEL_LOG_DAYS", gettext_lazy("days before old segments are deleted")),
        _setting("PANEL_COUNT_QUERIES", gettext_lazy("count the queries for each record")),
        _setting("PANEL_RING0_REQUIRED", gettext_lazy("make nodes wait for an offline canary")),
        _setting("PANEL_RING0_PATIENCE", gettext_lazy("seconds to wait for an offline canary")),
        _setting("PANEL_REFUSAL_PATIENCE", gettext_lazy("seconds a node has to refuse a change")),
        _setting("PANEL_TRANSFER_PROCESSES", gettext_lazy("number of import and export workers")),
    ),
    Section(
        gettext_lazy("Quotas"),
        _setting("PANEL_PERSON_QUOTAS", gettext_lazy("quotas per person")),
        _setting("PANEL_TEAM_QUOTAS", gettext_lazy("quotas per team")),
    ),
    Section(
        gettext_lazy("APIs, webhooks, metrics"),
        _setting("PANEL_API_REQUESTS_PER_MINUTE", gettext_lazy("requests per token per minute")),
        _setting("PANEL_METRICS_NETWORKS", gettext_lazy("networks that can read /metrics without a token")),
        _setting("PANEL_OUTBOUND_NETWORKS", gettext_lazy("private networks allowed for webhooks")),
        _setting("PANEL_OUTBOUND_HTTP", gettext_lazy("allow HTTP for webhooks and providers")),
        _setting("PANEL_SECONDARY_NETWORKS", gettext_lazy("private networks allowed for secondaries")),
        _setting("PANEL_SOURCE_NETWORKS", gettext_lazy("private networks allowed for imports")),
        _setting("PANEL_EVIDENCE_NETWORKS", gettext_lazy("private networks allowed for audit log export")),
        _setting("PANEL_OIDC_NETWORKS", gettext_lazy("private networks allowed for sign-in providers")),
    ),
    Section(
        gettext_lazy("Mail"),
        EnvironmentSetting("PANEL_MAIL_HOST", gettext_lazy("mail server host name"), "EMAIL_HOST"),
        EnvironmentSetting("PANEL_MAIL_PORT", gettext_lazy("mail server port"), "EMAIL_PORT"),
        EnvironmentSetting("PANEL_MAIL_USER", gettext_lazy("mail server user name"), "EMAIL_HOST_USER"),
        EnvironmentSetting("PANEL_MAIL_PASSWORD", gettext_lazy("mail server password"), is_secret=True),
        _setting("PANEL_MAIL_TLS", gettext_lazy("mail server encryption")),
        EnvironmentSetting("PANEL_MAIL_FROM", gettext_lazy("sender address for alerts"), "DEFAULT_FROM_EMAIL"),
        EnvironmentSetting(
            "PANEL_LANGUAGE",
            gettext_lazy("language for alert emails, and default for other emails"),
            "DEFAULT_LANGUAGE",
        ),
    ),
    Section(
        gettext_lazy("Storage"),
        EnvironmentSetting("PANEL_VAR", gettext_lazy("the publisher’s LMDB and the segments"), "VAR_DIR"),
        _setting("PANEL_STATIC_ROOT", gettext_lazy("collected static files")),
        _setting("PANEL_TRANSFER_DIR", gettext_lazy("import and export files")),
        EnvironmentSetting("PANEL_SEGMENTS_S3_BUCKET", gettext_lazy("bucket for segments and snapshots")),
        EnvironmentSetting("PANEL_SEGMENTS_S3_ENDPOINT", gettext_lazy("S3 endpoint")),
        EnvironmentSetting("PANEL_SEGMENTS_S3_REGION", gettext_lazy("S3 region")),
        EnvironmentSetting("PANEL_SEGMENTS_S3_PREFIX", gettext_lazy("S3 object name prefix")),
        EnvironmentSetting("PANEL_SEGMENTS_S3_ACCESS_KEY", gettext_lazy("S3 credentials"), is_secret=True),
        EnvironmentSetting("PANEL_SEGMENTS_S3_SECRET_KEY", gettext_lazy("S3 credentials"), is_secret=True),
        _setting("PANEL_DATABASE_POOLER", gettext_lazy("the database is a connection pooler")),
        _setting("PANEL_KEEP_DAYS", gettext_lazy("days for which history is kept")),
        _setting("PANEL_LOG_FORMAT", gettext_lazy("format of log lines")),
        _setting("PANEL_STATEMENT_SECONDS", gettext_lazy("time limit for PostgreSQL statements")),
        _setting("PANEL_SILENCE_SECONDS", gettext_lazy("time limit for PostgreSQL to respond")),
        _setting("PANEL_DEBUG", gettext_lazy("Django’s debug pages (never enable in production)")),
    ),
)


def value_text(value: Any) -> str:
    """Return a setting's value as readable text, such as `yes` or `none`."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict):
        return ", ".join(f"{name}={value_text(each)}" for name, each in value.items())
    if isinstance(value, list | tuple | set | frozenset):
        return ", ".join(map(value_text, value)) or "none"
    if isinstance(value, float):
        return f"{value:g}"
    return "none" if value in {None, ""} else str(value)
