"""`/autoprimaries`: there are none, because zones come from people and programs, never from another server."""

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.api.v1.view import PowerdnsView, Refusal, answer, done, json_object, text_in


class Autoprimaries(PowerdnsView):
    """The empty list, to which nothing can be added."""

    def get(self, request: Request, server_id: str) -> HttpResponse:
        return answer([])

    def post(self, request: Request, server_id: str) -> HttpResponse:
        body = json_object(request)
        if not all([text_in(body, "nameserver"), text_in(body, "ip")]):
            raise Refusal(422, "ip and nameserver fields must be filled")
        raise Refusal(422, "This server takes no zones from other servers, so it has no autoprimaries")


class Autoprimary(PowerdnsView):
    """One of them: to delete it is to have what is so already."""

    def delete(self, request: Request, server_id: str, ip: str, nameserver: str) -> HttpResponse:
        return done()
