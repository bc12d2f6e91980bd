"""What every test sees: static files as they are, quick passwords, and the `stack` fixture for whole-stack tests."""

import pytest
from django.conf import settings

from tests.stack import fresh_stack, stack

__all__ = ["fresh_stack", "stack"]


def pytest_configure(config: pytest.Config) -> None:
    # Nothing was collected here; and a slow password hash only costs time.
    settings.WHITENOISE_AUTOREFRESH = True
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
