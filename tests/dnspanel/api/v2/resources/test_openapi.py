"""Tests of the URL of the OpenAPI document: public, with this host's name, and cached by clients."""

from tests.dnspanel.api.callers import Caller, MakeApi

URL = "/api/v2/openapi.json"


def test_anybody_reads_it_and_it_names_the_host_that_was_asked(api: MakeApi) -> None:
    found = api(Caller.NOBODY).get(URL)
    assert found.status_code == 200
    assert found.json()["openapi"].startswith("3.1")
    assert found.json()["servers"] == [{"url": "http://testserver"}]


def test_who_has_it_gets_304(api: MakeApi) -> None:
    tag = api(Caller.NOBODY).get(URL).headers["ETag"]
    assert api(Caller.NOBODY).get(URL, headers={"If-None-Match": tag}).status_code == 304
