"""Form fields check the syntax of values and convert them to canonical form."""

from uuid import uuid4

import pytest
from django.core.exceptions import ValidationError

from dnspanel.web.frame.forms import DeleteZoneForm
from dnspanel.web.frame.new_zone_forms import NewZoneForm
from dnspanel.web.frame.people_forms import InviteForm, WelcomeForm
from dnspanel.web.imports.source_forms import names_by_line
from tests.work import work_of

pytestmark = pytest.mark.django_db  # zone forms list teams

SERVERS = {"nameservers": "NS1.Example.net\nns1.example.net.\nns2.example.net", "hostmaster": "dns.team@example.net"}


def zone_form(**fields: str) -> NewZoneForm:
    return NewZoneForm({**SERVERS, "form_id": str(uuid4()), **fields}, author=None)


def test_names_become_canonical_and_single() -> None:
    form = zone_form(names=" Example.TEST \nexample.test.\n\nmünchen.test")
    assert form.is_valid()
    assert form.cleaned_data["names"] == ("example.test.", "xn--mnchen-3ya.test.")
    assert form.cleaned_data["nameservers"] == ("ns1.example.net.", "ns2.example.net.")


def test_a_mail_address_becomes_the_name_of_a_soa() -> None:
    form = zone_form(names="example.test")
    assert form.is_valid()
    soa, ns = form.cleaned_data["zones"][0].rrsets
    assert soa.rdata[0].startswith("ns1.example.net. dns\\.team.example.net. ")
    assert ns.rdata == ("ns1.example.net.", "ns2.example.net.")


def test_every_wrong_line_is_named() -> None:
    form = zone_form(names="ok.test\na..b\n" + "x" * 64 + ".test")
    assert not form.is_valid()
    assert [error.split(":")[0] for error in form.errors["names"]] == ["Line 2", "Line 3"]


def test_too_many_names_are_refused() -> None:
    assert (
        "Enter at most 1,000 zones" in zone_form(names="\n".join(f"z{n}.test" for n in range(1001))).errors["names"][0]
    )


def test_too_many_names_are_not_read() -> None:
    names = "a..b\n" * 60_000
    assert (
        work_of(zone_form(names=names).full_clean).steps < work_of(zone_form(names="a.test\n" * 500).full_clean).steps
    )
    assert zone_form(names=names).errors["names"] == ["Enter at most 1,000 zones, not 60,000."]


def test_too_many_zones_of_an_import_are_not_read() -> None:
    names = "a..b\n" * 1_000_000

    def refuse() -> None:
        with pytest.raises(ValidationError, match=r"at most 100,000 zones\. You entered 1,000,000"):
            names_by_line(names)

    assert work_of(refuse).steps < 1_500_000
    with pytest.raises(ValidationError) as refused:
        names_by_line("a..b\n" * 50_000)
    assert len(refused.value.messages) == 10


def test_a_form_without_its_id_publishes_nothing() -> None:
    assert not NewZoneForm({**SERVERS, "names": "example.test"}, author=None).is_valid()


@pytest.mark.parametrize("typed", ["example.test.", "EXAMPLE.test", " example.test "])
def test_the_typed_name_may_come_as_people_write_it(typed: str) -> None:
    assert DeleteZoneForm({"typed": typed, "form_id": str(uuid4())}, zone_name="example.test.").is_valid()


def test_another_name_deletes_nothing() -> None:
    form = DeleteZoneForm({"typed": "example.tes", "form_id": str(uuid4())}, zone_name="example.test.")
    assert form.errors["typed"] == ["Enter example.test. to confirm."]


def test_widgets_carry_the_design_and_say_that_they_are_wrong() -> None:
    form = InviteForm()
    assert 'class="select"' in str(form["role"])
    wrong = WelcomeForm({})
    assert wrong.errors
    assert 'aria-invalid="true"' in str(wrong["username"])
