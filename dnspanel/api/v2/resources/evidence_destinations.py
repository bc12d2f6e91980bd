"""API resources for audit log destinations. Callers need an administrator's token without limits."""

from contextlib import AbstractContextManager
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor
from dnspanel.api.v2.http.etag import conditional_write, tag_of
from dnspanel.api.v2.http.pages import page_by_id
from dnspanel.api.v2.http.problems import bad_value
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation, no_content
from dnspanel.api.v2.schema.fields import PAGED, Choice, Flag, OptionalText, Shape, Text, page_of, read
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.audit.forward import destinations as verbs
from dnspanel.audit.forward.destination_address import LONGEST_HEADERS
from dnspanel.audit.forward.destination_tls import LONGEST_PEM
from dnspanel.audit.forward.errors import NotSent
from dnspanel.audit.forward.models import Destination, Kind
from dnspanel.webhooks.address_guard import LONGEST_URL

_PLAIN = ("name", "address", "ca", "certificate")
_STATES = ("off", "failing", "behind", "working")


class EvidenceProgressSerializer(serializers.Serializer):
    """The progress of sending the audit log to a destination."""

    state = serializers.ChoiceField(choices=[(state, state) for state in _STATES])
    behind = serializers.IntegerField(help_text="Number of chain entries not confirmed.")
    sent_to = serializers.IntegerField(help_text="Number of the last chain entry up to which all are confirmed.")
    sent_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last delivery.")
    failing_since = serializers.DateTimeField(allow_null=True, help_text="Start of the failures; null: no failures.")
    failures = serializers.IntegerField(help_text="Number of failures since the last confirmation.")
    error = serializers.CharField(help_text="Reason why the last attempt failed.")
    rejected = serializers.CharField(help_text="Reason of the last refusal of entries.")
    rejected_at = serializers.DateTimeField(allow_null=True, help_text="Time of the last refusal.")


class EvidenceDestinationSerializer(Shape):
    """A destination of the audit log.

    `kind` cannot be changed later. The ETag does not cover `progress`.
    """

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=verbs.LONGEST_NAME)
    kind = Choice(choices=Kind.choices)
    address = Text(max_length=LONGEST_URL, help_text="`logs.example:6514` for syslog, a URL for OpenTelemetry.")
    ca = OptionalText(max_length=LONGEST_PEM, help_text="CA certificates (PEM); empty: the system's.")
    certificate = OptionalText(max_length=LONGEST_PEM, help_text="Client certificate of the panel (PEM).")
    key = OptionalText(
        max_length=LONGEST_PEM,
        write_only=True,
        help_text="Private key of the certificate. Never returned; if omitted, the stored key stays.",
    )
    headers = OptionalText(
        max_length=LONGEST_HEADERS,
        write_only=True,
        help_text="OpenTelemetry headers, as lines `Name: value`. Never returned; an empty text deletes them.",
    )
    from_beginning = Flag(default=False, write_only=True, help_text="Send the log from its first entry.")
    active = Flag(default=True, help_text="While it is off, entries wait.")
    has_key = serializers.BooleanField(read_only=True, help_text="Whether a private key is stored.")
    has_headers = serializers.BooleanField(read_only=True, help_text="Whether headers are stored.")
    created_at = serializers.DateTimeField(read_only=True)
    progress = EvidenceProgressSerializer(read_only=True)


class EvidenceTestSerializer(serializers.Serializer):
    """The result of a test message."""

    arrived = serializers.BooleanField(help_text="True if the destination accepted the message.")
    error = serializers.CharField(help_text="Reason of a failure; empty: none.")


class EvidenceDestinations(V2View):
    @api_operation("listEvidenceDestinations", page_of(EvidenceDestinationSerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List destinations of the audit log.

        A destination is a system that receives the audit log from the panel. The list shows the progress of each
        destination. Needs an administrator's token without limits.
        """
        verbs.require_operator(self.actor)
        return page_by_id(
            request, Destination.objects.all(), lambda found: [_json(row) for row in verbs.rows_of(found)]
        )

    @api_operation(
        "createEvidenceDestination", {201: EvidenceDestinationSerializer}, request=EvidenceDestinationSerializer
    )
    def post(self, request: Request) -> HttpResponse:
        """Create a destination of the audit log.

        The panel starts to send audit entries to the destination, either only new entries or the whole log from its
        beginning. Needs an administrator's token without limits.
        """
        now = timezone.now()
        verbs.require_operator(self.actor)
        values = read(EvidenceDestinationSerializer, request.data)
        terms = verbs.Terms(
            **{name: values[name] for name in _PLAIN},
            key=values["key"],
            headers=values["headers"],
            from_beginning=values["from_beginning"],
        )
        made = verbs.create_destination(kind=Kind(values["kind"]), terms=terms, by=self.actor, now=now)
        if not values["active"]:
            verbs.switch_destination(destination=made, active=False, by=self.actor, now=now)
        return _answer_row(verbs.destination_row(made.pk), 201, Location=f"{request.path}/{made.pk}")


class OneEvidenceDestination(V2View):
    @api_operation("getEvidenceDestination", EvidenceDestinationSerializer)
    def get(self, request: Request, destination_id: int) -> HttpResponse:
        """Read a destination of the audit log.

        Returns the destination's settings and progress, without secrets. Needs an administrator's token without limits.
        """
        return _answer_row(_row_to_change(request, destination_id)[1])

    @api_operation("changeEvidenceDestination", EvidenceDestinationSerializer, request=EvidenceDestinationSerializer)
    def patch(self, request: Request, destination_id: int) -> HttpResponse:
        """Change a destination of the audit log.

        Changes the destination's settings or secrets, or switches the destination on or off. Fields that the request
        body omits stay unchanged. The kind cannot be changed. Needs an administrator's token without limits.
        """
        actor, row = _row_to_change(request, destination_id)
        given, now = read(EvidenceDestinationSerializer, request.data, partial=True), timezone.now()
        if given.pop("kind", row.destination.kind) != row.destination.kind:
            raise bad_value("/kind", "The kind cannot change. Create another destination instead.")
        active = given.pop("active", None)
        with _guard_write(request, destination_id):
            destination = verbs.destination_row(destination_id).destination
            if given:
                terms = verbs.Terms(
                    **{name: given.get(name, getattr(destination, name)) for name in _PLAIN},
                    key=given.get("key", ""),
                    headers=given.get("headers", ""),
                    without_headers=given.get("headers") == "",
                    from_beginning=given.get("from_beginning", False),
                )
                verbs.change_destination(destination=destination, terms=terms, by=actor, now=now)
            if active is not None:
                verbs.switch_destination(destination=destination, active=active, by=actor, now=now)
        return _answer_row(verbs.destination_row(destination_id))

    @api_operation("deleteEvidenceDestination", {204: None})
    def delete(self, request: Request, destination_id: int) -> HttpResponse:
        """Delete a destination of the audit log.

        The panel stops sending to the destination. Entries that the other system has received stay there. Needs an
        administrator's token without limits.
        """
        actor, row = _row_to_change(request, destination_id)
        with _guard_write(request, destination_id):
            verbs.delete_destination(destination=row.destination, by=actor, now=timezone.now())
        return no_content()


class EvidenceDestinationTest(V2View):
    @api_operation("testEvidenceDestination", EvidenceTestSerializer, request=None)
    def post(self, request: Request, destination_id: int) -> HttpResponse:
        """Test a destination of the audit log.

        Sends one message with the action `evidence.test`, which is not part of the log. `arrived` is true if the
        message arrived. Needs an administrator's token without limits.
        """
        actor, row = _row_to_change(request, destination_id)
        try:
            verbs.try_destination(destination=row.destination, by=actor, clock=timezone.now)
        except NotSent as exc:
            return answer({"arrived": False, "error": str(exc)})
        return answer({"arrived": True, "error": ""})


def _settings_of(destination: Destination) -> dict[str, Any]:
    """Return the settings of a destination, without its secrets."""
    has = {"has_key": destination.key is not None, "has_headers": destination.headers is not None}
    value = row_json(EvidenceDestinationSerializer, destination, **has, progress=None)
    del value["progress"]
    return value


def _told_apart(destination: Destination) -> dict[str, Any]:
    """Return the values that a destination's ETag covers. `version` increases when a secret changes."""
    return {**_settings_of(destination), "version": destination.version}


def _json(row: verbs.DestinationRow) -> dict[str, Any]:
    destination = row.destination
    progress = row_json(EvidenceProgressSerializer, destination, state=row.word, behind=row.behind)
    return {**_settings_of(destination), "progress": progress}


def _answer_row(row: verbs.DestinationRow, status: int = 200, **headers: str) -> HttpResponse:
    return answer(_json(row), status, headers={"ETag": tag_of(_told_apart(row.destination)), **headers})


def _guard_write(request: Request, destination_id: int) -> AbstractContextManager[None]:
    return conditional_write(
        request,
        f"evidence-destination/{destination_id}",
        lambda: _told_apart(verbs.destination_row(destination_id).destination),
    )


def _row_to_change(request: Request, destination_id: int) -> tuple[Actor, verbs.DestinationRow]:
    """Return the caller and the destination. Raise DestinationUnknown for an unknown id.

    Raise Forbidden or AllRightsNeeded if the caller isn't allowed to manage destinations.
    """
    actor = actor_in(request)
    verbs.require_operator(actor)
    return actor, verbs.destination_row(destination_id)
