"""The page of the keys that sign segments."""

import pytest
from django.urls import reverse
from django.utils import timezone

from dnspanel.accounts.models import AuditEntry, User
from dnspanel.fleet.models import Node
from dnspanel.publish.keys import segment_signing
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.web.conftest import HTMX, Browser

pytestmark = pytest.mark.usefixtures("live_redis")

KEYS = "/fleet/keys/"


def act(name: str) -> str:
    return reverse("node-keys-act", args=[name])


def test_a_rotation_step_by_step(active_node: MakeNode, browser: Browser, alice: User) -> None:
    node = active_node("ns1")
    old = segment_signing.ensure_signing_key(now=timezone.now())
    Node.objects.filter(pk=node.pk).update(report={"signing_keys": [bytes(old.public).hex()]})
    client = browser(alice)
    client.post(act("rotate"))
    page = client.get(KEYS).content.decode()
    assert "being sent to nodes" in page
    assert "missing: ns1" in page
    client.post(act("rotate"))
    assert "A new key is already being sent to the nodes" in client.get(KEYS).content.decode()
    client.post(act("use"))
    page = client.get(KEYS).content.decode()
    assert "former (still accepted)" in page
    client.post(act("retire"))
    page = client.get(KEYS).content.decode()
    assert segment_signing.short(old) not in page
    actions = AuditEntry.objects.filter(action__startswith="signing_key.").order_by("pk")
    assert [entry.action for entry in actions] == ["signing_key.rotate", "signing_key.use", "signing_key.retire"]
    assert client.post(act("explode")).status_code == 404


def test_who_may_not_change_keys_sees_them_all_the_same(browser: Browser, bob: User) -> None:
    client = browser(bob)
    page = client.get(KEYS).content.decode()
    assert "Only administrators can change keys." in page
    assert "in use" in page
    assert client.post(act("rotate")).status_code == 403
    assert client.get(KEYS, headers=HTMX).content.decode().lstrip().startswith('<div class="stack" id="keys"')
