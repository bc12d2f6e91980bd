"""Base classes for forms in the panel's design, and forms for zones and recovery decisions. Forms never save."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID, uuid4

from django import forms
from django.utils import timezone
from django.utils.functional import lazy

from dnspanel.accounts.actors.actors import Author, Right
from dnspanel.accounts.models import Team
from dnspanel.field_faults import FieldsRefused
from dnspanel.fleet.integrity.unknown_history import TYPED
from dnspanel.fleet.models import Choice
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.layout import RefusalBlock
from dnspanel.zones.errors import MassDeletion, NameRefused, NamesRefused, QuotaExceeded, SettingsRefused, Unknown
from dnspanel.zones.models import Zone
from dnspanel.zones.search.terms import parse
from dnspanel.zones.settings.settings_of_zone import teams_to_choose_from
from replication.dns import names
from replication.errors import BadName, BadRdata

# Characters in the search field of a list.
LONGEST_SEARCH = 300
_LONGEST_ID = 18  # digits
# The labels of fields with these names, unless the form has another label.
LABELS: Mapping[str, str] = {
    "act": gettext_lazy("Action"),
    "addresses": gettext_lazy("Addresses"),
    "comment": gettext_lazy("Comment"),
    "format": gettext_lazy("Format"),
    "group": gettext_lazy("Group"),
    "name": gettext_lazy("Name"),
    "password": gettext_lazy("Password"),
    "reason": gettext_lazy("Reason"),
    "role": gettext_lazy("Role"),
    "tag": gettext_lazy("Tag"),
    "tags": gettext_lazy("Tags"),
    "team": gettext_lazy("Team"),
    "template": gettext_lazy("Template"),
    "ttl": "TTL",
    "type": gettext_lazy("Type"),
    "values": gettext_lazy("Values"),
    "zone": gettext_lazy("Zone"),
}
# For fields with names, addresses and keys instead of prose.
_AS_TYPED = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}
MONO = {"class": "input input-mono", **_AS_TYPED}
MONO_LINES = {"class": "textarea input-mono", **_AS_TYPED}


def mono_field(
    label: str | None,
    max_length: int,
    help_text: str = "",
    *,
    required: bool = False,
    initial: str | None = None,
    rows: int = 0,
    **attrs: object,
) -> forms.CharField:
    """Return a monospaced field for names, addresses, keys or values.

    The field is a single line, or a text area if `rows` is given. `attrs` are HTML attributes, such as a placeholder.
    """
    lines = forms.Textarea(attrs={"rows": rows, **MONO_LINES, **attrs})
    return forms.CharField(
        label=label,
        required=required,
        max_length=max_length,
        help_text=help_text,
        initial=initial,
        widget=lines if rows else forms.TextInput(attrs={**MONO, **attrs}),
    )


def text_field(
    label: str | None, max_length: int, help_text: str = "", *, required: bool = False, **attrs: object
) -> forms.CharField:
    """Return a field for one line of prose, such as a reason. `attrs` are HTML attributes."""
    widget = forms.TextInput(attrs=attrs)
    return forms.CharField(label=label, required=required, max_length=max_length, help_text=help_text, widget=widget)


def secret_field(
    label: str | None, max_length: int, help_text: str = "", *, required: bool = False, strip: bool = True
) -> forms.CharField:
    """Return a field for a secret. The page never shows the entered value again."""
    return forms.CharField(
        label=label, required=required, strip=strip, max_length=max_length, help_text=help_text, widget=SecretInput()
    )


def number_field(
    label: str | None,
    least: int,
    most: int | None,
    help_text: str = "",
    *,
    required: bool = False,
    initial: int | None = None,
) -> forms.IntegerField:
    """Return a field for a whole number from `least` to `most`. If `most` is None, there is no upper limit."""
    return forms.IntegerField(
        label=label, required=required, min_value=least, max_value=most, initial=initial, help_text=help_text
    )


def switch_field(label: str, help_text: str = "", *, initial: bool = False) -> forms.BooleanField:
    """Return an on/off field."""
    return forms.BooleanField(label=label, required=False, initial=initial, help_text=help_text)


@dataclass(frozen=True, slots=True)
class Fold:
    """Rarely used fields of a form, which the page folds. `name` is the name of the first field."""

    name: str
    title: str
    fields: tuple[forms.BoundField, ...]

    @property
    def is_open(self) -> bool:
        """True if a field has an error, or a value other than its default."""
        return any(each.errors or each.value() not in (None, "", False, each.field.initial) for each in self.fields)


class PanelForm(forms.Form):
    """A form whose widgets use the design system's CSS classes and mark their own errors.

    A field without a label gets its label from LABELS, or none, because Django's default would always be English.
    FOLDS lists the folded parts: a title and the names of fields, none of them required.
    """

    FOLDS: ClassVar[tuple[tuple[str, tuple[str, ...]], ...]] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for name, field in self.fields.items():
            field.label = LABELS.get(name, "") if field.label is None else field.label
            field.widget.attrs.setdefault("class", _class_of(field.widget))

    @property
    def field_lines(self) -> Iterator[Any]:
        """The visible fields, with a `Fold` in place of the first field of each folded part."""
        folds = {names[0]: Fold(names[0], title, tuple(self[each] for each in names)) for title, names in self.FOLDS}
        inside = {name for _, names in self.FOLDS for name in names[1:]}
        return (folds.get(field.name, field) for field in self.visible_fields() if field.name not in inside)

    def refuse(self, field: str | None, message: str) -> None:
        """Add an error to this field, or to the whole form if it has no such field."""
        self.add_error(field if field in self.fields else None, message)

    def refuse_for(self, refusal: Exception, at: str | None = None) -> None:
        """Add the refusal's message as an error to the field `at` (default: determined by the exception)."""
        if at is None and isinstance(refusal, FieldsRefused):
            self.refuse_all(refusal.fields)
        elif at is None and isinstance(refusal, NameRefused | NamesRefused | QuotaExceeded):
            self.refuse("name", str(refusal.first if isinstance(refusal, NamesRefused) else refusal))
        else:
            self.refuse(at or getattr(refusal, "field", None), str(refusal))

    def catching(self, *kinds: type[Exception], at: str | None = None) -> RefusalBlock:
        """Return a context manager that adds exceptions of these kinds to the form, like `refuse_for`."""
        return RefusalBlock(lambda refusal: self.refuse_for(refusal, at), kinds)

    def refuse_all(self, faults: Mapping[str, Sequence[str]]) -> None:
        """Add all errors in `faults`, a mapping from fields to messages."""
        for field, messages in faults.items():
            for message in messages:
                self.refuse(field, message)


@contextmanager
def input_faults() -> Iterator[None]:
    """Raise ValidationError if the block rejects an entered name, record type, tag or zone."""
    try:
        yield
    except (BadName, BadRdata, SettingsRefused, Unknown) as exc:
        raise forms.ValidationError(exc.reason if isinstance(exc, BadRdata) else str(exc)) from exc


def split_list(text: str) -> list[str]:
    """Split text at spaces and commas."""
    return text.replace(",", " ").split()


def offer_teams(field: forms.Field, author: Author, right: Right = Right.SETTINGS, *, kept: int | None = None) -> bool:
    """Offer the teams in whose zones the author has the right, and the team `kept`. Return True if there are any."""
    assert isinstance(field, forms.ModelChoiceField)
    ids = [team.pk for team in teams_to_choose_from(author, right)] + ([] if kept is None else [kept])
    field.queryset = Team.objects.filter(pk__in=ids).order_by("name")
    return bool(ids)


def _by_your_clock() -> str:
    return gettext("Enter the time in your time zone, {get_current_timezone}.").format(
        get_current_timezone=timezone.get_current_timezone()
    )


class OwnClockField(forms.DateTimeField):
    """A field for a date and time (to the minute) in the user's time zone, which the default help text names."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", lazy(_by_your_clock, str)())  # the time zone is known only when rendered
        attrs = {"type": "datetime-local", "class": "input"}
        super().__init__(widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs=attrs), **kwargs)


def _class_of(widget: forms.Widget) -> str:
    if isinstance(widget, forms.CheckboxInput | forms.RadioSelect):
        return ""
    if isinstance(widget, forms.Select):
        return "select"
    return "textarea" if isinstance(widget, forms.Textarea) else "input"


def id_in(text: str) -> int | None:
    """Parse a row id from a URL or a form. Return None if it isn't valid."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID else None


def checked_search(text: str) -> str:
    """Return the search text. Raise ValidationError if it contains errors or unknown filters."""
    text = text.strip()
    search = parse(text)
    if search.faults:
        raise forms.ValidationError(f"{search.faults[0].word}: {search.faults[0].message}")
    if search.unknown:
        closest = search.unknown[0].closest
        meant = gettext(" Did you mean {closest}:?").format(closest=closest) if closest else ""
        raise forms.ValidationError(
            gettext("The filter {name}: isn’t available here.{meant}").format(name=search.unknown[0].name, meant=meant)
        )
    return text


class SecretInput(forms.PasswordInput):
    """An input that never shows its value again."""

    def __init__(self) -> None:
        super().__init__(attrs={"autocomplete": "new-password", "spellcheck": "false"}, render_value=False)


class PublishingForm(PanelForm):
    """A form with a one-time id. A form that is submitted twice publishes only once."""

    form_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    @property
    def id(self) -> UUID:
        form_id = self.cleaned_data["form_id"]
        assert isinstance(form_id, UUID)
        return form_id


class ZoneSettingsForm(PanelForm):
    """The form for a zone's tags and team."""

    tags = mono_field(None, 4000, gettext_lazy("Use lowercase letters, digits, dots, hyphens and underscores."))
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("no team")
    )

    def __init__(self, *args: Any, zone: Zone, author: Author, **kwargs: Any) -> None:
        super().__init__(*args, initial={"tags": " ".join(zone.tags), "team": zone.team_id}, **kwargs)
        offer_teams(self.fields["team"], author, kept=zone.team_id)

    def clean_tags(self) -> list[str]:
        return split_list(self.cleaned_data["tags"])


class TypedNameForm(PublishingForm):
    """A form whose field `typed` must contain the zone's name."""

    def __init__(self, *args: Any, zone_name: str, **kwargs: Any) -> None:
        self.zone_name = zone_name
        super().__init__(*args, **kwargs)

    def clean_typed(self) -> str:
        try:
            typed = names.parse(self.cleaned_data["typed"])
        except BadName:
            typed = ""
        if typed != self.zone_name:
            raise forms.ValidationError(gettext("Enter {zone_name} to confirm.").format(zone_name=self.zone_name))
        return typed


class GoneForm(TypedNameForm):
    """The form that permanently deletes a zone in the trash. The user confirms by typing the zone's name."""

    typed = mono_field(gettext_lazy("Enter the zone name to delete the zone permanently"), 1100, required=True)


class DeleteZoneForm(TypedNameForm):
    """The form that deletes a zone with all its RRsets. The user confirms by typing the zone's name."""

    typed = mono_field(gettext_lazy("Enter the zone name to delete the zone"), 1100, required=True)
    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the history."))
    typed_count = forms.IntegerField(
        label=gettext_lazy("Number of deleted zones"),
        required=False,
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.mass_deletion: MassDeletion | None = None
        super().__init__(*args, **kwargs)

    def hold(self, mass_deletion: MassDeletion) -> bool:
        """Return True if the typed number of zones is correct. Otherwise add an error and return False."""
        self.mass_deletion = mass_deletion
        if self.cleaned_data.get("typed_count") == mass_deletion.total:
            return True
        self.add_error("typed_count", gettext("Enter {total} to confirm.").format(total=mass_deletion.total))
        return False


class DecisionForm(PanelForm):
    """The form that chooses the data to keep after lost publications. A page has two such forms, with different ids."""

    choice = forms.CharField(widget=forms.HiddenInput)
    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the audit log."))
    accepts_breaks = switch_field(gettext_lazy("Accept that these zones might break, for the reason above"))
    typed = text_field(None, 60, autocomplete="off", spellcheck="false")

    def __init__(self, *args: Any, choice: Choice | None = None, **kwargs: Any) -> None:
        sent = args[0].get("choice", "") if args else choice
        super().__init__(*args, auto_id=f"id_{sent}_%s", initial={"choice": choice}, **kwargs)
        typed = TYPED.get(Choice(sent)) if sent in Choice.values else None
        self.fields["typed"].label = (
            gettext("Type “{typed}” to confirm").format(typed=typed) if typed else gettext("Confirmation")
        )
