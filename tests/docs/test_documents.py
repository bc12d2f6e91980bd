"""Documents and code agree: names in documents exist in the code, and the code's important names are documented."""

import importlib
import inspect
import re
import tomllib
from pathlib import Path

import pytest
import yaml
from django.core.management import get_commands

from dnspanel.cli.commands import dnspanel as command_line
from dnspanel.conditions import kinds
from dnspanel.monitoring.metrics import exposition
from replication import stats
from replication.agent.agent_config import AgentConfig
from replication.agent.agent_metrics import MetricsServer
from replication.agent.powerdns.observe import Counters
from replication.errors import ReplicationError
from replication.version import BASE
from replication.wire.protocol import Status
from tests.deploy.exported import RULES, exported
from tests.docs import documents
from tests.docs.documents import DOCUMENTS, ROOT, TOP
from tests.faults.rows import ROWS
from tests.people import NOW

OPERATE, DEVELOP = ROOT / "docs" / "operate", ROOT / "docs" / "develop"
README_LINES, RELEASE_LINES, DOCUMENT_LINES = 120, 50, 600
TEMPLATE_LINE, TEMPLATE_LINES_PER_MILLE = 120, 10
PROMISED = ("LICENSE", "NOTICE", "CONTRIBUTING.md", "SECURITY.md")
LONGEST_LINE, LONGEST_TABLE_LINE = 160, 260

# Paths on a node, in a stack or in a user's home.
_ELSEWHERE = ("var/", "/", "~", "publisher/", "segments/", "$", "dist/", ".venv")
_NOT_PATHS = re.compile(r"[<>*{}…=?| ]|://|^\w+/\w+$|^\.\./")


def relative(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= README_LINES


def test_the_changelog_is_what_operators_read() -> None:
    """Each release has at most one screen of text; git has the details."""
    releases = (ROOT / "CHANGELOG.md").read_text().split("\n## [")
    assert max(len(release.splitlines()) for release in releases) <= RELEASE_LINES


def test_every_document_can_be_read_in_one_go() -> None:
    """Generated figures and configurations are in files next to the documents."""
    lines = {relative(path): len(path.read_text().splitlines()) for path in DOCUMENTS}
    assert {name: number for name, number in lines.items() if number > DOCUMENT_LINES} == {}


def test_a_stranger_finds_the_licence_and_how_to_report_and_contribute() -> None:
    assert [name for name in PROMISED if not (ROOT / name).exists()] == []
    for name in ("pyproject.toml", "deploy/agent/pyproject.toml"):
        project = tomllib.loads((ROOT / name).read_text())["project"]
        assert (project["license"], project["license-files"]) == ("Apache-2.0", ["LICENSE", "NOTICE"])
    assert "Apache License" in (ROOT / "LICENSE").read_text().splitlines()[1]


def test_templates_have_lines_that_a_person_reads() -> None:
    lines = [line for path in (ROOT / "templates").rglob("*.html") for line in path.read_text().splitlines()]
    long = sum(len(line) > TEMPLATE_LINE for line in lines)
    assert len(lines) > 1000
    assert long * 1000 <= TEMPLATE_LINES_PER_MILLE * len(lines)


def test_lines_are_readable() -> None:
    long = []
    for path in DOCUMENTS:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            limit = LONGEST_TABLE_LINE if line.startswith("|") else LONGEST_LINE
            if len(line) > limit:
                long.append(f"{relative(path)}:{number}: {len(line)}")
    assert long == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_link_leads_somewhere(path: Path) -> None:
    broken = []
    for file, anchor in documents.links(path):
        target = (path.parent / file).resolve() if file else path
        if not target.exists() or (anchor and anchor not in documents.anchors(target)):
            broken.append(f"{file}#{anchor}")
    assert broken == []


def test_every_document_is_reached_from_the_readme() -> None:
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        path = waiting.pop()
        if path in reached:
            continue
        reached.add(path)
        found = ((path.parent / file).resolve() for file, _ in documents.links(path) if file.endswith(".md"))
        waiting += [target for target in found if target.is_file()]
    assert [relative(path) for path in DOCUMENTS if path not in reached] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_path_that_is_named_exists(path: Path) -> None:
    named = [span for span in documents.code_spans(path) if _is_path(span)]
    places = (ROOT, path.parent)
    assert sorted({name for name in named if not any((place / name).exists() for place in places)}) == []


def _is_path(span: str) -> bool:
    """Return True if a code span names a file or folder of this repository."""
    if _NOT_PATHS.search(span) or span.startswith(_ELSEWHERE):
        return False
    first = span.split("/")[0]
    return "/" in span and (ROOT / first).exists()


def test_every_room_of_the_house_exists() -> None:
    """The table in house.md lists all folders of each package, in one row or several."""
    rows = re.findall(
        r"^\| `((?:dnspanel|replication)[\w/]*/)` \| (.+) \|$", (DEVELOP / "house.md").read_text(), re.MULTILINE
    )
    assert len({package for package, _ in rows}) > 4
    for package in {package for package, _ in rows}:
        cells = " ".join(cell for of, cell in rows if of == package)
        named = {name.rstrip("/") for name in re.findall(r"`(\w+/)`", cells)}
        folders = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
        assert named == folders - {"migrations", "management", "templatetags"}, package


def test_every_package_is_in_the_table_of_folders() -> None:
    text = documents.section(ROOT / "docs/architecture/overview.md", "The folders")
    packages = {relative(path.parent) + "/" for path in (ROOT / "dnspanel").glob("*/__init__.py")}
    assert sorted(package for package in packages if f"`{package}`" not in text) == []


def test_the_specification_names_modules_that_exist() -> None:
    spans = documents.code_spans(ROOT / "replication/README.md")
    named = {span for span in spans if span.endswith((".py", "/")) and not span.startswith("/")}
    assert len(named) > 8
    places = (ROOT / "replication", ROOT)
    assert sorted(name for name in named if not any((place / name).exists() for place in places)) == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=relative)
def test_every_name_of_the_code_exists(path: Path) -> None:
    named = {
        span.removesuffix("()")
        for span in documents.code_spans(path)
        if re.fullmatch(r"(dnspanel|replication|tests)(\.\w+)+(\(\))?", span)
    }
    assert sorted(name for name in named if not documents.has_name(name)) == []


def test_every_setting_has_its_line() -> None:
    text = (OPERATE / "settings.md").read_text()
    in_code = set(re.findall(r"PANEL_[A-Z0-9_]+", (ROOT / "dnspanel/settings.py").read_text()))
    in_tables = set(re.findall(r"^\| `(PANEL_[A-Z0-9_]+)`", text, re.MULTILINE))
    assert sorted(in_code - in_tables) == []
    files = " ".join((ROOT / name).read_text() for name in ("docker-compose.yml", "Procfile", "dnspanel/settings.py"))
    demo = " ".join(path.read_text() for path in (ROOT / "dnspanel/demo").rglob("*.py"))
    assert sorted(name for name in in_tables if name not in files + demo) == []


def test_every_secret_can_be_a_file_and_is_said_to() -> None:
    text = (OPERATE / "settings.md").read_text().partition("\n## ")[0]
    in_code = set(re.findall(r'envsecret\("(PANEL_[A-Z0-9_]+)"', (ROOT / "dnspanel/settings.py").read_text()))
    assert set(re.findall(r"`(PANEL_[A-Z0-9_]+)`", text)) == in_code


def test_every_setting_of_the_agent_has_its_line() -> None:
    in_table = set(re.findall(r"^\| `(\w+)` \|", documents.section(OPERATE / "nodes.md", "agent.toml"), re.MULTILINE))
    of_file = {name.removesuffix("_mib") for name in in_table}
    assert of_file == set(AgentConfig.__dataclass_fields__) - {"identity"}


def test_every_management_command_is_documented() -> None:
    ours = {name for name, app in get_commands().items() if str(app).startswith("dnspanel.")}
    text = documents.section(OPERATE / "install.md", "Management commands")
    named = set(re.findall(r"`(\w+)`", text))
    assert sorted(ours - named) == []


def test_every_verb_of_dev_is_documented() -> None:
    verbs = set(re.findall(r"^\./dev ([\w|]+)", (ROOT / "dev").read_text(), re.MULTILINE))
    spelled = {verb for verb_list in verbs for verb in verb_list.split("|")}
    named = set(re.findall(r"\./dev (\w+)", (DEVELOP / "testing.md").read_text()))
    assert len(spelled) > 8
    assert sorted(spelled - named) == []
    handled = set(re.findall(r"^([a-z][a-z |]*)\)$", (ROOT / "dev").read_text(), re.MULTILINE))
    known = {verb.strip() for verb_list in handled for verb in verb_list.split("|")}
    everywhere = {verb for path in DOCUMENTS for verb in re.findall(r"\./dev ([a-z]+)", path.read_text())}
    assert sorted(everywhere - known) == []


def test_every_command_of_the_command_line_is_documented() -> None:
    text = (ROOT / "docs/use/cli.md").read_text()
    missing = []
    for name, command in command_line.commands.items():
        for below in getattr(command, "commands", {"": None}):
            words = f"{name} {below}".strip()
            if f"`{words}`" not in text and f"`dnspanel {words}`" not in text:
                missing.append(words)
    assert missing == []


@pytest.mark.django_db
def test_every_metric_is_documented() -> None:
    status = Status("ns1", None, b"", b"", 4, "new", versions={"agent": "0", "lmdb": "0", "powerdns": "0"})
    counters = Counters(0, 0, 1, 5, 6, 1, 2, 3, 4, 1500, 1 << 20, {"NOERROR": 11})
    with MetricsServer(("127.0.0.1", 0), status=lambda: status, counters=lambda: counters) as server:
        there = exported(exposition(NOW).decode()) | exported(server.exposition().decode())
    there = {name.removesuffix("_total") for name in there}
    there |= {metric.name for metric in vars(stats).values() if isinstance(metric, stats.Counter | stats.Maximum)}
    named = set(re.findall(r"`(dnspanel_[a-z0-9_]+)`", (OPERATE / "monitoring.md").read_text()))
    assert sorted(there - named) == []
    assert sorted(named - there) == []


def test_every_alert_is_documented() -> None:
    named = set(re.findall(r"`((?:node|panel|secondary)\.\w+)`", (OPERATE / "monitoring.md").read_text()))
    assert named == set(kinds())
    assert len([rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"]]) > 20


def test_messages_of_troubleshooting_are_those_of_the_code() -> None:
    """Quotes equal the code's messages, with … in place of values."""
    strings = documents.strings_of_code()
    lines = re.findall(r"^\| (`.+?) \| ", (OPERATE / "troubleshooting.md").read_text(), re.MULTILINE)
    missing = []
    for message in (span for line in lines for span in re.findall(r"`([^`]+)`", line)):
        parts = [part.strip(" .,;:()%") for part in message.split("…")]
        if not any(len(part) > 4 for part in parts):
            missing.append(message)
        missing += [message for part in parts if part and not any(part in string for string in strings)]
    assert len(lines) > 60
    assert missing == []


# Texts in italics that other products display: Keycloak, Microsoft Entra, Okta.
_OF_OTHERS = {"Group Membership", "Full group path", "Token configuration", "Add groups claim", "Sync password"}


@pytest.mark.parametrize("folder", ["use", "operate"])
def test_what_readers_shall_press_or_see_is_shown(folder: str) -> None:
    """Manuals write buttons, tabs and messages in italics, with the product's exact texts."""
    pages = sorted((ROOT / "docs" / folder).rglob("*.md"))
    found = {(relative(path), text) for path in pages for text in documents.italics(path)}
    assert len(found) > 100
    assert sorted(each for each in found if each[1] not in _OF_OTHERS and not documents.is_displayed(each[1])) == []


def test_the_table_of_faults_is_that_of_the_tests() -> None:
    rows = re.findall(r"^\| (\d+) \| (.+?) \| (.+?) \|", (DEVELOP / "faults.md").read_text(), re.MULTILINE)
    assert rows == [(str(row.number), row.fault, row.outcome) for row in ROWS]


def test_every_benchmark_is_documented() -> None:
    there = {path.stem.removeprefix("bench_") for path in (ROOT / "tests/benchmarks").glob("bench_*.py")}
    named = set(re.findall(r"^## (\w+)$", (DEVELOP / "benchmarks.md").read_text(), re.MULTILINE))
    assert there - named == set()


def test_every_client_that_is_tested_is_documented() -> None:
    text = (DEVELOP / "clients.md").read_text()
    tests = [relative(path) for path in sorted((ROOT / "tests/clients").glob("test_*.py"))]
    assert [test for test in tests if test not in text] == []


def test_every_decision_is_listed_and_has_its_parts() -> None:
    index = (ROOT / "docs/adr/README.md").read_text()
    numbers = []
    for path in sorted((ROOT / "docs/adr").glob("0*.md")):
        text = path.read_text()
        numbers.append(int(path.name[:4]))
        assert f"({path.name})" in index, path.name
        for heading in ("Context", "Decision", "Consequences", "Measured"):
            assert f"\n## {heading}\n" in text, f"{path.name} lacks {heading}"
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_error_between_panel_and_node_is_explained() -> None:
    """A new error needs a documented explanation, or an entry here with the reason why users never see it."""
    bases, panels_own = {"Transient", "Permanent", "BadBytes"}, {"Gap", "NeedsSnapshot", "TooMuch", "Refused"}
    unseen = bases | panels_own | {"BadName", "NameOutside", "BadRdata", "BadRRset"}  # errors about typed values
    explained = {
        "NodeUnreachable": "no connection to",
        "NotServed": "wrong answer for",
        "Busy": "in use by another process",
        "DiskFull": "couldn’t be written",
        "Damaged": "the file is damaged",
        "BadSegment": "invalid segment",
        "BadSnapshot": "invalid snapshot",
        "BadSignature": "invalid signature",
        "WrongCluster": "belongs to cluster",
        "WrongEpoch": "has epoch",
        "UnknownSchema": "is not supported",
        "UnknownSealingKey": "doesn’t know sealing key",
        "Unfinished": "contains an incomplete snapshot",
        "Diverged": "has digest",
        "MapFull": "is full (map size",
        "NodeAhead": "the panel is only at",
        "WrongClock": "the node’s clock is",
    }
    text = (OPERATE / "troubleshooting.md").read_text()
    names = {kind.__name__ for kind in _below(ReplicationError) if kind.__module__ == "replication.errors"}
    assert sorted(names - unseen - set(explained)) == []
    assert [words for words in explained.values() if words not in text] == []


def _below(kind: type[ReplicationError]) -> set[type[ReplicationError]]:
    found = set(kind.__subclasses__())
    return found.union(*(_below(each) for each in found))


def test_the_version_stands_in_one_place_and_in_the_changelog() -> None:
    for name in ("pyproject.toml", "deploy/agent/pyproject.toml"):
        project = tomllib.loads((ROOT / name).read_text())
        assert project["project"]["dynamic"] == ["version"]
        assert project["tool"]["setuptools"]["dynamic"]["version"] == {"attr": "replication.__version__"}
    released = f"\n## [{BASE}] - " in (ROOT / "CHANGELOG.md").read_text()
    assert released or "\n## [Unreleased]\n" in (ROOT / "CHANGELOG.md").read_text()
    # All other code reads it from `replication.version`.
    names_it = re.compile(rf'"{re.escape(BASE)}"')
    code = [path for place in ("dnspanel", "replication", "deploy") for path in (ROOT / place).rglob("*.py")]
    assert [relative(path) for path in code if names_it.search(path.read_text())] == ["replication/version.py"]


def test_the_top_documents_exist() -> None:
    assert [name for name in TOP if not (ROOT / name).exists()] == []


def test_every_check_of_zones_is_explained() -> None:
    """The tables list exactly the codes that rules in the source can report."""
    before = (
        r"\b(?:error|warning|note)\(\s*rrset,\s*",
        r"(?:Severity\.[A-Z]+|\bseverity),\s*",
        r'"(?:error|warning|note)",\s*',
        r'return (?="target-)',
    )
    code = re.compile(rf'(?:{"|".join(before)})(?:"([a-z-]+)"|([A-Z_]+),)')
    of_values = ("rules.rules", "rules.target_rules", "rules.mail_rules", "rules.name_rules", "rules.value_rules")
    modules = (*of_values, "plan.plan", "plan.across_zones", "builders.zone_repairs", "publishing.zone_health")
    found = set()
    for name in modules:
        module = importlib.import_module(f"dnspanel.zones.{name}")
        for word, constant in code.findall(inspect.getsource(module)):
            found.add(word or getattr(module, constant))
    made = {f"{type}-single" for type in ("soa", "cname", "dname")} | {"soa-not-apex", "dnskey-not-apex"}
    rows = [line for line in (ROOT / "docs" / "use" / "checks.md").read_text().splitlines() if line.startswith("| `")]
    assert {word for row in rows for word in re.findall(r"`([a-z-]+)`", row.split("|")[1])} == found | made
