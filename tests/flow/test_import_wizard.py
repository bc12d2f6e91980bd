"""The import wizard in Chromium: chunked upload, choices, dry run, import, corrections and undo."""

import io
import re
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from dnspanel.demo.stack import Stack
from tests.browser import Person, chromium, person
from tests.stack import ask_all, make_person, until

__all__ = ["chromium"]

pytestmark = [pytest.mark.flow, pytest.mark.browser]

HEAD = "$TTL 3600\n@ SOA ns1.example.net. hostmaster.example.net. 1 10800 3600 604800 3600\n@ NS ns1.example.net.\n"
ZONES = 30
SECONDS = 30.0


def zone(name: str, *lines: str) -> str:
    return "\n".join([f"$ORIGIN {name}.", HEAD, *lines, ""])


@pytest.fixture
def files() -> dict[str, str]:
    """Return thirty valid zones, and one with two faults. A fix is known for one of the faults."""
    good = {f"zones/shop-{n:02}.test.zone": zone(f"shop-{n:02}.test", "www 300 A 192.0.2.1") for n in range(ZONES)}
    return {**good, "zones/bad.test.zone": zone("bad.test", "www 300 A 192.0.2.300", "@ MX mail.example.net.")}


@pytest.fixture
def archive(files: dict[str, str], tmp_path: Path) -> Path:
    path = tmp_path / "estate.tar.gz"
    with tarfile.open(path, "w:gz") as tar:
        for name, text in files.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(text.encode())
            tar.addfile(entry, io.BytesIO(text.encode()))
    return path


@pytest.fixture(scope="module")
def password(stack: Stack) -> str:
    return make_person(stack, "ines", role="editor")


@pytest.fixture
def ines(chromium: Browser, stack: Stack, password: str) -> Iterator[Person]:
    with person(chromium, stack) as someone:
        someone.signs_in("ines", password)
        yield someone


def sends_in_chunks_of(page: Page, size: int) -> None:
    page.locator("form[data-upload]").evaluate("(form, size) => { form.dataset.chunk = size }", str(size))


def applies(page: Page, zones: str) -> None:
    """Run the dry run and the import, and wait for the report."""
    page.get_by_role("button", name="Start dry run").click()
    page.get_by_role("button", name=f"Apply to {zones}").click(timeout=SECONDS * 1000)
    expect(page.locator("#report-title")).to_have_text("Done", timeout=SECONDS * 1000)


def test_an_estate_goes_through_every_step_and_back(ines: Person, stack: Stack, archive: Path) -> None:
    page = ines.page
    page.keyboard.press("g")
    page.keyboard.press("i")
    expect(page.get_by_role("heading", name="Imports", exact=True)).to_be_visible()
    page.get_by_role("link", name=re.compile("New import|^Files")).first.click()
    page.set_input_files("#import-files", archive)
    sends_in_chunks_of(page, 100)
    page.get_by_role("button", name="Upload and scan").click()

    expect(page.locator("#scan-title")).to_be_visible(timeout=SECONDS * 1000)
    expect(page.get_by_role("heading", name="estate.tar.gz")).to_be_visible()
    page.get_by_label("Action for shop-03.test.").select_option("skip")
    expect(page.locator("tr", has_text="shop-03.test.").locator(".badge").first).to_have_text("skip")
    applies(page, f"{ZONES - 1} zones")
    until(
        lambda: all(answer.rdata == ("192.0.2.1",) for answer in ask_all(stack, "www.shop-07.test.")),
        seconds=SECONDS,
        what="www.shop-07.test. at every node",
    )
    expect(page.locator("#import-reach")).to_contain_text("3 nodes", timeout=SECONDS * 1000)
    address = page.url

    page.get_by_role("link", name="Fix and retry (1)").click()
    page.get_by_role("button", name="Use suggestion").click()
    text = page.locator("textarea.fix-text")
    expect(text).to_have_value(re.compile("MX 10 mail"))
    text.fill(text.input_value().replace("192.0.2.300", "192.0.2.30"))
    page.get_by_role("button", name="Retry selected zones").click()
    expect(page.locator("#scan-title")).to_be_visible(timeout=SECONDS * 1000)
    applies(page, "1 zone")
    expect(page.locator(".big-number")).to_contain_text("1 zone published")

    page.goto(address)
    page.get_by_role("link", name="Undo import…").click()
    page.get_by_label(re.compile("^Type")).fill(f"undo {ZONES - 1}")
    page.get_by_role("button", name=f"Undo {ZONES - 1} zones").click()
    expect(page.locator(".big-number")).to_contain_text(f"{ZONES - 1} of {ZONES - 1} zones", timeout=SECONDS * 1000)
    until(
        lambda: all(answer.rcode != "NOERROR" for answer in ask_all(stack, "www.shop-07.test.")),
        seconds=SECONDS,
        what="www.shop-07.test. gone from every node",
    )


def test_an_upload_goes_on_after_a_lost_connection_and_a_reload(ines: Person, archive: Path) -> None:
    page = ines.page
    lost: list[str] = []

    def lose_one(route: Route) -> None:
        """Abort the third chunk's request, so that the chunk never arrives."""
        if route.request.method == "POST" and len(lost) < 1 and "offset=200" in route.request.url:
            lost.append(route.request.url)
            return route.abort("connectionreset")
        return route.continue_()

    page.route("**/upload/**", lose_one)
    ines.goes_to("/imports/new/files/")
    page.set_input_files("#import-files", archive)
    sends_in_chunks_of(page, 100)
    page.get_by_role("button", name="Upload and scan").click()
    expect(page.locator("#scan-title")).to_be_visible(timeout=SECONDS * 1000)
    assert len(lost) == 1
    ines.complaints = [line for line in ines.complaints if "ERR_CONNECTION_RESET" not in line]
    page.get_by_role("button", name="Cancel import").click()

    ines.goes_to("/imports/new/files/")
    page.set_input_files("#import-files", archive)
    sends_in_chunks_of(page, 150)
    page.unroute("**/upload/**")
    page.route("**/uploaded/", lambda route: route.abort("connectionreset"))  # only the final request is lost
    page.get_by_role("button", name="Upload and scan").click()
    expect(page.locator(".upload-list .is-done")).to_have_count(1, timeout=SECONDS * 1000)
    page.on("dialog", lambda dialog: dialog.accept())
    page.reload()
    page.unroute("**/uploaded/")
    expect(page.get_by_role("heading", name="Resume upload")).to_be_visible()
    page.set_input_files("#import-files", archive)
    page.get_by_role("button", name="Upload and scan").click()
    expect(page.locator("#scan-title")).to_be_visible(timeout=SECONDS * 1000)
    ines.complaints = [line for line in ines.complaints if "ERR_CONNECTION_RESET" not in line]


def test_a_directory_travels_as_one_tar(ines: Person, files: dict[str, str], tmp_path: Path) -> None:
    for name, text in files.items():
        path = tmp_path / "estate" / name.replace("zones/", "a-rather-long-name-of-a-directory/" * 3)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    page = ines.page
    ines.goes_to("/imports/new/files/")
    page.set_input_files("#import-directory", tmp_path / "estate")
    expect(page.locator(".upload-list")).to_contain_text(f"{len(files)} files")
    page.get_by_role("button", name="Upload and scan").click()
    expect(page.locator("#scan-title")).to_be_visible(timeout=SECONDS * 1000)
    expect(page.locator(".facts").first).to_contain_text(str(len(files)))
