"""`/autoprimaries`: an empty list, because a NOTIFY from another server never creates a zone."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import PowerdnsView, Refusal, answer, json_object, no_content, text_in


class Autoprimaries(PowerdnsView):
    """The list of autoprimaries. It is empty, and entries can't be added."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        return answer([])

    def post(self, request: Request, server_id: str) -> HttpResponse:
        body = json_object(request)
        if not all([text_in(body, "nameserver"), text_in(body, "ip")]):
            raise Refusal(422, "ip and nameserver fields must be filled")
        raise Refusal(
            422,
            "This server creates no zone because another server sends NOTIFY for it, so it has no autoprimaries: "
            "create a zone of kind Secondary with its masters, or one of kind Consumer, whose catalog (RFC 9432) "
            "brings its members",
        )


class Autoprimary(PowerdnsView):
    """One autoprimary. Deleting it always succeeds, because none exists."""

    def delete(self, request: Request, server_id: str, ip: str, nameserver: str) -> HttpResponse:
        return no_content()
