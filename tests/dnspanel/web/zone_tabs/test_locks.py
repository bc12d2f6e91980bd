"""Locks in a zone's settings tab, and their display next to locked records."""

from dnspanel.accounts.models import User
from dnspanel.zones.models import Lock, Zone
from dnspanel.zones.rights.locks import NO_MANAGER, add_lock, manager_of
from replication.dns import rdtypes
from tests.dnspanel.web.conftest import HTMX, Browser, MakeZone
from tests.people import NOW

LOCKS = "/zones/example.test./locks/"
TERRAFORM = "Managed by Terraform"
ROW = "name=www.example.test.&type=A"


def words(content: bytes) -> str:
    return " ".join(content.decode().split())


def lock(zone: Zone, author: User, name: str = "www.example.test.", *, by_author: bool = False) -> Lock:
    type_, manager = (rdtypes.A if name else None), (manager_of(author) if by_author else NO_MANAGER)
    return add_lock(zone=zone, name=name, type=type_, reason=TERRAFORM, manager=manager, author=author, now=NOW)


def test_a_lock_is_placed_seen_and_lifted(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    client = browser(bob)
    sent = {"name": "www", "type": "a", "reason": TERRAFORM, "who": "bob"}
    assert client.post(LOCKS, sent)["Location"] == LOCKS
    [placed] = Lock.objects.all()
    assert (placed.what, placed.manager, placed.placed_by) == ("www.example.test. A", "bob", bob)
    for url in (LOCKS, "/zones/example.test./settings/"):
        assert "www.example.test. A" in words(client.get(url).content)
    assert client.post(f"{LOCKS}{placed.pk}/lift/")["Location"] == LOCKS
    assert not Lock.objects.exists()
    page = words(client.post(f"{LOCKS}{placed.pk}/lift/", follow=True).content)
    assert "no longer exists" in page


def test_a_lock_that_cannot_be_keeps_what_was_typed(browser: Browser, make_zone: MakeZone, bob: User) -> None:
    make_zone("www 300 A 192.0.2.1")
    answer = browser(bob).post(LOCKS, {"name": "www", "type": "nothing", "reason": TERRAFORM, "who": "nobody-known"})
    assert answer.status_code == 422
    page = words(answer.content)
    assert "You don’t have access to a person or token with this name." in page
    assert 'value="nothing"' in page
    answer = browser(bob).post(LOCKS, {"name": "www.other.test.", "reason": TERRAFORM})
    assert "www.other.test. is not in example.test." in words(answer.content)
    assert not Lock.objects.exists()


def test_a_locked_row_says_so_and_offers_nothing(browser: Browser, make_zone: MakeZone, bob: User, alice: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1", "mail 300 A 192.0.2.2")
    lock(zone, bob, by_author=True)
    page = words(browser(alice).get("/zones/example.test./").content)
    assert f"Locked: {TERRAFORM}. Only bob can change this zone." in page
    assert f"/zones/example.test./rrset/?{ROW.replace('&', '&amp;')}" not in page
    assert "/zones/example.test./rrset/?name=mail.example.test.&amp;type=A" in page
    assert "Locked:" not in words(browser(bob).get("/zones/example.test./").content)
    answer = browser(alice).post(f"/zones/example.test./rrset/delete/?{ROW}", headers=HTMX)
    assert answer.status_code == 403
    assert TERRAFORM in answer.content.decode()


def test_a_locked_zone_says_so_once(browser: Browser, make_zone: MakeZone, bob: User, charlie: User) -> None:
    zone = make_zone("www 300 A 192.0.2.1")
    lock(zone, bob, "")
    page = words(browser(bob).get("/zones/example.test./").content)
    assert page.count(TERRAFORM) == 1
    assert "This zone is locked:" in page
    assert "This zone is locked:" not in words(browser(charlie).get("/zones/example.test./").content)
