"""The doctor's report of a real stack."""

import json
from typing import Any

from django.utils import timezone

from dnspanel.monitoring.doctor.diagnosis import diagnose


def report() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(diagnose(now=timezone.now()).to_json())
    return found
