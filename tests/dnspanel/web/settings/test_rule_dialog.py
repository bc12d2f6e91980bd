"""The dialog of a new rule, and an entry of the audit log that opens, in a real browser."""

import pytest
from playwright.sync_api import expect

from dnspanel.accounts.models import Team, User
from dnspanel.zones.models import ApprovalRule
from tests.dnspanel.web.conftest import MakeZone
from tests.dnspanel.web.editor.conftest import OpenPage
from tests.dnspanel.web.editor.conftest import chromium as chromium
from tests.dnspanel.web.editor.conftest import open_page as open_page
from tests.dnspanel.web.editor.conftest import with_an_event_loop as with_an_event_loop
from tests.dnspanel.zones.conftest import rr
from tests.people import NOW
from tests.publishing import change_rrsets

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def test_the_dialog_describes_the_rule_and_creates_it(open_page: OpenPage, alice: User) -> None:
    Team.objects.create(name="Ops", created_at=NOW)
    page = open_page(alice, "/settings/approvals/")
    dialog = page.locator("#new-rule")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="New approval rule").click()
    expect(dialog).to_be_visible()
    page.get_by_label("Tag").fill("mail")
    page.get_by_label("Required approvals").fill("2")
    page.get_by_label("Approver team").fill("Ops")
    message = "Changes in zones tagged mail need 2 approvals from members of Ops."
    expect(dialog.locator("#rule-preview")).to_contain_text(message)
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.get_by_role("link", name="New approval rule").click()
    page.get_by_label("Why").fill("Four eyes")
    page.get_by_role("button", name="Create approval rule").click()
    expect(page.locator("table")).to_contain_text(message)
    assert ApprovalRule.objects.get().tag == "mail"


def test_a_rejected_rule_opens_the_dialog_again(open_page: OpenPage, alice: User) -> None:
    page = open_page(alice, "/settings/approvals/?new=1")
    page.get_by_label("Why").fill("Four eyes")
    page.get_by_role("button", name="Create approval rule").click()
    expect(page.locator("#new-rule:modal")).to_contain_text("Choose one of these options.")


def test_a_publication_in_the_audit_log_opens_to_its_diff(
    open_page: OpenPage, make_zone: MakeZone, alice: User
) -> None:
    zone, rrset = make_zone(), rr("www 60 A 192.0.2.99")
    change_rrsets(zone=zone, changes={(rrset.name, rrset.type): rrset}, author=alice, channel="web", now=NOW)
    page = open_page(alice, "/audit/?q=action:publish")
    page.get_by_text("alice published 1 change of example.test.").click()
    expect(page.locator("#act-rrsets")).to_contain_text("192.0.2.99")
