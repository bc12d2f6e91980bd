"""Check the master key and the trusted proxies at startup. `dnspanel.checks` defines the ids and terms."""

from collections.abc import Sequence
from ipaddress import ip_network
from typing import Any

from cryptography.fernet import Fernet
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.core.checks import Warning as CheckWarning
from django.db import DatabaseError

from dnspanel.accounts.audit.request_origin import UNIX_SOCKET
from dnspanel.accounts.secrets.database_key import database_key, problem_with_key
from dnspanel.accounts.secrets.master_keys import fingerprint
from dnspanel.checks import OWN


@register(Tags.security, OWN)
def check_master_key(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Return an error (E001) unless PANEL_MASTER_KEY and the old keys are valid encryption keys."""
    found = (
        ("PANEL_MASTER_KEY", settings.MASTER_KEY),
        *(("PANEL_MASTER_KEY_OLD", key) for key in settings.MASTER_KEYS_OLD),
    )
    for name, key in found:
        try:
            Fernet(key)
        except (ValueError, TypeError):
            hint = 'Make one: python -c "from cryptography.fernet import Fernet; print(Fernet.generate_key().decode())"'
            return [Error(f"{name} is not a Fernet key.", hint=hint, id="dnspanel.E001")]
    return []


@register(Tags.security, OWN)
def check_database_key(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check that the configured master keys match the key that encrypts the database's secrets.

    E017: the secrets can't be decrypted. W004: a rotation is unfinished. W005: an old key can be removed.
    """
    if check_master_key(None):
        return []
    if problem := problem_with_key():
        return [Error(problem, id="dnspanel.E017")]
    if not settings.MASTER_KEYS_OLD:
        return []
    try:
        found = database_key()
    except DatabaseError:
        return []
    if found is None or found.former or found.fingerprint != fingerprint(settings.MASTER_KEY):
        message = "PANEL_MASTER_KEY_OLD is set: some secrets are still encrypted with a former master key."
        return [CheckWarning(message, hint="Run manage.py rotate_master_key.", id="dnspanel.W004")]
    message = "PANEL_MASTER_KEY_OLD is set, and no secret of this database needs it any more."
    hint = "Unset it, and keep that key with the backups that were made before the rotation."
    return [CheckWarning(message, hint=hint, id="dnspanel.W005")]


@register(Tags.security, OWN)
def check_trusted_proxies(app_configs: Sequence[Any] | None, **kwargs: Any) -> list[CheckMessage]:
    """Check the setting PANEL_TRUSTED_PROXIES.

    E008: an entry isn't a valid network. W002: PANEL_URL is https, but no proxy is listed, so that all clients appear
    to have the proxy's address.
    """
    for network in settings.TRUSTED_PROXIES:
        if network == UNIX_SOCKET:
            continue
        try:
            ip_network(network)
        except ValueError:
            hint = "Give addresses, networks or “unix” with commas between them, such as 127.0.0.1,10.0.0.0/24"
            return [Error(f"PANEL_TRUSTED_PROXIES: {network} is not a network.", hint=hint, id="dnspanel.E008")]
    if settings.PANEL_URL.startswith("https://") and not settings.TRUSTED_PROXIES:
        message = "PANEL_URL is https, so a proxy stands before the panel, and PANEL_TRUSTED_PROXIES names none."
        hint = "Name it: otherwise limits, the audit log and tokens bound to networks see the proxy's address only."
        return [CheckWarning(message, hint=hint, id="dnspanel.W002")]
    return []
