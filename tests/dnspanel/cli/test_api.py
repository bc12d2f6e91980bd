"""Tests of `dnspanel api`, which gives access to all of API v2."""

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from dnspanel.accounts.models import User
from dnspanel.accounts.people.teams import create_team
from dnspanel.zones.models import Zone
from tests.dnspanel.cli.conftest import Run
from tests.dnspanel.fleet.conftest import MakeNode, create_front
from tests.docs.documents import ROOT, section
from tests.docs.runbooks import BLOCK
from tests.people import NOW


def test_a_request_is_sent_and_its_answer_printed(run: Run) -> None:
    created = run("api", "POST", "/zones", "-f", "name=example.test", "-f", "reason=new")
    assert (created.code, created.err) == (0, "")
    assert created.json["zone"]["name"] == "example.test."
    for path in ("/zones/example.test.", "zones/example.test.", "/api/v2/zones/example.test."):
        assert run("api", "get", path).json["revision"] == 1, path
    changed = run("api", "PATCH", "/zones/example.test", "-f", "tags[]=shop", "-f", "tags[]=eu")
    assert changed.code == 0
    assert sorted(Zone.objects.get().tags) == ["eu", "shop"]


def test_the_body_can_be_a_file_or_standard_input(run: Run) -> None:
    body = json.dumps({"name": "a.test"})
    assert run("api", "POST", "/zones", "--input", "-", input=body).code == 0
    assert run("api", "POST", "/zones", "--input", "-", "-F", "wait=0", input='{"name": "b.test"}').code == 0
    assert set(Zone.objects.values_list("name", flat=True)) == {"a.test.", "b.test."}
    missing = run("api", "POST", "/zones", "--input", "/none")
    assert (missing.code, "/none cannot be read" in missing.err) == (2, True)


def test_fields_of_a_request_without_a_body_are_query_parameters(run: Run) -> None:
    for name in ("a.test", "b.test"):
        run("zones", "create", name)
    assert run("api", "GET", "/zones?limit=1", "-f", "q=b", "--query", "items[].name").out == "b.test.\n"
    run("api", "DELETE", "/zones/a.test", "-f", "reason=closed", "-F", "confirm=true")
    assert Zone.objects.exclude(deleted_at=None).get().name == "a.test."
    refused = run("api", "GET", "/zones", "-F", "q=[1]")
    assert (refused.code, "A query parameter is a text" in refused.err) == (2, True)


def test_all_pages_of_a_list_are_one_array(run: Run) -> None:
    for number in range(5):
        run("zones", "create", f"z{number}.test")
    pages = run("api", "GET", "/zones", "-F", "limit=2", "--paginate")
    assert [zone["name"] for zone in pages.json] == [f"z{number}.test." for number in range(5)]
    assert run("api", "GET", "/zones?limit=2", "--paginate", "--query", "length(@)").json == 5
    assert run("api", "POST", "/zones", "--paginate").code == 2


def test_a_query_prints_texts_as_lines_and_all_else_as_json(run: Run) -> None:
    run("zones", "create", "example.test")
    assert run("api", "GET", "/me", "--query", "user").out == "erin\n"
    assert run("api", "GET", "/zones", "--query", "items[].[name, revision]").json == [["example.test.", 1]]
    assert run("api", "GET", "/zones", "--query", "items[?name=='none'].name").out == ""
    wrong = run("api", "GET", "/zones", "--query", "items[")
    assert (wrong.code, "jmespath.org" in wrong.err) == (2, True)


def test_headers_are_sent_and_shown(run: Run) -> None:
    run("zones", "create", "example.test")
    displayed = run("api", "GET", "/zones/example.test", "--include").out
    assert displayed.startswith("HTTP 200\n")
    tag = next(line.partition(": ")[2] for line in displayed.splitlines() if line.startswith("ETag: "))
    stale = run("api", "PATCH", "/zones/example.test", "-F", "default_ttl=60", "-H", 'If-Match: "stale"')
    assert (stale.code, Zone.objects.get().default_ttl) == (1, None)
    assert run("api", "PATCH", "/zones/example.test", "-F", "default_ttl=60", "-H", f"if-match: {tag}").code == 0
    assert run("api", "GET", "/me", "-H", "nothing").code == 2


def test_a_refusal_has_exit_code_1_and_is_json_where_output_is(run: Run) -> None:
    refused = run("api", "GET", "/zones/none.test", "--output", "json")
    assert (refused.code, refused.out) == (1, "")
    assert json.loads(refused.err)["code"] == "not-found"


@pytest.mark.parametrize("path", ["https://other.test/zones", "//other.test/zones", "/zones#part"])
def test_the_token_goes_to_the_panel_alone(run: Run, path: str) -> None:
    refused = run("api", "GET", path)
    assert (refused.code, "is not a path below /api/v2" in refused.err) == (2, True)


PATHS = (
    *("/users", "/roles", "/approval-rules", "/freezes", "/grants", "/teams", "/publish-hooks", "/scim-directories"),
    *("/evidence-destinations", "/secondaries", "/transferred-zones", "/catalogs", "/produced-catalogs"),
)


@pytest.mark.parametrize("path", PATHS)
def test_what_has_no_command_of_its_own_is_reached(run: Run, administrator: str, path: str) -> None:
    assert run("api", "GET", path, "--paginate", token=administrator).code == 0


@pytest.fixture
def documentation_addresses(settings: Any) -> None:
    settings.SOURCE_NETWORKS = settings.SECONDARY_NETWORKS = ["192.0.2.0/24"]


# The sections of documents with commands for rare tasks.
SECTIONS = (
    ("use/cli.md", "Do rare tasks"),
    ("use/cli.md", "Set up other servers"),
    ("operate/catalogs.md", "Create your own catalog"),
    ("operate/scim.md", "Connect a directory"),
    ("operate/secondaries.md", "Without a key"),
    ("operate/fronts.md", "Set up a front"),
)


@pytest.mark.parametrize(("document", "heading"), SECTIONS)
@pytest.mark.usefixtures("documentation_addresses")
def test_the_documented_commands_do_rare_tasks(
    run: Run, administrator: str, erin: User, active_node: MakeNode, tmp_path: Path, document: str, heading: str
) -> None:
    for name in ("ns1", "ns2", "fra1"):
        active_node(name)
    create_front()
    team = create_team(name="Web", by=None, now=NOW).pk
    for name in ("example.com", "example.net", "example.org"):
        assert run("zones", "create", name).code == 0
        assert run("api", "PATCH", f"/zones/{name}", "-f", "tags[]=gold").code == 0
        assert run("records", "set", name, "www", "A", "192.0.2.1").code == 0
    secret = tmp_path / "key.txt"
    secret.write_text("c2l4dGVlbiBieXRlcyBub3c=\n")
    commands = commands_in(section(ROOT / "docs" / document, heading))
    assert commands
    for command in commands:
        line = re.sub(r'"\$\(date .*?\)"', "2030-01-31T18:00:00Z", command).replace("key.txt", str(secret))
        line = line.replace("user=7", f"user={erin.pk}").replace("team=3", f"team={team}").replace("/3/", f"/{team}/")
        program, *words = shlex.split(line)
        assert program == "dnspanel"
        done = run(*words, token=administrator)
        assert done.code == 0, (line, done.err)


def commands_in(text: str) -> list[str]:
    """Return the commands of the command line in these blocks of code."""
    lines = "\n".join(BLOCK.findall(text)).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip().startswith("dnspanel ")]


def test_a_person_is_invited(run: Run, administrator: str) -> None:
    invited = run("api", "POST", "/invitations", "-f", "role=editor", "--query", "link", token=administrator)
    assert (invited.code, "/welcome/" in invited.out) == (0, True)


def test_what_is_not_a_list_has_no_pages(run: Run) -> None:
    refused = run("api", "GET", "/me", "--paginate")
    assert (refused.code, "--paginate: the answer is not a list." in refused.err) == (2, True)
