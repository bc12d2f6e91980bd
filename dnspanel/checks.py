"""System checks of the settings. Each message explains how to fix an invalid setting.

An error (id E…) keeps the panel from starting. A warning (id W…) doesn't. The meaning of an id never changes.
"""

import os
from collections.abc import Sequence
from ipaddress import ip_address
from pathlib import Path
from string import hexdigits
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning

from dnspanel.suffixes import read_suffixes
from replication.dns import names
from replication.errors import BadName
from replication.wire.protocol import is_resolver

# The tag of the checks below. Frequent commands use it to skip Django's own checks, which import every page.
OWN = "dnspanel"
SECRET_KEY_CHARACTERS = 50


@register(Tags.security, OWN)
def check_secret_key(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the secret key.

    E002: it is too short to be safe against forged sessions. E003: it is also the master key, so one leak reveals both.
    """
    found: list[CheckMessage] = []
    if len(settings.SECRET_KEY) < SECRET_KEY_CHARACTERS:
        message = f"PANEL_SECRET_KEY has fewer than {SECRET_KEY_CHARACTERS} characters."
        hint = 'Make one: python -c "import secrets; print(secrets.token_urlsafe(50))"'
        found.append(Error(message, hint=hint, id="dnspanel.E002"))
    if settings.SECRET_KEY == settings.MASTER_KEY:
        hint = "Make another PANEL_SECRET_KEY; changing it signs everybody out and harms nothing else."
        found.append(Error("PANEL_SECRET_KEY and PANEL_MASTER_KEY are the same.", hint=hint, id="dnspanel.E003"))
    return found


@register(Tags.urls, OWN)
def check_panel_url(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the panel's URL.

    E004: it is not an http or https address, so links and agents fail. W001: it sends passwords in clear text. E018: it
    is not this machine's, but its sign-in page shows the passwords of the demo's people.
    """
    url = urlsplit(settings.PANEL_URL)
    if settings.DEMO_PASSWORD and not is_loopback(url.hostname or ""):
        hint = "Remove PANEL_DEMO_PASSWORD. Only the demo sets it, and only on this machine."
        return [Error("PANEL_DEMO_PASSWORD lets everyone sign in.", hint=hint, id="dnspanel.E018")]
    if url.scheme not in {"http", "https"} or not url.hostname:
        hint = "Give the address that browsers use, such as https://dns.example.net"
        return [Error("PANEL_URL is not an http or https address.", hint=hint, id="dnspanel.E004")]
    if url.scheme == "http" and not is_loopback(url.hostname):
        hint = "Put the panel behind TLS and give its https address."
        message = "PANEL_URL is http: passwords and sessions can be read on the way."
        return [CheckWarning(message, hint=hint, id="dnspanel.W001")]
    return []


@register(OWN)
def check_zone_defaults(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the default name servers (E005) and the default hostmaster (E006) of new zones."""
    found: list[CheckMessage] = []
    if not settings.DEFAULT_NAMESERVERS or not all(map(_is_name, settings.DEFAULT_NAMESERVERS)):
        hint = "Give names with commas between them, such as ns1.example.net.,ns2.example.net."
        message = "PANEL_DEFAULT_NAMESERVERS is not a list of domain names."
        found.append(Error(message, hint=hint, id="dnspanel.E005"))
    if not _is_name(settings.DEFAULT_HOSTMASTER):
        hint = "Write the mailbox as a name: hostmaster.example.net. for hostmaster@example.net"
        found.append(Error("PANEL_DEFAULT_HOSTMASTER is not a domain name.", hint=hint, id="dnspanel.E006"))
    return found


@register(OWN)
def check_suffixes(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the suffixes that must not be zones, and their file (E010). Zones can't be created while one is invalid."""
    try:
        read_suffixes(tuple(settings.REFUSED_SUFFIXES), settings.PUBLIC_SUFFIX_LIST)
    except BadName as exc:
        hint = "Give rules of the Public Suffix List, such as .,*,co.uk,*.ck,!www.ck"
        message = f"PANEL_REFUSED_SUFFIXES or PANEL_PUBLIC_SUFFIX_LIST has a rule that is none: {exc}"
        return [Error(message, hint=hint, id="dnspanel.E010")]
    except (OSError, UnicodeError) as exc:
        hint = "Give a readable file in the form of https://publicsuffix.org/list/public_suffix_list.dat, or none."
        message = f"PANEL_PUBLIC_SUFFIX_LIST cannot be read: {getattr(exc, 'strerror', None) or 'it is not UTF-8'}."
        return [Error(message, hint=hint, id="dnspanel.E010")]
    return []


@register(OWN)
def check_alias_resolver(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the resolver for ALIAS records is an IP address (E011). Otherwise PowerDNS doesn't start."""
    if settings.ALIAS_RESOLVER and not is_resolver(settings.ALIAS_RESOLVER):
        hint = "Give one, with a port where it is not 53: 192.0.2.53, 192.0.2.53:5300, [2001:db8::53]:5300"
        return [Error("PANEL_ALIAS_RESOLVER is not an IP address.", hint=hint, id="dnspanel.E011")]
    return []


@register(OWN)
def check_resolvers(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the resolvers are IP addresses (E012). The panel queries parent zones and people's records there."""
    hint = "Give some, with a port where it is not 53: 192.0.2.53,192.0.2.54:5300,[2001:db8::53]:5300; or none."
    for name in ("DNS_RESOLVERS", "PUBLIC_RESOLVERS"):
        if wrong := [text for text in getattr(settings, name) if not is_resolver(text)]:
            return [Error(f"PANEL_{name}: {wrong[0]} is not an IP address.", hint=hint, id="dnspanel.E012")]
    return []


@register(OWN)
def check_gateway_addresses(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the gateway's addresses are IP addresses (E014). Secondaries are configured with these addresses."""
    for name, ports in (("GATEWAY_ADDRESSES", (53, 5340)), ("GATEWAY_TLS_ADDRESSES", (853, 8530))):
        if wrong := [text for text in getattr(settings, name) if not is_resolver(text)]:
            usual, other = ports
            hint = f"Give IP addresses, with a port where it is not {usual}: 192.0.2.1,[2001:db8::1]:{other}."
            return [Error(f"PANEL_{name}: {wrong[0]} is no IP address.", hint=hint, id="dnspanel.E014")]
    return []


@register(Tags.files, OWN)
def check_gateway_tls(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the gateway's TLS port, and that its certificate and key are readable and given together (E016)."""
    if not 0 <= settings.UPDATE_TLS_PORT <= 65535:
        hint = "Give a port, such as 853, or 0 to speak no TLS."
        return [Error("PANEL_UPDATE_TLS_PORT is no port.", hint=hint, id="dnspanel.E016")]
    files = settings.UPDATE_TLS_CERTIFICATE, settings.UPDATE_TLS_KEY
    if not settings.UPDATE_TLS_PORT or not any(files):
        return []
    if not all(files):
        hint = "Give both; or neither, and the panel makes its own."
        message = "Only one of PANEL_UPDATE_TLS_CERTIFICATE and PANEL_UPDATE_TLS_KEY is given."
        return [Error(message, hint=hint, id="dnspanel.E016")]
    if unreadable := [path for path in files if not os.access(path, os.R_OK)]:
        hint = (
            "Give PEM files that the panel's user may read: the certificate with what leads to its authority, the key."
        )
        message = f"PANEL_UPDATE_TLS_CERTIFICATE or PANEL_UPDATE_TLS_KEY: {unreadable[0]} cannot be read."
        return [Error(message, hint=hint, id="dnspanel.E016")]
    return []


@register(OWN)
def check_trust_anchors(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the trust anchors are DS records (E013). Otherwise every signed zone appears bogus."""
    wrong = [text for text in settings.TRUST_ANCHORS if not _is_trust_anchor(text)]
    if not wrong:
        return []
    hint = "Give DS records of the root with commas between them: key tag, algorithm, digest type 2 or 4, digest."
    message = f"PANEL_TRUST_ANCHORS: {wrong[0]} is not a DS record."
    return [Error(message, hint=hint, id="dnspanel.E013")]


@register(OWN)
def check_mail(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the mail settings.

    E009: the kind of TLS is invalid, so no mail can be sent. W003: the mail server's password is sent in clear text.
    """
    if settings.MAIL_TLS not in {"starttls", "tls", "no"}:
        hint = "starttls asks for TLS on an open connection (port 587), tls begins with it (465), no does without."
        message = f"PANEL_MAIL_TLS has to be starttls, tls or no, not {settings.MAIL_TLS!r}."
        return [Error(message, hint=hint, id="dnspanel.E009")]
    local = settings.EMAIL_HOST == "localhost" or is_loopback(settings.EMAIL_HOST)
    if settings.EMAIL_HOST and settings.EMAIL_HOST_PASSWORD and settings.MAIL_TLS == "no" and not local:
        message = "PANEL_MAIL_TLS is no: the password of the mail server can be read on the way."
        return [CheckWarning(message, hint="Set PANEL_MAIL_TLS to starttls or tls.", id="dnspanel.W003")]
    return []


@register(Tags.files, OWN)
def check_directories(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the publisher can write its directory for encoded data, or create it (E007)."""
    directory = Path(settings.PUBLISHER_DIR)
    there = next(path for path in (directory, *directory.parents) if path.exists())
    if there.is_dir() and os.access(there, os.W_OK | os.X_OK, effective_ids=True):
        return []
    hint = f"Make {there} a directory that the panel's user may write to, or set PANEL_VAR to another one."
    return [Error(f"{directory} cannot be written.", hint=hint, id="dnspanel.E007")]


def is_loopback(host: str) -> bool:
    """Return True if this address or name is always this machine's (RFC 6761 6.3)."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _is_trust_anchor(text: str) -> bool:
    numbers, digest = text.split()[:3], text.split()[3:]
    if len(numbers) != 3 or not all(number.isdecimal() and len(number) <= 5 for number in numbers):
        return False
    length = {2: 64, 4: 96}.get(int(numbers[2]))
    return len("".join(digest)) == length and all(character in hexdigits for character in "".join(digest))


def _is_name(text: str) -> bool:
    try:
        names.parse(text)
    except BadName:
        return False
    return "@" not in text
