"""Tests of a lost master key: unreadable secrets are listed and removed, and the panel works again."""

import io
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.management import call_command

from dnspanel.accounts.models import AuditEntry
from dnspanel.accounts.secret_places import secret_places
from dnspanel.accounts.secrets.database_key import problem_with_key
from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.backup.lost_key import LOSSES, lost_secrets
from dnspanel.fleet.models import Authority, Node, NodeState
from dnspanel.fleet.nodes.authority import ensure_authority
from dnspanel.publish.encoding.encode import encode_step
from dnspanel.publish.keys.sealing_keys import sealing_key
from dnspanel.publish.keys.segment_signing import ensure_signing_key
from dnspanel.publish.models import SealingKey, Snapshot, Stall
from dnspanel.zones.acting import Acting
from dnspanel.zones.log.publish_hold import current_hold
from dnspanel.zones.models import Channel, LogHead, Signing
from dnspanel.zones.signing import sign
from tests.dnspanel.fleet.conftest import MakeNode
from tests.dnspanel.fleet.conftest import active_node as active_node
from tests.dnspanel.publish.conftest import publisher_directory as publisher_directory
from tests.dnspanel.zones.conftest import MakeZone
from tests.dnspanel.zones.conftest import make_zone as make_zone
from tests.docs.runbooks import command_lines_of
from tests.people import NOW
from tests.people import alice as alice

pytestmark = pytest.mark.django_db(transaction=True)


def listed(*arguments: str) -> str:
    out = io.StringIO()
    call_command("forget_lost_secrets", *arguments, stdout=out)
    return out.getvalue()


def test_the_commands_of_the_runbook_are_those_that_were_tried(make_zone: MakeZone, active_node: MakeNode) -> None:
    """The two PowerDNS commands run on a node. The tests of `database_key` test `check` with another key."""
    check, make, show, keys, key, clear, check_again, code = command_lines_of("lost-master-key")
    assert (check, check_again) == ("manage.py check", "manage.py check")
    assert make.startswith("python -c")
    assert (show, clear) == ("manage.py forget_lost_secrets", "manage.py forget_lost_secrets --clear")
    assert keys.startswith("pdnsutil list-keys")
    assert key.startswith("pdnsutil export-zone-key")
    active_node()
    out = io.StringIO()
    Node.objects.update(state=NodeState.AWAITING_APPROVAL, name="ns1")
    call_command(*code.split()[1:], stdout=out)
    assert out.getvalue().strip()


def test_every_place_says_what_becomes_of_its_secrets() -> None:
    assert set(LOSSES) == {str(place) for place in secret_places()}


def test_the_panel_publishes_again_under_a_new_key(make_zone: MakeZone, active_node: MakeNode, settings: Any) -> None:
    signed, plain = make_zone("www 300 A 192.0.2.1", name="signed.test."), make_zone("www 300 A 192.0.2.1")
    sign.sign(zones=[signed], acting=Acting(None, Channel.SYSTEM, NOW))
    ensure_signing_key(now=NOW)
    sealing_key(now=NOW)
    node, former = active_node(), ensure_authority(now=NOW)
    while encode_step(now=NOW):
        pass
    settings.MASTER_KEY = Fernet.generate_key().decode()
    before, epoch = listed(), LogHead.objects.get().epoch
    assert "fleet.Authority.ca_key_encrypted: 1 cannot be decrypted, would be deleted" in before
    assert "signed.test.: a private key is missing or cannot be decrypted" in before
    assert "Nothing was changed" in before
    assert "Cleared" in listed("--clear")
    assert problem_with_key() == ""
    assert list(lost_secrets()) == []
    assert current_hold() is None
    node.refresh_from_db()
    assert (node.state, node.pins) == (NodeState.AWAITING_APPROVAL, frozenset())
    assert not Signing.objects.get(zone=signed).is_signed
    while encode_step(now=NOW):
        pass
    head = LogHead.objects.get()
    assert head.epoch != epoch
    assert Snapshot.objects.filter(epoch=head.epoch, sequence=head.sequence).exists()
    assert not Stall.objects.exists()
    assert ensure_authority(now=NOW).ca_pem != former.ca_pem
    assert all(decrypt_secret(key.secret_encrypted) for key in SealingKey.objects.all())
    assert decrypt_secret(Authority.objects.get().ca_key_encrypted)
    assert "fleet.Authority.ca_key_encrypted" in AuditEntry.objects.get(action="master-key.lost").details["cleared"]
    assert plain.name not in before
    assert listed().endswith("Every secret can be decrypted.\n")
