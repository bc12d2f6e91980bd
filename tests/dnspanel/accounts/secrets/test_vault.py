"""Tests of the encryption of stored secrets."""

from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.core.exceptions import ImproperlyConfigured

from dnspanel.accounts.secrets.vault import decrypt_secret, encrypt_secret

pytestmark = pytest.mark.django_db


def test_a_secret_comes_back_and_is_not_readable_meanwhile() -> None:
    token = encrypt_secret(b"secret")
    assert b"secret" not in token
    assert decrypt_secret(memoryview(token)) == b"secret"


def test_another_master_key_says_so(settings: Any) -> None:
    token = encrypt_secret(b"secret")
    settings.MASTER_KEY = Fernet.generate_key().decode()
    with pytest.raises(ImproperlyConfigured, match="PANEL_MASTER_KEY"):
        decrypt_secret(token)


def test_something_that_is_no_key_says_so(settings: Any) -> None:
    settings.MASTER_KEY = "short"
    with pytest.raises(ImproperlyConfigured, match="PANEL_MASTER_KEY"):
        encrypt_secret(b"secret")
