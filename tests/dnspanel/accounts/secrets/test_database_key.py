"""Tests of the master key of a database: nothing is stored and no process starts with a different key."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.db import connection

from dnspanel.accounts import checks
from dnspanel.accounts.models import MasterKey
from dnspanel.accounts.secrets.database_key import database_key, problem_with_key
from dnspanel.accounts.secrets.master_keys import WrongMasterKey, fingerprint
from dnspanel.accounts.secrets.vault import encrypt_secret
from dnspanel.publish.models import SealingKey
from tests.people import NOW

pytestmark = pytest.mark.django_db
OTHER = Fernet.generate_key().decode()


def a_secret() -> None:
    SealingKey.objects.create(pk=1, secret_encrypted=encrypt_secret(b"secret"), created_at=NOW)


def test_a_migrated_database_has_the_key_of_its_panel(settings: Any) -> None:
    assert MasterKey.objects.get().fingerprint == fingerprint(settings.MASTER_KEY)
    assert settings.MASTER_KEY not in str(MasterKey.objects.values().get())
    assert problem_with_key() == ""


def test_no_secret_is_stored_under_another_key(settings: Any) -> None:
    encrypt_secret(b"a process that has encrypted before looks again")
    settings.MASTER_KEY = OTHER
    with pytest.raises(WrongMasterKey, match=f"fingerprint is {fingerprint(OTHER)}"):
        a_secret()


def test_the_check_says_that_the_key_is_another_one_and_what_to_do(settings: Any) -> None:
    (expected,) = MasterKey.objects.values_list("fingerprint", flat=True)
    settings.MASTER_KEY = OTHER
    (message,) = checks.check_database_key(None)
    assert message.id == "dnspanel.E017"
    assert f"the key of fingerprint {expected}" in message.msg
    assert "PANEL_MASTER_KEY_OLD" in message.msg
    assert "lost-master-key.md" in message.msg
    assert MasterKey.objects.get().fingerprint == expected


def test_a_database_from_before_adopts_the_key_that_decrypts_its_secrets(settings: Any) -> None:
    a_secret()
    MasterKey.objects.all().delete()
    known, settings.MASTER_KEY = settings.MASTER_KEY, OTHER
    assert "decrypts no secret of this database" in problem_with_key()
    assert database_key() is None
    settings.MASTER_KEYS_OLD = [known]
    assert problem_with_key() == ""
    assert MasterKey.objects.get().fingerprint == fingerprint(known)


def test_a_database_without_secrets_adopts_the_key_with_its_first_secret(settings: Any) -> None:
    MasterKey.objects.all().delete()
    settings.MASTER_KEY = OTHER
    a_secret()
    assert MasterKey.objects.get().fingerprint == fingerprint(OTHER)


def test_something_that_is_not_a_key_is_not_adopted(settings: Any) -> None:
    MasterKey.objects.all().delete()
    settings.MASTER_KEY = "short"
    with pytest.raises(Exception, match="PANEL_MASTER_KEY must be 32 bytes"):
        a_secret()
    assert database_key() is None


def test_a_database_without_tables_is_no_reason_to_stop() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE accounts_masterkey")
    assert problem_with_key() == ""
