"""Publications that wait to be delivered."""

from datetime import timedelta
from typing import Any

from django.db.models import F
from django.utils import timezone

from dnspanel.alerts.alert_inputs import read
from dnspanel.alerts.models import Alert
from dnspanel.fleet.conditions.condition_inputs import FleetInputs
from dnspanel.fleet.models import Node
from dnspanel.fleet.reads.summary import fleet_summary
from dnspanel.monitoring.metrics import exposition
from dnspanel.zones.models import Publication


def look() -> Any:
    """Return the place where publications wait, the open alerts, the fleet's summary and the metrics."""
    now = timezone.now()
    waiting, pill = read(now).of(FleetInputs).waiting, fleet_summary(now=now)
    return {
        "place": (waiting.place, waiting.name, waiting.has_own_alert) if waiting else None,
        "alerts": {a.key: str(a.sentence) for a in Alert.objects.filter(over_at=None)},
        "pill": (pill.counts.in_sync, str(pill.message)),
        "metrics": exposition(now).decode(),
    }


def age(first: int, seconds: int) -> None:
    """Move publications and acknowledgments into the past by these seconds, without other changes."""
    before = timedelta(seconds=seconds)
    Publication.objects.filter(sequence__gte=first).update(at=F("at") - before)
    Node.objects.update(acked_at=F("acked_at") - before)
