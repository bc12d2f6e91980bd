"""`/zones/ID/metadata`: a zone's metadata, by kind."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v1 import kept_metadata, view
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access


class MetadataList(view.PowerdnsView):
    """All of a zone's metadata. A POST adds values."""

    def get(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        metadata = kept_metadata.metadata_of(view.zone_by_id(request, zone_id))
        return view.answer([_object(kind, values) for kind, values in sorted(metadata.items())])

    def post(self, request: Request, server_id: str, zone_id: str) -> HttpResponse:
        zone, body = view.zone_by_id(request, zone_id), view.json_object(request)
        kind = body.get("kind")
        _require_right(request, zone, kind)
        if not isinstance(kind, str):
            raise view.Refusal(422, "kind is not specified or not a string")
        _refuse_unwritable(kind)
        values = kept_metadata.add_metadata(
            zone=zone, kind=kind, values=_values_in(body), by=view.actor_in(request), now=timezone.now()
        )
        return view.answer(_object_with_warning(zone, kind, values), 201)


class Metadata(view.PowerdnsView):
    """The values of one kind of metadata, which can be replaced and deleted."""

    def get(self, request: Request, server_id: str, zone_id: str, metadata_kind: str) -> HttpResponse:
        zone = view.zone_by_id(request, zone_id)
        if not kept_metadata.is_readable(metadata_kind):
            raise _refusal_of_kind(metadata_kind)
        return view.answer(_object(metadata_kind, kept_metadata.metadata_of(zone).get(metadata_kind, [])))

    def put(self, request: Request, server_id: str, zone_id: str, metadata_kind: str) -> HttpResponse:
        zone = view.zone_by_id(request, zone_id)
        _require_right(request, zone, metadata_kind)
        body = view.json_object(request)
        _refuse_unwritable(metadata_kind)
        values = _values_in(body)
        kept_metadata.replace_metadata(
            zone=zone, kind=metadata_kind, values=values, by=view.actor_in(request), now=timezone.now()
        )
        return view.answer(_object_with_warning(zone, metadata_kind, values))

    def delete(self, request: Request, server_id: str, zone_id: str, metadata_kind: str) -> HttpResponse:
        zone = view.zone_by_id(request, zone_id)
        _require_right(request, zone, metadata_kind)
        _refuse_unwritable(metadata_kind)
        kept_metadata.replace_metadata(
            zone=zone, kind=metadata_kind, values=[], by=view.actor_in(request), now=timezone.now()
        )
        return view.no_content()


def _object(kind: str, values: Sequence[str]) -> dict[str, Any]:
    return {"kind": kind, "metadata": list(values), "type": "Metadata"}


def _require_right(request: Request, zone: Zone, kind: Any) -> None:
    """Raise RightMissing if the actor lacks `dnssec` (kinds that describe signing) or `settings` (other kinds)."""
    is_of_keys = isinstance(kind, str) and kind in kept_metadata.OF_KEYS
    access.require_right(view.actor_in(request), zone, Right.DNSSEC if is_of_keys else Right.SETTINGS)


def _object_with_warning(zone: Zone, kind: str, values: Sequence[str]) -> dict[str, Any]:
    """Return a kind's JSON object, with a warning if the kind has no effect."""
    warning = kept_metadata.warning_about(zone, kind, values)
    return _object(kind, values) | ({"warning": warning} if warning else {})


def _refuse_unwritable(kind: str) -> None:
    if not kept_metadata.is_writable(kind):
        raise _refusal_of_kind(kind)


def _refusal_of_kind(kind: str) -> view.Refusal:
    return view.Refusal(422, f"Unsupported metadata kind '{view.shorten_text(kind)}'")


def _values_in(body: Mapping[str, Any]) -> list[str]:
    values = body.get("metadata")
    if not isinstance(values, list):
        raise view.Refusal(422, "metadata is not specified or not an array")
    if not all(isinstance(value, str) for value in values):
        raise view.Refusal(422, "metadata must be strings")
    return values
