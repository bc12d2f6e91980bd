"""Serializers and JSON for the progress of runs over many zones, shared by all kinds of runs in API v2."""

from dataclasses import asdict
from typing import Any

from rest_framework import serializers

from dnspanel.api.v2.schema.fields import Shape
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.models import ChangeRun, PolicyRun, RunState, TemplateRun
from dnspanel.zones.runs import run_turns


class TakenBackBatchSerializer(Shape):
    """A publication of a run that was taken back, because the canary could not serve it."""

    sequence = serializers.IntegerField(read_only=True)
    zones = serializers.IntegerField(read_only=True, help_text="Number of zones that it had changed.")
    reason = serializers.CharField(read_only=True, help_text="Reason why the canary could not serve it.")


class RunProgress(Shape):
    """The progress of a run."""

    id = serializers.IntegerField(read_only=True)
    state = serializers.ChoiceField(choices=RunState.choices, read_only=True)
    failure = serializers.CharField(read_only=True)
    zones_done = serializers.IntegerField(read_only=True)
    zones_total = serializers.IntegerField(read_only=True)
    last_sequence = serializers.IntegerField(read_only=True, help_text="Sequence of the last publication; 0: none.")
    taken_back = TakenBackBatchSerializer(
        many=True, read_only=True, help_text="Publications of the run that were taken back, with the reasons."
    )
    created_at = serializers.DateTimeField(read_only=True)
    ended_at = serializers.DateTimeField(read_only=True, allow_null=True)


def run_json(shape: type[RunProgress], run: PolicyRun | TemplateRun | ChangeRun, **members: Any) -> dict[str, Any]:
    """Return the JSON form of a run, with the fields of its serializer."""
    members["taken_back"] = [asdict(batch) for batch in run_turns.taken_back_of(run)]
    return row_json(shape, run, q=run.search, zones_done=run.done, zones_total=run.total, **members)


def what_stays(run: PolicyRun | TemplateRun | ChangeRun) -> dict[str, Any]:
    """Return the values that a run's ETag covers, without progress, so that an earlier ETag can cancel the run."""
    return {"id": run.pk, "ended": run.ended_at is not None}
