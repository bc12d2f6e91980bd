"""A template filter that describes an action of the audit log in a sentence."""

from collections import defaultdict
from functools import lru_cache
from typing import Any

from django import template
from django.template.loader import render_to_string
from django.utils import translation

from dnspanel.accounts.models import AuditEntry
from dnspanel.texts import gettext, ngettext
from dnspanel.zones.audit.audit_chain import PUBLICATION
from dnspanel.zones.audit.audit_trail import MOST_NAMED, Act, acts_of_entries

register = template.Library()

# The names of these actions begin with the kind of the sign-in provider. The kinds share their sentences.
_PROVIDERS = ("ldap", "oidc", "saml")


@register.filter
def describe_act(act: Act | AuditEntry) -> str:
    """Describe an action in the reader's language, such as `bob published 3 changes of example.com.`"""
    if isinstance(act, AuditEntry):
        act = next(acts_of_entries([act]))
    who = act.user or (gettext("Someone") if act.address and act.kind != PUBLICATION else gettext("The panel"))
    if act.token:
        who = gettext("{username} (token: {purpose})").format(username=who, purpose=act.token)
    # The target can be any text, such as a name that a visitor typed to sign in.
    target = act.target.removesuffix(".") or "…"
    # An old entry can lack a value of its sentence.
    values = defaultdict(lambda: "…", act.details, who=who, target=target, action=act.action)
    return _pattern_of(act, values).format_map(values)


def _pattern_of(act: Act, values: dict[str, Any]) -> str:
    """Return the sentence with placeholders. For a publication in many zones, replace the target by their number."""
    if act.kind == PUBLICATION:
        zones = act.details["zones"]
        if zones > MOST_NAMED:
            values["target"] = ngettext("{zones:,} zone", "{zones:,} zones", zones).format(zones=zones)
        values["count"] = act.rrsets
    messages = _texts_in("access/act_messages.txt", translation.get_language())
    prefix, _, verb = act.action.partition(".")
    for name in (act.action, f"{act.action}.{act.revision_kind}", f"provider.{verb}" if prefix in _PROVIDERS else ""):
        if name in messages:
            return messages[name]
    if act.kind == PUBLICATION:
        return str(
            ngettext(
                "{who} published {count} change of {target}.",
                "{who} published {count} changes of {target}.",
                act.rrsets,
            )
        )
    return str(gettext("{who} performed the action {action}: {target}"))


@register.filter
def label_detail(name: str) -> str:
    """Return the label of a detail of an action in the reader's language, or its stored name if it has no label."""
    return _texts_in("access/act_fields.txt", translation.get_language()).get(name, name.replace("_", " "))


@lru_cache(maxsize=32)
def _texts_in(template_name: str, language: str | None) -> dict[str, str]:
    """Return the texts of a language by their keys, one in each line. It must be the active language."""
    lines = render_to_string(template_name).splitlines()
    return dict(line.split(" ", 1) for line in lines if line)
