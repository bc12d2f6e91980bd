"""Tests of the encryption of the second factors that django-allauth stores."""

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.test import override_settings

from dnspanel.accounts.models import Role, User
from dnspanel.accounts.sign_in.mfa_adapter import PanelMFAAdapter

OTHER_KEY = "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE="


@pytest.mark.django_db
def test_a_secret_is_read_with_the_master_key_alone() -> None:
    adapter = PanelMFAAdapter()
    stored = adapter.encrypt("JBSWY3DPEHPK3PXP")
    assert "JBSWY3DPEHPK3PXP" not in stored
    assert adapter.decrypt(stored) == "JBSWY3DPEHPK3PXP"
    with override_settings(MASTER_KEY=OTHER_KEY), pytest.raises(ImproperlyConfigured):
        adapter.decrypt(stored)


def test_an_app_names_the_panel_and_the_account() -> None:
    with override_settings(PANEL_URL="https://dns.example.net:8443"):
        url = PanelMFAAdapter().build_totp_url(User(username="bob", role=Role.EDITOR), "JBSWY3DPEHPK3PXP")
    assert url == "otpauth://totp/bob?secret=JBSWY3DPEHPK3PXP&issuer=dnspanel%20dns.example.net"
