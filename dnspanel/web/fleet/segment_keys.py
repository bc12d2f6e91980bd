"""Views of the keys that sign segments, of key rotation, and of the panel's own certificates."""

from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from dnspanel.accounts.actors.actors import Permission, can
from dnspanel.fleet.nodes import node_keys as keys_of_nodes
from dnspanel.fleet.nodes.authority import authority_expires_at, client_expires_at, ensure_authority, fingerprint
from dnspanel.publish.errors import KeyRefused
from dnspanel.publish.keys.segment_signing import ensure_signing_key, new_key, short
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.layout import NOTHING_CHANGED, PanelRequest, is_fragment, reporting, say_done
from dnspanel.zones.rights import access


@require_safe
def node_keys(request: PanelRequest) -> HttpResponse:
    """List the valid signing keys, the nodes that lack each key, and the expiry of the panel's certificates.

    Create the certificate authority and the first signing key if they don't exist.
    """
    access.require(request.user, Permission.FLEET)
    authority = ensure_authority(now=timezone.now())
    current = ensure_signing_key(now=timezone.now())
    context: dict[str, Any] = {
        "keys": [
            {"acceptance": each, "short": short(each.key), "is_current": each.key == current}
            for each in keys_of_nodes.acceptance()
        ],
        "under_way": new_key(),
        "client_expires_at": client_expires_at(authority),
        "authority_expires_at": authority_expires_at(authority),
        "authority": fingerprint(authority),
        "may_change": can(request.user, Permission.NODES),
    }
    return render(request, "fleet/_keys.html" if is_fragment(request) else "fleet/keys.html", context)


@require_POST
def node_keys_act(request: PanelRequest, act: str) -> HttpResponse:
    """Create the next signing key, activate it even if some nodes don't have it, or retire the old keys."""
    if act not in _ACTS:
        raise Http404
    access.require(request.user, Permission.NODES)
    verb, message = _ACTS[act]
    with reporting(request, KeyRefused, text=NOTHING_CHANGED):
        done = verb(now=timezone.now(), by=request.user)
        say_done(request, message) if done else messages.error(request, gettext("No former keys to retire."))
    return redirect("node-keys")


_ACTS: dict[str, tuple[Any, str]] = {
    "rotate": (keys_of_nodes.rotate, gettext_lazy("New key created. It’s now being sent to the nodes.")),
    "use": (keys_of_nodes.force, gettext_lazy("The new key is now in use.")),
    "retire": (keys_of_nodes.retire_former, gettext_lazy("Former keys retired.")),
}
