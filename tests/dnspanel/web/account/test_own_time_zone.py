"""The setting for a person's time zone, which the pages use."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from django.utils import timezone

from dnspanel.accounts.models import User
from dnspanel.zones.publishing.expiry import expiry_of
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import Browser, MakeZone


def test_times_are_shown_and_read_by_the_clock_of_who_reads(
    make_zone: MakeZone, browser: Browser, alice: User, bob: User
) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    assert "Etc/GMT" not in client.get("/account/time-zone/").content.decode()
    assert client.post("/account/time-zone/", {"time_zone": "Asia/Tokyo"})["Location"] == "/account/time-zone/"
    page = client.get("/account/time-zone/").content.decode()
    assert '<option value="Asia/Tokyo" selected>Asia/Tokyo</option>' in page
    assert f"{timezone.now().astimezone(ZoneInfo('Asia/Tokyo')):%Y-%m-%d %H:}" in page
    year = timezone.now().year + 1
    expiry = "/zones/example.test./rrset/expiry/?name=www.example.test.&type=A"
    assert "in your time zone, Asia/Tokyo" in client.get(expiry).content.decode()
    client.post(expiry, {"remove_at": f"{year}-03-01T05:00"})
    found = expiry_of(zone, ("www.example.test.", rdtypes.A))
    assert found is not None
    assert found.remove_at == datetime(year, 2, 28 if year % 4 else 29, 20, 0, tzinfo=UTC)
    assert f"The record will be removed on {year}-03-01 05:00 JST." in client.get(expiry).content.decode()
    # Another person in the same thread gets times in their time zone.
    assert "20:00 UTC" in browser(alice).get(expiry).content.decode()


def test_what_is_no_time_zone_is_refused_at_its_field(browser: Browser, bob: User) -> None:
    answer = browser(bob).post("/account/time-zone/", {"time_zone": "Mars/Base"})
    assert answer.status_code == 422
    assert "Mars/Base is not one of the available choices" in answer.content.decode()
    assert User.objects.get(pk=bob.pk).time_zone == "UTC"
