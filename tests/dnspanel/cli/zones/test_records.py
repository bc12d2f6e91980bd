"""Tests of `dnspanel records`.

Tests `cli.written` too.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

import pytest

from dnspanel.zones.models import Publication, RRset, Zone
from tests.dnspanel.cli.conftest import Run

ZONE = "example.test"


@pytest.fixture
def zone(run: Run) -> None:
    assert run("zones", "create", ZONE).code == 0


@pytest.mark.usefixtures("zone")
def test_records_are_set_added_removed_and_deleted(run: Run) -> None:
    def now(name: str, type_: str) -> list[tuple[int, list[str]]]:
        listed = run("records", "list", ZONE, "--name", name, "--type", type_, "--output", "json").json
        return [(rrset["ttl"], rrset["rdata"]) for rrset in listed]

    assert run("records", "set", ZONE, "www", "A", "192.0.2.1", "192.0.2.2", "--ttl", "300").code == 0
    assert now("www", "A") == [(300, ["192.0.2.1", "192.0.2.2"])]
    assert run("records", "set", ZONE, "www", "A", "192.0.2.3").code == 0
    assert now("www", "A") == [(300, ["192.0.2.3"])]  # the TTL stays
    assert run("records", "add", ZONE, "www", "A", "192.0.2.4").code == 0
    assert now("www", "A") == [(300, ["192.0.2.3", "192.0.2.4"])]
    assert run("records", "remove", ZONE, "www", "A", "192.0.2.3").code == 0
    assert now("www", "A") == [(300, ["192.0.2.4"])]
    assert run("records", "delete", ZONE, "www", "A").code == 0
    assert now("www", "A") == []
    assert run("records", "set", ZONE, "@", "MX", "10 mail.example.test.").code == 0
    assert now("@", "MX") == [(3600, ["10 mail.example.test."])]


@pytest.mark.usefixtures("zone")
def test_new_records_get_the_default_ttl_of_the_zone(run: Run) -> None:
    Zone.objects.filter(name="example.test.").update(default_ttl=120)
    run("records", "set", ZONE, "made", "A", "192.0.2.1")
    run("records", "add", ZONE, "added", "A", "192.0.2.1")
    listed = run("records", "list", ZONE, "--type", "A", "--output", "json").json
    found = {rrset["name"].split(".")[0]: rrset["ttl"] for rrset in listed}
    assert found == {"added": 120, "made": 120}


@pytest.mark.usefixtures("zone")
def test_the_table_has_a_line_for_each_record(run: Run) -> None:
    run("records", "set", ZONE, "www", "A", "192.0.2.1", "192.0.2.2", "--ttl", "300")
    lines = run("records", "list", ZONE, "-q", "192.0.2").out.splitlines()
    assert lines == [
        "NAME               TTL  TYPE  VALUE",
        "www.example.test.  300  A     192.0.2.1",
        "www.example.test.  300  A     192.0.2.2",
    ]


@pytest.mark.usefixtures("zone")
def test_a_dry_run_shows_the_difference_and_writes_nothing(run: Run) -> None:
    run("records", "set", ZONE, "www", "A", "192.0.2.1", "--ttl", "300")
    before = Publication.objects.count()
    looked = run("records", "set", ZONE, "www", "A", "192.0.2.7", "--ttl", "60", "--dry-run")
    assert looked.code == 0
    assert "- www.example.test. 300 A 192.0.2.1" in looked.out
    assert "+ www.example.test. 60 A 192.0.2.7" in looked.out
    assert "Nothing was written." in looked.err
    assert Publication.objects.count() == before
    plans = run("records", "delete", ZONE, "www", "A", "--dry-run", "--output", "json").json["plans"]
    assert [plan["removed"] for plan in plans] == [1]


@pytest.mark.usefixtures("zone")
def test_what_is_so_already_is_not_written_again(run: Run) -> None:
    run("records", "set", ZONE, "www", "A", "192.0.2.1")
    again = run("records", "set", ZONE, "www", "A", "192.0.2.1")
    assert (again.code, again.out, again.err) == (0, "Nothing to change.\n", "")
    assert Publication.objects.count() == 2


@pytest.mark.usefixtures("zone")
def test_records_are_noted_and_found_by_what_is_noted(run: Run) -> None:
    run("records", "set", ZONE, "www", "A", "192.0.2.1", "192.0.2.2")

    def noted() -> Any:
        [found] = run("records", "list", ZONE, "-q", "tag:shop", "--output", "json").json
        return found["comment"], found["tags"], found.get("value_comments")

    first = ("--tag", "shop", "--value-comment", "192.0.2.1", "first rack", "--comment", "web")
    assert run("records", "note", ZONE, "www", "A", *first).code == 0
    assert noted() == ("web", ["shop"], {"192.0.2.1": "first rack"})
    second = ("--value-comment", "192.0.2.1", "", "--value-comment", "192.0.2.2", "second")
    assert run("records", "note", ZONE, "www", "A", *second, "--reason", "moved racks").code == 0
    assert Publication.objects.latest("sequence").reason == "moved racks"
    assert noted() == ("web", ["shop"], {"192.0.2.2": "second"})
    assert run("records", "change", "-q", "tag:shop", "--add-tag", "x", "--add-tag", "y").code == 0
    assert run("records", "change", "-q", "tag:shop", "--remove-tag", "x").code == 0
    assert noted()[1] == ["shop", "y"]
    assert run("records", "note", ZONE, "www", "A").code == 2


@pytest.mark.usefixtures("zone")
def test_a_bad_value_is_refused_once(run: Run) -> None:
    refused = run("records", "set", ZONE, "www", "A", "192.0.2.300")
    assert refused.code == 1
    assert refused.err == "Error: 192.0.2.300 isn’t a valid IPv4 address (www A)\n"


def test_a_command_without_values_is_wrong_usage(run: Run) -> None:
    wrong = run("records", "set", ZONE, "www", "A")
    assert wrong.code == 2
    assert "Missing argument 'VALUE...'" in wrong.err


@pytest.mark.usefixtures("zone")
def test_records_that_are_added_at_the_same_time_are_all_there(run_apart: Run) -> None:
    with ThreadPoolExecutor(4) as pool:
        codes = list(
            pool.map(lambda n: run_apart("records", "add", ZONE, "www", "A", f"192.0.2.{n}").code, range(1, 5))
        )
    assert codes == [0] * 4
    [rrset] = RRset.objects.filter(name="www.example.test.", type=1)
    assert len(rrset.rdata) == 4


@pytest.fixture
def forgetful(live_server: Any) -> Iterator[str]:
    """Yield the URL of a proxy to the panel that loses the answer to the first write."""
    panel = urlsplit(live_server.url)
    lost: list[str] = []

    class Way(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            onward = HTTPConnection(panel.hostname or "", panel.port, timeout=20)
            onward.request("POST", self.path, body, {**dict(self.headers.items()), "Host": panel.netloc})
            answer = onward.getresponse()
            content = answer.read()
            onward.close()
            if not lost:
                lost.append(self.path)
                self.close_connection = True
                return
            self.send_response(answer.status)
            self.send_header("Content-Length", str(len(content)))
            if encoding := answer.headers["Content-Encoding"]:
                self.send_header("Content-Encoding", encoding)
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Way)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()
    assert lost


@pytest.mark.usefixtures("zone")
def test_a_write_whose_answer_was_lost_is_written_once(run: Run, forgetful: str) -> None:
    done = run("records", "add", ZONE, "www", "A", "192.0.2.1", "--output", "json", DNSPANEL_URL=forgetful)
    assert (done.code, done.err) == (0, "")
    assert done.json["publication"]["sequence"] == Publication.objects.count() == 2


@pytest.mark.usefixtures("zone")
def test_the_ptr_follows_if_told_to(run: Run) -> None:
    assert run("zones", "create", "2.0.192.in-addr.arpa").code == 0
    assert run("records", "set", ZONE, "www", "A", "192.0.2.1", "--ptr").code == 0
    listed = run("records", "list", "2.0.192.in-addr.arpa", "--type", "PTR", "--output", "json").json
    assert [rrset["rdata"] for rrset in listed] == [["www.example.test."]]
    assert run("records", "delete", ZONE, "www", "A", "--ptr").code == 0
    assert run("records", "list", "2.0.192.in-addr.arpa", "--type", "PTR", "--output", "json").json == []


def test_records_of_many_zones_are_changed_by_a_search(run: Run) -> None:
    for zone, address in ((ZONE, "192.0.2.1"), ("other.test", "192.0.2.2")):
        assert run("zones", "create", zone).code == 0
        assert run("records", "set", zone, "www", "A", address, "--ttl", "300").code == 0
    before = Publication.objects.count()
    preview = run("records", "change", "-q", "type:a ttl:300", "--set-ttl", "60", "--dry-run")
    assert preview.out.splitlines() == [
        "2 RRsets in 2 zones would change.",
        "- www.example.test. 300 A 192.0.2.1",
        "+ www.example.test. 60 A 192.0.2.1",
        "- www.other.test. 300 A 192.0.2.2",
        "+ www.other.test. 60 A 192.0.2.2",
    ]
    assert "Nothing was written." in preview.err
    assert Publication.objects.count() == before
    assert run("records", "change", "-q", "type:a ttl:300", "--set-ttl", "60").code == 0
    assert Publication.objects.count() == before + 1
    moved = run(
        *("records", "change", "--at", "other.test", "www", "A", "--find", "192.0.2.*", "--pattern"),
        *("--replace-with", "198.51.100.*"),
    )
    assert "Changed other.test (revision 4): 1 changed." in moved.out
    refused = run("records", "change", "-q", "type:a", "--set-value", "nonsense")
    assert refused.err.count("Skipped") == 2
    assert set(RRset.objects.filter(type=1).values_list("ttl", "rdata__0")) == {(60, "192.0.2.1"), (60, "198.51.100.2")}


@pytest.mark.parametrize(
    "options",
    [
        ["--set-ttl", "5"],
        ["-q", "x"],
        ["-q", "x", "--enable", "--disable"],
        ["-q", "x", "--find", "y"],
        ["-q", "x", "--pattern", "--enable"],
        ["-q", "x", "--at", "a", "b", "A", "--enable"],
    ],
    ids=" ".join,
)
def test_a_change_of_many_says_what_and_where_once(run: Run, options: list[str]) -> None:
    assert run("records", "change", *options).code == 2
