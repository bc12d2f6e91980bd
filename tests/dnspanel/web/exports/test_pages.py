"""Pages of exports."""

import csv
import gzip
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse

from dnspanel.accounts.models import Role, User
from dnspanel.transfer.exports import export_jobs
from dnspanel.transfer.exports.exported_zones import EVERYTHING
from dnspanel.transfer.exports.query_file import QueryOptions
from dnspanel.transfer.models import ExportJob
from dnspanel.web.exports import pages
from dnspanel.zones.acting import Acting
from dnspanel.zones.models import RunState, Zone
from dnspanel.zones.signing import sign
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

NAME = "example.test."
PASSPHRASE = "a long passphrase"
TWICE = {"keys_passphrase": PASSPHRASE, "keys_passphrase_again": PASSPHRASE}


@pytest.fixture(autouse=True)
def directory(tmp_path: Path, settings: Any) -> Path:
    settings.TRANSFER_DIR = tmp_path
    return tmp_path / "exports"


def file_of(response: Any) -> bytes:
    assert response.status_code == 200
    content = b"".join(response)
    assert int(response["Content-Length"]) == len(content)
    return content


def url(format: str, name: str = NAME) -> str:
    return reverse("zone-export-file", args=[name, format])


@pytest.mark.django_db
class TestOneZone:
    def test_the_zone_file_stands_on_the_page_to_be_copied(
        self, make_zone: MakeZone, browser: Browser, charlie: User
    ) -> None:
        make_zone("www 300 TXT <script>")
        page = browser(charlie).get(reverse("zone-export", args=[NAME])).content.decode()
        assert '<pre class="zone-file" id="zone-file"' in page
        assert "www 300 IN TXT &quot;&lt;script&gt;&quot;" in page
        assert 'data-copy="zone-file"' in page

    def test_a_long_zone_is_only_offered(
        self, make_zone: MakeZone, browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_zone("www 300 A 192.0.2.1")
        monkeypatch.setattr(pages, "LONGEST_PREVIEW", 2)
        page = browser(alice).get(reverse("zone-export", args=[NAME])).content.decode()
        assert "To see all of them, download the zone file" in page
        assert "<pre" not in page

    def test_the_zone_page_offers_every_format_to_every_reader(
        self, make_zone: MakeZone, browser: Browser, charlie: User
    ) -> None:
        make_zone("www 300 A 192.0.2.1")
        page = browser(charlie).get(reverse("zone-detail", args=[NAME])).content.decode()
        assert all(url(format) in page for format in ("bind", "json", "csv"))

    def test_a_zone_is_downloaded_in_each_format(self, make_zone: MakeZone, browser: Browser, charlie: User) -> None:
        make_zone("www 300 A 192.0.2.1")
        person = browser(charlie)
        bind = person.get(url("bind"))
        assert bind["Content-Disposition"] == 'attachment; filename="example.test.zone"'
        assert b"www 300 IN A 192.0.2.1\n" in file_of(bind)
        assert json.loads(file_of(person.get(url("json"))))["zone"] == NAME
        rows = csv.DictReader(io.StringIO(file_of(person.get(url("csv"))).decode(), newline=""))
        assert {row["type"] for row in rows} == {"SOA", "NS", "A"}

    def test_a_draft_is_not_in_the_file(self, make_zone: MakeZone, browser: Browser, alice: User) -> None:
        make_zone("www 300 A 192.0.2.1")
        person = browser(alice)
        person.post(reverse("zone-quick", args=[NAME]), {"line": "new A 192.0.2.9"})
        assert b"192.0.2.9" not in file_of(person.get(url("bind")))

    def test_a_file_name_is_legal_whatever_the_zone(self, make_zone: MakeZone, browser: Browser, alice: User) -> None:
        make_zone(name="0/25.2.0.192.in-addr.arpa.")
        response = browser(alice).get(url("bind", "0/25.2.0.192.in-addr.arpa."))
        assert response["Content-Disposition"] == 'attachment; filename="0=2F25.2.0.192.in-addr.arpa.zone"'
        file_of(response)

    def test_what_would_take_long_is_offered_as_a_job(
        self, make_zone: MakeZone, browser: Browser, alice: User, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        make_zone("www 300 A 192.0.2.1")
        monkeypatch.setattr(pages, "MOST_AT_ONCE", 2)
        response = browser(alice).get(url("json"))
        assert response["Location"] == f"/exports/?zone={NAME}&format=json"
        page = browser(alice).get(response["Location"]).content.decode()
        assert f'name="zone" value="{NAME}"' in page
        assert re.search(r'value="json" checked', page)

    def test_there_is_no_other_format(self, make_zone: MakeZone, browser: Browser, alice: User) -> None:
        make_zone()
        assert browser(alice).get(url("queries")).status_code == 404
        assert browser(alice).get(url("bind", "nothing.test.")).status_code == 404


@pytest.mark.django_db(transaction=True)
class TestJobs:
    @pytest.fixture(autouse=True)
    def zones(self, make_zone: MakeZone) -> None:
        make_zone("www 300 A 192.0.2.1", name="shop.test.")
        make_zone("www 300 A 192.0.2.2", name="other.test.")

    def test_the_search_of_the_list_leads_here(self, browser: Browser, charlie: User) -> None:
        person = browser(charlie)
        assert "/exports/?q=shop+test" in person.get("/zones/?q=shop test").content.decode()
        page = person.get("/exports/?q=shop").content.decode()
        assert 'value="shop"' in page
        assert "1 zone matches." in page

    def test_the_count_follows_the_typing(self, browser: Browser, charlie: User) -> None:
        headers = HTMX | {"HX-Target": "export-count"}
        assert b"2 zones match." in browser(charlie).get("/exports/?q=test", headers=headers).content
        assert b"0 zones match." in browser(charlie).get("/exports/?q=nothing", headers=headers).content

    def test_an_export_starts_runs_and_is_downloaded(self, browser: Browser, charlie: User) -> None:
        person = browser(charlie)
        response = person.post("/exports/", {"q": "shop", "format": "json"})
        job = ExportJob.objects.get()
        assert response["Location"] == f"/exports/{job.pk}/"
        assert "waiting for a worker" in person.get(response["Location"]).content.decode()
        export_jobs.run_export(job.pk)
        page = person.get(response["Location"]).content.decode()
        assert f"/exports/{job.pk}/file/" in page
        assert re.search(r'<div class="card" id="export-progress" ?>', page)  # not live: the export has ended
        download = person.get(f"/exports/{job.pk}/file/")
        assert download["Accept-Ranges"] == "bytes"
        assert json.loads(gzip.decompress(file_of(download)))["zone"] == "shop.test."
        assert f"/exports/{job.pk}/file/" in person.get("/exports/").content.decode()

    def test_a_query_file_has_its_options(self, browser: Browser, alice: User) -> None:
        browser(alice).post(
            "/exports/",
            {"format": "queries", "sample": "10", "random_percent": "50", "seed": "0", "each_zone_alike": "on"},
        )
        options = QueryOptions.from_json(ExportJob.objects.get().options)
        assert options == QueryOptions(sample=10, each_zone_alike=True, random_percent=50, seed=0)

    @pytest.mark.parametrize(
        ("fields", "message"),
        [
            ({"q": "nothing", "format": "json"}, "No zones match."),
            ({"format": "xml"}, "Select a valid choice"),
            ({"format": "queries", "random_percent": "96"}, "less than or equal to 95"),
            ({"format": "queries", "sample": "-1"}, "greater than or equal to 0"),
            ({"zone": "a..b", "format": "json"}, "empty label"),
            ({"format": "bind", **TWICE}, "Private keys can be exported only as JSON."),
            ({"format": "json", "keys_passphrase": PASSPHRASE}, "The passphrases don’t match."),
            ({"format": "json", "keys_passphrase": "short", "keys_passphrase_again": "short"}, "12 to 1,000"),
        ],
    )
    def test_a_refused_form_says_why(self, browser: Browser, alice: User, fields: dict[str, str], message: str) -> None:
        response = browser(alice).post("/exports/", fields)
        assert response.status_code == 422
        assert message in response.content.decode()
        assert PASSPHRASE not in response.content.decode()
        assert not ExportJob.objects.exists()

    def test_private_keys_go_along_sealed_for_who_may_have_them(self, browser: Browser, alice: User, bob: User) -> None:
        zone = Zone.objects.get(name="shop.test.")
        sign.sign(zones=[zone], acting=Acting(alice, "web", NOW))
        fields = {"format": "json", **TWICE}
        refused = browser(bob).post("/exports/", fields)
        assert refused.status_code == 422
        assert "You don’t have permission to read the private keys for the zone shop.test." in refused.content.decode()
        assert 'id="id_keys_passphrase_error"' in refused.content.decode()
        assert not ExportJob.objects.exists()
        started = browser(alice).post("/exports/", fields)
        job = ExportJob.objects.get()
        export_jobs.run_export(job.pk)
        page = browser(alice).get(started["Location"]).content.decode()
        assert "1 encrypted private key<" in " ".join(page.split())
        assert PASSPHRASE not in page
        lines = gzip.decompress(file_of(browser(alice).get(f"/exports/{job.pk}/file/"))).splitlines()
        assert ["sealed" in json.loads(line)["dnssec"]["keys"][0] for line in lines if b"dnssec" in line] == [True]
        User.objects.filter(pk=alice.pk).update(role=Role.EDITOR)
        assert browser(alice).get(f"/exports/{job.pk}/file/").status_code == 403

    def test_the_file_of_one_zone_has_no_private_keys(self, browser: Browser, alice: User) -> None:
        sign.sign(zones=[Zone.objects.get(name="shop.test.")], acting=Acting(alice, "web", NOW))
        zone = json.loads(file_of(browser(alice).get(url("json", "shop.test."))))
        assert list(zone["dnssec"]["keys"][0]) == ["flags", "algorithm", "active", "published", "dnskey"]

    def test_the_page_is_told_only_what_is_new(self, browser: Browser, alice: User) -> None:
        job = export_jobs.create_export(selection=EVERYTHING, export_format="json", author=alice, now=NOW)
        page = browser(alice).get(f"/exports/{job.pk}/").content.decode()
        again = re.search(r'id="export-progress" hx-get="([^"]+)"', page)
        assert again is not None
        assert browser(alice).get(again[1], headers=HTMX).status_code == 204
        ExportJob.objects.filter(pk=job.pk).update(state=RunState.RUNNING, zones_total=4, zones=1)
        fragment = browser(alice).get(again[1], headers=HTMX).content.decode()
        assert fragment.startswith('<div class="card" id="export-progress"')
        assert "25 %" in fragment

    def test_somebody_elses_export_is_unknown(self, browser: Browser, alice: User, bob: User) -> None:
        job = export_jobs.create_export(selection=EVERYTHING, export_format="json", author=bob, now=NOW)
        export_jobs.run_export(job.pk)
        person = browser(alice)
        for path in (f"/exports/{job.pk}/", f"/exports/{job.pk}/file/"):
            assert person.get(path).status_code == 404
        assert person.post(f"/exports/{job.pk}/cancel/").status_code == 404
        assert f"/exports/{job.pk}/" not in person.get("/exports/").content.decode()

    def test_an_export_is_cancelled_and_has_no_file(self, browser: Browser, alice: User) -> None:
        person = browser(alice)
        job = export_jobs.create_export(selection=EVERYTHING, export_format="json", author=alice, now=NOW)
        page = person.post(f"/exports/{job.pk}/cancel/", follow=True).content.decode()
        assert "Export cancelled." in page
        assert person.get(f"/exports/{job.pk}/file/").status_code == 404
        assert "has already ended" in person.post(f"/exports/{job.pk}/cancel/", follow=True).content.decode()

    def test_a_file_that_was_forgotten_is_said_to_be(self, browser: Browser, alice: User) -> None:
        person = browser(alice)
        job = export_jobs.create_export(selection=EVERYTHING, export_format="json", author=alice, now=NOW)
        export_jobs.run_export(job.pk)
        ExportJob.objects.filter(pk=job.pk).update(forgotten_at=NOW)
        assert "was deleted after 24 hours" in person.get(f"/exports/{job.pk}/").content.decode()
        assert person.get(f"/exports/{job.pk}/file/").status_code == 404

    def test_a_fourth_export_has_to_wait(self, browser: Browser, alice: User) -> None:
        for _ in range(export_jobs.MOST_UNFINISHED):
            export_jobs.create_export(selection=EVERYTHING, export_format="json", author=alice, now=NOW)
        response = browser(alice).post("/exports/", {"format": "json"})
        assert response.status_code == 422
        assert "unfinished exports" in response.content.decode()
