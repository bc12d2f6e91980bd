"""Process a hold: list the publications that only nodes have, then execute a person's decision. Verbs.

The steps run in the queue *system*. Beat starts a step every few seconds. If there is no hold, the step does nothing.
An advisory lock admits one worker at a time. If a worker is killed, its step is repeated.
"""

import logging
from datetime import datetime, timedelta

from django.db import DataError, IntegrityError

from dnspanel.advisory_locks import Lock, hold_lock
from dnspanel.fleet.integrity import unknown_history
from dnspanel.fleet.integrity.carry_out_epoch import carry_out
from dnspanel.fleet.integrity.unknown_history_report import make_report
from dnspanel.fleet.models import AheadReport
from dnspanel.texts import gettext
from dnspanel.zones.errors import ZoneError

# Nodes that did not answer are queried again after this time.
_AGAIN_AFTER = timedelta(seconds=15)

logger = logging.getLogger(__name__)


def step(*, now: datetime) -> str:
    """Take the next step of the current hold. Return a description for the log."""
    if unknown_history.report_of_hold(now=now) is None:
        return "nothing is held"
    with hold_lock(Lock.HOLD) as mine:
        report = unknown_history.report_of_hold(now=now) if mine else None
        if report is None:
            return "another worker is at it"
        if report.choice:
            return _carry_out(report, now)
        if report.ended_at is None and (not report.error or now - report.asked_at > _AGAIN_AFTER):
            AheadReport.objects.filter(pk=report.pk).update(asked_at=now)
            make_report(report=report, now=now)
            return "the nodes were asked"
        return "waits for a person"


def _carry_out(report: AheadReport, now: datetime) -> str:
    try:
        epoch = carry_out(report=report, now=now)
    except (ZoneError, IntegrityError, DataError) as exc:
        logger.exception("the decision of report=%s could not be carried out", report.pk)
        AheadReport.objects.filter(pk=report.pk).update(
            choice="",
            decided_at=None,
            error=gettext("The decision failed, and nothing was changed: {exc}").format(exc=exc),
        )
        return "the decision could not be carried out"
    return f"epoch {epoch.epoch} has begun"
