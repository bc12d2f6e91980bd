"""Each request has an origin."""

from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from dnspanel.accounts import audit
from dnspanel.accounts.request_origin import RequestOriginMiddleware


def test_the_request_and_its_answer_have_one_id() -> None:
    seen: list[audit.Origin] = []

    def answer(request: HttpRequest) -> HttpResponse:
        seen.append(audit.origin())
        return HttpResponse()

    middleware = RequestOriginMiddleware(answer)
    request = RequestFactory().get("/", REMOTE_ADDR="192.0.2.7")
    first, second = middleware(request), middleware(request)
    assert [origin.address for origin in seen] == ["192.0.2.7"] * 2
    assert [first["X-Request-ID"], second["X-Request-ID"]] == [origin.request_id for origin in seen]
    assert first["X-Request-ID"] != second["X-Request-ID"]
    assert audit.origin() == audit.Origin()
