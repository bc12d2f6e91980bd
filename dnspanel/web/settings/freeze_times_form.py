"""The form for the times of a freeze, with pickers for common rules and RFC 5545 text for all others."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import date, datetime, tzinfo
from itertools import islice
from typing import Any
from zoneinfo import ZoneInfo

from django import forms
from django.utils import timezone
from django.utils.dates import WEEKDAYS
from django.utils.functional import Promise

from dnspanel.texts import gettext, gettext_lazy
from dnspanel.time_zones import UnknownTimeZone, offered_names, time_zone_named
from dnspanel.web.frame.forms import OwnClockField, PanelForm, mono_field, number_field
from dnspanel.zones.errors import RuleRefused
from dnspanel.zones.governance import freeze_times
from dnspanel.zones.governance.publish_rules import FreezeTimes, refuse_times
from dnspanel.zones.models import Freeze

MOST_DATES = 3
LAST = "-1"
RULE = "rule"  # a rule that only its text can express
Period = tuple[datetime, datetime]  # start and end
_DAYS = tuple(zip(freeze_times.DAYS, WEEKDAYS.values(), strict=True))
REPEATS: dict[str, str | Promise] = {
    "": gettext_lazy("Does not repeat"),
    "daily": gettext_lazy("Every day"),
    "weekly": gettext_lazy("Every week"),
    "day": gettext_lazy("Every month, on a day of the month"),
    "weekday": gettext_lazy("Every month, on a day of the week"),
    RULE: gettext_lazy("Advanced"),
}
_ORDINALS = (
    ("1", gettext_lazy("first")),
    ("2", gettext_lazy("second")),
    ("3", gettext_lazy("third")),
    ("4", gettext_lazy("fourth")),
    (LAST, gettext_lazy("last")),
)


_MONTH_DAYS = (*((str(day), str(day)) for day in range(1, 29)), (LAST, gettext_lazy("last day")))


@dataclass(frozen=True, slots=True)
class NextDates:
    """The next periods for a form's times, or the problem with the times. Both are empty for an incomplete form."""

    next: list[Period]
    problem: str = ""


class FreezeTimesForm(PanelForm):
    """A form for a freeze's first period, its repetition, and the time zone of both."""

    starts_at = OwnClockField(label=gettext_lazy("From"), help_text="")
    ends_at = OwnClockField(label=gettext_lazy("Until"), help_text="")
    time_zone = forms.ChoiceField(
        label=gettext_lazy("Time zone"),
        required=False,
        choices=lambda: [(name, name.replace("_", " ")) for name in offered_names()],
        initial=lambda: str(timezone.get_current_timezone()),
    )
    repeat = forms.ChoiceField(label=gettext_lazy("Repeat"), required=False, choices=[*REPEATS.items()])
    weekdays = forms.MultipleChoiceField(
        label=gettext_lazy("Weekdays"),
        required=False,
        choices=_DAYS,
        widget=forms.CheckboxSelectMultiple,
        help_text=gettext_lazy("If you choose none, the freeze repeats on the weekday when it starts."),
    )
    month_day = forms.ChoiceField(label=gettext_lazy("Day of the month"), required=False, choices=_MONTH_DAYS)
    ordinal = forms.ChoiceField(label=gettext_lazy("Occurrence in the month"), required=False, choices=_ORDINALS)
    weekday = forms.ChoiceField(label=gettext_lazy("Weekday"), required=False, choices=_DAYS)
    interval = number_field(
        gettext_lazy("Interval"),
        1,
        freeze_times.MOST_INTERVAL,
        gettext_lazy("Enter 2 for every second day, week or month."),
        initial=1,
    )
    last_day = forms.DateField(
        label=gettext_lazy("Repeat until"),
        required=False,
        widget=forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"),
    )
    repeats = mono_field(
        gettext_lazy("Repeat rule"),
        freeze_times.LONGEST_RULE,
        gettext_lazy(
            "Enter an RFC 5545 rule with FREQ (DAILY, WEEKLY, MONTHLY), INTERVAL, BYDAY, BYMONTHDAY or UNTIL."
        ),
        placeholder="FREQ=MONTHLY;BYMONTHDAY=1,15",
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        field: Any = self.fields["time_zone"]
        name = self["time_zone"].value() or ""
        self.place: tzinfo = timezone.get_current_timezone()
        with suppress(UnknownTimeZone):
            self.place = time_zone_named(name)
            if name not in offered_names():
                field.choices = [(name, name), *field.choices]

    def full_clean(self) -> None:
        """Validate the form. Times are interpreted in the chosen time zone."""
        with timezone.override(self.place):
            super().full_clean()

    def clean(self) -> dict[str, Any] | None:
        super().clean()
        if self.cleaned_data.get("repeat") == RULE and not self.cleaned_data.get("repeats"):
            self.add_error("repeats", gettext("Enter a repeat rule."))
        return self.cleaned_data

    @property
    def times(self) -> FreezeTimes:
        given = self.cleaned_data
        return FreezeTimes(given["starts_at"], given["ends_at"], _rule_of(given), str(self.place))

    @property
    def dates(self) -> NextDates:
        """The freeze's current and next periods, or the problem: invalid times, or no dates in the future."""
        if not (self.data.get("starts_at") and self.data.get("ends_at")):
            return NextDates([])
        faults = [fault for name in FreezeTimesForm.base_fields for fault in self.errors.get(name, ())]
        if faults:
            return NextDates([], str(faults[0]))
        now = timezone.now()
        try:
            refuse_times(self.times, now)
        except RuleRefused as exc:
            return NextDates([], str(exc))
        found = next_periods(Freeze(**asdict(self.times)), now)
        return NextDates(found, "" if found else gettext("The freeze has no dates in the future."))


def next_periods(freeze: Freeze, now: datetime) -> list[Period]:
    """Return a freeze's current and next periods, at most MOST_DATES."""
    return list(islice(freeze_times.periods(freeze, now), MOST_DATES))


def initial_times(freeze: Freeze) -> dict[str, Any]:
    """Return the form's initial values for a freeze."""
    place = ZoneInfo(freeze.time_zone)
    start, end = (at.astimezone(place).replace(tzinfo=None) for at in (freeze.starts_at, freeze.ends_at))
    return {"starts_at": start, "ends_at": end, "time_zone": freeze.time_zone, **pickers_of(freeze.repeats)}


def _rule_of(given: Mapping[str, Any]) -> str:
    """Return the repeat rule for the cleaned data of a form."""
    days = ",".join(given["weekdays"])
    rule = {
        "": "",
        RULE: str(given["repeats"]).strip().upper(),
        "daily": "FREQ=DAILY",
        "weekly": f"FREQ=WEEKLY;BYDAY={days}" if days else "FREQ=WEEKLY",
        "day": f"FREQ=MONTHLY;BYMONTHDAY={given['month_day'] or 1}",
        "weekday": f"FREQ=MONTHLY;BYDAY={given['ordinal'] or 1}{given['weekday'] or 'MO'}",
    }[given["repeat"]]
    if given["repeat"] in ("", RULE):
        return rule
    if (interval := given["interval"] or 1) > 1:
        rule += f";INTERVAL={interval}"
    until: date | None = given["last_day"]
    return f"{rule};UNTIL={until:%Y%m%d}" if until else rule


def pickers_of(repeats: str) -> dict[str, Any]:
    """Return the initial form values for a stored repeat rule, as text if the pickers can't express the rule."""
    parts = dict(part.split("=", 1) for part in repeats.split(";") if part)
    days, month_day, until = (parts.get(name, "") for name in ("BYDAY", "BYMONTHDAY", "UNTIL"))
    monthly = "day" if month_day else "weekday"
    ordinal = days[:-2] if days[:-2] in dict(_ORDINALS) else ""
    found = {
        "repeat": {"DAILY": "daily", "WEEKLY": "weekly", "MONTHLY": monthly}.get(parts.get("FREQ", ""), ""),
        "weekdays": days.split(",") if days and not ordinal else [],
        "month_day": month_day if month_day in dict(_MONTH_DAYS) else "",
        "ordinal": ordinal,
        "weekday": days[-2:],
        "interval": int(parts.get("INTERVAL", 1)),
        "last_day": date.fromisoformat(until) if until else None,
        "repeats": "",
    }
    is_same = set(_rule_of(found).split(";")) == set(repeats.split(";"))
    return found if is_same else {"repeat": RULE, "repeats": repeats}
