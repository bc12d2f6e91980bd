"""The form of the permission tester, and its verdicts."""

import pytest

from dnspanel.accounts.models import User
from dnspanel.web.access.rights_form import ExplainRightsForm
from tests.dnspanel.web.conftest import MakeZone


@pytest.mark.parametrize(
    ("typed", "name"),
    [("www", "www.example.test."), ("@", "example.test."), ("a.example.test.", "a.example.test."), ("", "")],
)
def test_a_name_may_be_relative_to_the_zone(make_zone: MakeZone, alice: User, typed: str, name: str) -> None:
    make_zone()
    form = ExplainRightsForm({"zone": "example.test", "name": typed, "type": ""}, reader=alice)
    assert form.is_valid(), form.errors
    assert (form.cleaned_data["name"], form.cleaned_data["type"]) == (name, 1)


def test_verdicts_say_what_gives_each_right(make_zone: MakeZone, alice: User, charlie: User) -> None:
    make_zone()
    form = ExplainRightsForm({"zone": "example.test"}, reader=alice)
    assert form.is_valid()
    verdicts = {verdict.description: verdict for verdict in form.verdicts(charlie)}
    assert verdicts["see records"].reasons == ("Reader role",)
    assert not verdicts["delete zones"].may
    assert "create zones" not in verdicts, "it is not about a zone that there is"
