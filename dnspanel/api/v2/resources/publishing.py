"""Publish the changes in a request with `zone_patches.publish_patches`.

The functions read the author, the reason and the publishing options from the request.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils import timezone
from rest_framework.request import Request

from dnspanel.api.v2.http.parameters import flag_in
from dnspanel.api.v2.http.view import actor_in, form_id_of, query_parameter
from dnspanel.api.v2.schema.fields import text_parameter
from dnspanel.api.v2.schema.parsing import Faults
from dnspanel.api.v2.schema.zone_serializers import MOST_REASON
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import Channel, Publication
from dnspanel.zones.publishing import pointers, zone_patches
from dnspanel.zones.publishing.zone_patches import Outcome, Patch

TERMS = (
    query_parameter("reason", "Reason for the change, shown in the history."),
    query_parameter("confirm", "Confirm a change that deletes many records.", bool),
    query_parameter("accept_warnings", "false: refuse the change if it causes warnings.", bool),
    query_parameter(
        "ptr",
        "Also change the PTR records of the changed addresses, in reverse zones that you can edit: add, "
        "replace or delete them.",
        bool,
    ),
)


@dataclass(frozen=True, slots=True)
class Terms:
    """The options for publishing. See `ChangeTermsSerializer`."""

    reason: str = ""
    confirm: bool = False
    accept_warnings: bool = True
    ptr: bool = False


def publish(request: Request, patches: Sequence[Patch], terms: Terms, *, in_pieces: bool = True) -> Outcome:
    """Publish these patches, at most once for each Idempotency-Key. Raise the same errors as `publish_patches`.

    If `in_pieces` is True, a large write takes several publications.
    """
    form_id = form_id_of(request)
    outcome = zone_patches.publish_patches(
        patches=all_patches(request, patches, terms),
        acting=Acting(actor_in(request), Channel.API, timezone.now(), terms.reason, form_id),
        accept_warnings=terms.accept_warnings,
        confirmed=terms.confirm,
        in_pieces=in_pieces,
    )
    if outcome.publication is None and form_id is not None:
        # Nothing to change, perhaps because an earlier attempt of this request has published the change.
        return Outcome(Publication.objects.filter(form_id=form_id).first(), outcome.plans)
    return outcome


def all_patches(request: Request, patches: Sequence[Patch], terms: Terms) -> Sequence[Patch]:
    """Return these patches, plus patches for their PTR records if `ptr` is set."""
    return pointers.with_pointers(author=actor_in(request), patches=patches) if terms.ptr else patches


def terms_in(body: Mapping[str, Any], faults: Faults) -> Terms:
    """Return the publishing options in a body. Add each error to `faults`."""
    reason = body.get("reason", "")
    if not isinstance(reason, str) or len(reason) > MOST_REASON:
        faults.at("/reason", f"`reason` must be a string of at most {MOST_REASON:,} characters.")
    for name in ("confirm", "accept_warnings", "ptr"):
        if not isinstance(body.get(name, False), bool):
            faults.at(f"/{name}", f"`{name}` must be true or false.")
    return Terms(reason, body.get("confirm", False), body.get("accept_warnings", True), body.get("ptr", False))


def terms_of_query(request: Request) -> Terms:
    """Return the query's publishing options, for writes whose body is the resource. Raise Problem if one is invalid."""
    reason = text_parameter(request.query_params, "reason", longest=MOST_REASON)
    return Terms(
        reason,
        flag_in(request, "confirm", default=False),
        flag_in(request, "accept_warnings", default=True),
        flag_in(request, "ptr", default=False),
    )
