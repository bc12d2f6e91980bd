"""All environment settings by section: variable, description, and whether the value is secret. Pure."""

from dataclasses import dataclass
from typing import Any

from dnspanel.texts import gettext_lazy


@dataclass(frozen=True, slots=True)
class EnvironmentSetting:
    """One environment variable. `attribute` is its name in Django's settings.

    The value of a variable with `is_secret` is never shown.
    """

    variable: str
    text: str
    attribute: str = ""
    is_secret: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """A section of related settings."""

    title: str
    settings: tuple[EnvironmentSetting, ...]


_Setting = EnvironmentSetting
SECTIONS = (
    Section(
        gettext_lazy("Required"),
        (
            _Setting("PANEL_SECRET_KEY", gettext_lazy("Django's signing key"), is_secret=True),
            _Setting("PANEL_MASTER_KEY", gettext_lazy("encrypts private keys at rest"), is_secret=True),
            _Setting("PANEL_MASTER_KEY_OLD", gettext_lazy("former master keys"), is_secret=True),
            _Setting("PANEL_DATABASE", "PostgreSQL", is_secret=True),
            _Setting("PANEL_REDIS_URL", gettext_lazy("Redis"), is_secret=True),
        ),
    ),
    Section(
        gettext_lazy("Where it is reached"),
        (
            _Setting("PANEL_URL", gettext_lazy("address that people open"), "PANEL_URL"),
            _Setting(
                "PANEL_PROXY_URL", gettext_lazy("where the collector asks whether the proxy answers"), "PROXY_URL"
            ),
            _Setting("PANEL_ALLOWED_HOSTS", gettext_lazy("host names"), "ALLOWED_HOSTS"),
            _Setting(
                "PANEL_SESSION_IDLE_MINUTES",
                gettext_lazy("minutes after which an idle session ends"),
                "SESSION_IDLE_MINUTES",
            ),
            _Setting("PANEL_TRUSTED_PROXIES", gettext_lazy("reverse proxies that are believed"), "TRUSTED_PROXIES"),
            _Setting(
                "PANEL_GATEWAY_ADDRESSES", gettext_lazy("where secondaries reach the gateway"), "GATEWAY_ADDRESSES"
            ),
            _Setting("PANEL_UPDATE_HOST", gettext_lazy("where the gateway takes DNS UPDATE and AXFR"), "UPDATE_HOST"),
            _Setting("PANEL_UPDATE_PORT", gettext_lazy("its port"), "UPDATE_PORT"),
            _Setting("PANEL_UPDATE_TLS_PORT", gettext_lazy("its port for TLS; 0: none"), "UPDATE_TLS_PORT"),
            _Setting(
                "PANEL_UPDATE_TLS_CERTIFICATE",
                gettext_lazy("file of its certificate, if not its own"),
                "UPDATE_TLS_CERTIFICATE",
            ),
            _Setting("PANEL_UPDATE_TLS_KEY", gettext_lazy("file of the key to it"), "UPDATE_TLS_KEY"),
            _Setting(
                "PANEL_GATEWAY_TLS_ADDRESSES",
                gettext_lazy("where secondaries reach it over TLS"),
                "GATEWAY_TLS_ADDRESSES",
            ),
        ),
    ),
    Section(
        gettext_lazy("Zones"),
        (
            _Setting("PANEL_DEFAULT_NAMESERVERS", gettext_lazy("NS of a new zone"), "DEFAULT_NAMESERVERS"),
            _Setting("PANEL_DEFAULT_HOSTMASTER", gettext_lazy("mailbox in its SOA"), "DEFAULT_HOSTMASTER"),
            _Setting("PANEL_REFUSED_SUFFIXES", gettext_lazy("names that are refused as zones"), "REFUSED_SUFFIXES"),
            _Setting("PANEL_PUBLIC_SUFFIX_LIST", gettext_lazy("a file of more such names"), "PUBLIC_SUFFIX_LIST"),
            _Setting(
                "PANEL_ALLOW_LUA_RECORDS", gettext_lazy("LUA records, which are code on the nodes"), "ALLOW_LUA_RECORDS"
            ),
            _Setting("PANEL_ALIAS_RESOLVER", gettext_lazy("resolver that nodes use for ALIAS"), "ALIAS_RESOLVER"),
            _Setting("PANEL_DNS_RESOLVERS", gettext_lazy("resolvers for finding parent zones"), "DNS_RESOLVERS"),
            _Setting("PANEL_TRUST_ANCHORS", gettext_lazy("DS records of the root"), "TRUST_ANCHORS"),
            _Setting(
                "PANEL_TOKENS_DELETE_MANY",
                gettext_lazy("every token deletes any number of zones"),
                "TOKENS_DELETE_MANY",
            ),
        ),
    ),
    Section(
        gettext_lazy("Publishing and nodes"),
        (
            _Setting("PANEL_SCHEMAS", gettext_lazy("schemas of PowerDNS's LMDB that are written"), "SCHEMAS"),
            _Setting("PANEL_LOG_DAYS", gettext_lazy("days before old segments are deleted"), "LOG_DAYS"),
            _Setting(
                "PANEL_RING0_REQUIRED", gettext_lazy("nodes wait for the canary while it is away"), "RING0_REQUIRED"
            ),
            _Setting(
                "PANEL_RING0_PATIENCE",
                gettext_lazy("seconds that nodes wait for the canary otherwise"),
                "RING0_PATIENCE",
            ),
            _Setting(
                "PANEL_REFUSAL_PATIENCE",
                gettext_lazy("seconds that a node can refuse a change"),
                "REFUSAL_PATIENCE",
            ),
            _Setting("PANEL_TRANSFER_PROCESSES", gettext_lazy("workers of imports and exports"), "TRANSFER_PROCESSES"),
        ),
    ),
    Section(
        gettext_lazy("Quotas"),
        (
            _Setting("PANEL_PERSON_QUOTAS", gettext_lazy("how much one person may have"), "PERSON_QUOTAS"),
            _Setting("PANEL_TEAM_QUOTAS", gettext_lazy("how much one team may have"), "TEAM_QUOTAS"),
        ),
    ),
    Section(
        gettext_lazy("APIs, webhooks, metrics"),
        (
            _Setting(
                "PANEL_API_REQUESTS_PER_MINUTE",
                gettext_lazy("requests of a token in a minute"),
                "API_REQUESTS_PER_MINUTE",
            ),
            _Setting(
                "PANEL_METRICS_NETWORKS",
                gettext_lazy("networks that read /metrics without a token"),
                "METRICS_NETWORKS",
            ),
            _Setting(
                "PANEL_OUTBOUND_NETWORKS", gettext_lazy("private networks that webhooks may reach"), "OUTBOUND_NETWORKS"
            ),
            _Setting("PANEL_OUTBOUND_HTTP", gettext_lazy("webhooks and providers over http as well"), "OUTBOUND_HTTP"),
            _Setting(
                "PANEL_SECONDARY_NETWORKS",
                gettext_lazy("private networks that secondaries may be in"),
                "SECONDARY_NETWORKS",
            ),
            _Setting(
                "PANEL_SOURCE_NETWORKS", gettext_lazy("private networks that imports may read from"), "SOURCE_NETWORKS"
            ),
            _Setting(
                "PANEL_EVIDENCE_NETWORKS",
                gettext_lazy("private networks that the audit log is sent to"),
                "EVIDENCE_NETWORKS",
            ),
            _Setting(
                "PANEL_OIDC_NETWORKS", gettext_lazy("private networks where sign-in providers may be"), "OIDC_NETWORKS"
            ),
        ),
    ),
    Section(
        gettext_lazy("Mail"),
        (
            _Setting("PANEL_MAIL_HOST", gettext_lazy("mail server for alerts"), "EMAIL_HOST"),
            _Setting("PANEL_MAIL_PORT", gettext_lazy("its port"), "EMAIL_PORT"),
            _Setting("PANEL_MAIL_USER", gettext_lazy("name there"), "EMAIL_HOST_USER"),
            _Setting("PANEL_MAIL_PASSWORD", gettext_lazy("password there"), is_secret=True),
            _Setting("PANEL_MAIL_TLS", gettext_lazy("how it is encrypted"), "MAIL_TLS"),
            _Setting("PANEL_MAIL_FROM", gettext_lazy("sender of alerts"), "DEFAULT_FROM_EMAIL"),
            _Setting(
                "PANEL_LANGUAGE",
                gettext_lazy("language of mails of alerts, and of mails to people who chose none"),
                "DEFAULT_LANGUAGE",
            ),
        ),
    ),
    Section(
        gettext_lazy("Where it keeps things"),
        (
            _Setting("PANEL_VAR", gettext_lazy("the publisher's LMDB and the segments"), "VAR_DIR"),
            _Setting("PANEL_STATIC_ROOT", gettext_lazy("collected static files"), "STATIC_ROOT"),
            _Setting("PANEL_TRANSFER_DIR", gettext_lazy("files of imports and exports"), "TRANSFER_DIR"),
            _Setting("PANEL_SEGMENTS_S3_BUCKET", gettext_lazy("bucket for segments and snapshots")),
            _Setting("PANEL_SEGMENTS_S3_ENDPOINT", gettext_lazy("where it is")),
            _Setting("PANEL_SEGMENTS_S3_REGION", gettext_lazy("its region")),
            _Setting("PANEL_SEGMENTS_S3_PREFIX", gettext_lazy("what names in it begin with")),
            _Setting("PANEL_SEGMENTS_S3_ACCESS_KEY", gettext_lazy("its credentials"), is_secret=True),
            _Setting("PANEL_SEGMENTS_S3_SECRET_KEY", gettext_lazy("its credentials"), is_secret=True),
            _Setting("PANEL_STATEMENT_SECONDS", gettext_lazy("how long PostgreSQL may take"), "STATEMENT_SECONDS"),
            _Setting("PANEL_SILENCE_SECONDS", gettext_lazy("how long PostgreSQL may be silent"), "SILENCE_SECONDS"),
            _Setting("PANEL_DEBUG", gettext_lazy("Django's debug pages; never in production"), "DEBUG"),
        ),
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
