"""Tests of master key rotation: an interruption loses nothing, and the end reports which key can be removed."""

from typing import Any

import pytest
from cryptography.fernet import Fernet

from dnspanel.accounts import checks, secret_places
from dnspanel.accounts.errors import RotationRefused
from dnspanel.accounts.models import AuditEntry, MasterKey
from dnspanel.accounts.secrets.database_key import problem_with_key
from dnspanel.accounts.secrets.key_rotation import begin_rotation, end_rotation, rewrite
from dnspanel.accounts.secrets.master_keys import decrypts, fingerprint
from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret
from dnspanel.publish.models import SealingKey
from tests.people import NOW

pytestmark = pytest.mark.django_db
COUNT = 7


@pytest.fixture
def former(settings: Any) -> str:
    """Encrypt secrets and then set another PANEL_MASTER_KEY. Return the former key."""
    for number in range(COUNT):
        sealing = encrypt_secret(b"secret %d" % number)
        SealingKey.objects.create(pk=number + 1, secret_encrypted=sealing, created_at=NOW)
    former, settings.MASTER_KEY = str(settings.MASTER_KEY), Fernet.generate_key().decode()
    settings.MASTER_KEYS_OLD = [former]
    return former


def under(key: str) -> int:
    return sum(decrypts(key, bytes(row.secret_encrypted)) for row in SealingKey.objects.all())


def warnings() -> list[str]:
    return [str(message.id) for message in checks.check_database_key(None)]


def test_until_it_begins_processes_encrypt_with_the_former_key_that_all_others_still_have(former: str) -> None:
    assert decrypts(former, encrypt_secret(b"secret"))
    assert warnings() == ["dnspanel.W004"]


def test_it_rewrites_all_and_says_that_the_former_key_can_go(settings: Any, former: str) -> None:
    begin_rotation(now=NOW)
    assert decrypts(settings.MASTER_KEY, encrypt_secret(b"secret"))
    assert warnings() == ["dnspanel.W004"]
    assert sum(place.rewritten for place in rewrite()) == COUNT
    assert end_rotation(now=NOW, secrets=COUNT) == fingerprint(former)
    assert warnings() == ["dnspanel.W005"]
    settings.MASTER_KEYS_OLD = []
    assert warnings() == []
    assert [decrypt_secret(row.secret_encrypted) for row in SealingKey.objects.order_by("pk")] == [
        b"secret %d" % number for number in range(COUNT)
    ]
    entries = AuditEntry.objects.filter(action__startswith="master-key.").order_by("pk")
    assert [(entry.action, entry.target, entry.details["former"]) for entry in entries] == [
        ("master-key.rotate", fingerprint(settings.MASTER_KEY), fingerprint(former)),
        ("master-key.rotated", fingerprint(settings.MASTER_KEY), fingerprint(former)),
    ]


def test_one_that_is_interrupted_reads_both_keys_and_goes_on(
    settings: Any, former: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secret_places, "BATCH_ROWS", 2)
    begin_rotation(now=NOW)
    replaced = secret_places.SecretPlace.replace
    calls = 0

    def replace_three(*arguments: Any) -> bool:
        nonlocal calls
        calls += 1
        if calls > 3:
            raise KeyboardInterrupt
        return replaced(*arguments)

    monkeypatch.setattr(secret_places.SecretPlace, "replace", replace_three)
    with pytest.raises(KeyboardInterrupt):
        list(rewrite())
    monkeypatch.setattr(secret_places.SecretPlace, "replace", replaced)
    assert 0 < under(settings.MASTER_KEY) < COUNT
    assert all(decrypt_secret(row.secret_encrypted).startswith(b"secret") for row in SealingKey.objects.all())
    begin_rotation(now=NOW)
    list(rewrite())
    assert under(settings.MASTER_KEY) == COUNT
    assert AuditEntry.objects.filter(action="master-key.rotate").count() == 1


def test_without_the_former_key_nothing_starts_until_it_has_ended(settings: Any, former: str) -> None:
    begin_rotation(now=NOW)
    settings.MASTER_KEYS_OLD = []
    assert "A rotation of the master key has not ended" in problem_with_key()
    with pytest.raises(RotationRefused, match=fingerprint(former)):
        begin_rotation(now=NOW)


def test_a_third_key_waits_until_the_second_one_is_everywhere(settings: Any, former: str) -> None:
    begin_rotation(now=NOW)
    second, settings.MASTER_KEY = settings.MASTER_KEY, Fernet.generate_key().decode()
    settings.MASTER_KEYS_OLD = [former, second]
    with pytest.raises(RotationRefused, match="has not ended"):
        begin_rotation(now=NOW)


def test_a_secret_that_no_key_decrypts_is_counted_and_left(former: str) -> None:
    dead = Fernet(Fernet.generate_key()).encrypt(b"secret")
    SealingKey.objects.filter(pk=3).update(secret_encrypted=dead)
    begin_rotation(now=NOW)
    (place,) = [each for each in rewrite() if each.found]
    assert (place.found, place.rewritten, place.lost) == (COUNT, COUNT - 1, 1)
    assert bytes(SealingKey.objects.get(pk=3).secret_encrypted) == dead


def test_the_other_key_without_the_former_one_is_refused(settings: Any, former: str) -> None:
    settings.MASTER_KEYS_OLD = []
    with pytest.raises(RotationRefused, match="PANEL_MASTER_KEY_OLD"):
        begin_rotation(now=NOW)
    assert MasterKey.objects.get().fingerprint == fingerprint(former)
