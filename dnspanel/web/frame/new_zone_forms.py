"""Forms for new zones: names, name servers and template. Forms never save."""

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone

from dnspanel.accounts.actors.actors import Author, Right, actor_of
from dnspanel.accounts.models import Team
from dnspanel.counted_lines import TooManyLines, counted_lines, numbered_lines
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.web.frame.forms import (
    PanelForm,
    PublishingForm,
    input_faults,
    mono_field,
    offer_teams,
    switch_field,
    text_field,
)
from dnspanel.zones.models import ZoneTemplate
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.rules import name_rules, rules, violations
from dnspanel.zones.settings.server_sets import ServerSet, default_set, newest_set
from dnspanel.zones.settings.zone_defaults import HOSTMASTER, NAMESERVERS, Defaults, zone_defaults
from dnspanel.zones.values.reverse_names import ReverseZones, reverse_zones_of
from dnspanel.zones.values.soa import default_soa, first_serial
from replication.dns import names, rdtypes, rrset
from replication.errors import ReplicationError

MOST_ZONES_AT_ONCE = 1000
NS_TTL = 3600
MOST_REFUSALS = 10  # in the errors of a field
_NO_NAME = gettext_lazy("Enter at least one name.")


class ApexForm(PanelForm):
    """A form with the fields of a new zone's NS and SOA records."""

    nameservers = mono_field(
        gettext_lazy("Name servers"),
        4000,
        gettext_lazy("Enter one name per line. The first name server is also the primary in the SOA record."),
        required=True,
        rows=3,
    )
    hostmaster = mono_field(
        gettext_lazy("Hostmaster"),
        300,
        gettext_lazy("Enter the contact for the SOA record, as an email address or a domain name."),
        required=True,
    )

    def clean_nameservers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_names_by_line(self.cleaned_data["nameservers"])))

    def clean_hostmaster(self) -> str:
        return mailbox_name(self.cleaned_data["hostmaster"])


NO_SET = -1


@dataclass(frozen=True, slots=True)
class ReverseChoice:
    """Reverse zones that can replace a typed line. The button submits `value`."""

    typed: str
    zones: tuple[str, ...]

    @property
    def value(self) -> str:
        return " ".join((self.typed, *self.zones))

    @property
    def label(self) -> str:
        if len(self.zones) == 1:
            return gettext("Use {zones}").format(zones=self.zones[0])
        return gettext("Use {zones} zones, {zones2} to {zones3}").format(
            zones=len(self.zones), zones2=self.zones[0], zones3=self.zones[-1]
        )


@dataclass(frozen=True, slots=True)
class ReverseOffer:
    """A network or address that the user typed as a zone name, and the reverse zones for it."""

    typed: str
    reverse: ReverseZones

    @property
    def error(self) -> str:
        return gettext("{typed} isn’t a valid zone name. Choose a reverse zone, or enter another name.").format(
            typed=self.typed
        )

    @property
    def hint(self) -> str:
        return self.reverse.hint

    @property
    def choices(self) -> list[ReverseChoice]:
        return [ReverseChoice(self.typed, zones) for zones in self.reverse.choices]


class NewZoneForm(ApexForm, PublishingForm):
    """The form for new zones: names (one per line), name servers, team, template, and delegation."""

    field_order = ("form_id", "names")

    names = mono_field(
        gettext_lazy("Name"),
        300 * MOST_ZONES_AT_ONCE,
        gettext_lazy("Enter one zone per line. Unicode names are allowed."),
        required=True,
        rows=3,
        autofocus=True,
    )
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("no team")
    )
    server_set = forms.TypedChoiceField(
        label=gettext_lazy("Name server set"),
        required=False,
        coerce=int,
        empty_value=None,
        help_text=gettext_lazy(
            "Zones follow later changes to the set. The name servers and hostmaster below apply only if the "
            "set doesn’t define them."
        ),
    )
    template = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        widget=forms.Select(
            attrs={
                "hx-get": "/zones/new/",
                "hx-trigger": "change",
                "hx-include": "closest form",
                "hx-target": "#new-variables",
                "hx-swap": "outerHTML",
                "hx-sync": "this:replace",
            }
        ),
        help_text=gettext_lazy(
            "The template adds records to the new zones. Its NS records replace the name servers in this form."
        ),
    )
    keep = switch_field(gettext_lazy("Keep the zones linked to the template"))
    delegate = switch_field(
        gettext_lazy("Add NS and glue records to the parent zones"),
        gettext_lazy("For each parent zone that you can edit, the delegation records are added to your draft."),
    )
    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the history."))

    def __init__(
        self,
        *args: Any,
        author: Author,
        templates: Sequence[tuple[int, str]] = (),
        sets: Sequence[ZoneTemplate] = (),
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.author = author
        self._sets = {each.pk: each for each in sets}
        self._offer_sets()
        field = self.fields["template"]
        assert isinstance(field, forms.ChoiceField)
        field.choices = [("", "none"), *templates]
        self.readable_names: tuple[str, ...] = ()  # the names in valid lines, after validation
        field = self.fields["team"]
        are_teams = offer_teams(field, author, Right.CREATE_ZONE)
        assert isinstance(field, forms.ModelChoiceField)
        actor = None if author is None else actor_of(author)
        if actor is not None and not actor.may_everywhere(Right.CREATE_ZONE):
            field.required, field.empty_label = True, None
        elif not are_teams:
            del self.fields["team"]

    def _offer_sets(self) -> None:
        if not self._sets:
            self.fields.pop("server_set", None)
            return
        field = self.fields["server_set"]
        assert isinstance(field, forms.ChoiceField)
        named = [(pk, f"{each.name} ({each.team.name})" if each.team else each.name) for pk, each in self._sets.items()]
        field.choices = [
            ("", gettext("team or panel default")),
            (NO_SET, gettext("none (use the name servers below)")),
            *named,
        ]
        for name in ("nameservers", "hostmaster"):
            self.fields[name].required = False

    def _chosen_set(self) -> ServerSet | None:
        """Return the chosen or default set of name servers, or None if the typed name servers are used."""
        if "server_set" not in self.fields:
            return None
        chosen, team = self.cleaned_data.get("server_set"), self.cleaned_data.get("team")
        if chosen is None:
            return default_set(None if team is None else team.pk)
        return newest_set(self._sets[chosen]) if chosen in self._sets else None

    @staticmethod
    def defaults() -> dict[str, str]:
        """Return the initial values of the form."""
        found = zone_defaults()
        return {"nameservers": "\n".join(found.nameservers), "hostmaster": found.hostmaster}

    def reverse_offers(self) -> list[ReverseOffer]:
        """Return matching reverse zones for each line that is a network or an address."""
        lines = itertools.islice(numbered_lines(str(self.data.get("names", ""))), MOST_ZONES_AT_ONCE)
        return [ReverseOffer(line.strip(), found) for _, line in lines if (found := reverse_zones_of(line))]

    def names_with(self, chosen: str) -> str:
        """Return the typed names, with one line replaced by the reverse zones in `chosen`, a `ReverseChoice.value`."""
        typed, *zones = chosen.split()
        lines = str(self.data.get("names", "")).splitlines()
        return "\n".join("\n".join(zones) if line.strip() == typed else line for line in lines)

    def clean_names(self) -> tuple[str, ...]:
        try:
            counted_lines(self.cleaned_data["names"], MOST_ZONES_AT_ONCE)
        except TooManyLines as exc:
            message = gettext("Enter at most {most_zones_at_once:,} zones, not {readable_names:,}.").format(
                most_zones_at_once=exc.most, readable_names=exc.count
            )
            raise forms.ValidationError(message) from exc
        offers = self.reverse_offers()
        networks = {offer.typed for offer in offers}
        read, wrong = _read_names(self.cleaned_data["names"], leave_out=networks)
        self.readable_names = tuple(dict.fromkeys(read))
        wrong += [offer.error for offer in offers]
        if wrong:
            raise forms.ValidationError(_first_of(wrong))
        if not read:
            raise forms.ValidationError(_NO_NAME)
        return self.readable_names

    def clean(self) -> dict[str, Any]:
        """Add `zones`, each with its initial RRsets, and `server_set` (set or None) to the cleaned data.

        Without a set, name servers and hostmaster are required. Rule violations become errors of the name server field.
        """
        cleaned = self.cleaned_data
        cleaned["zones"], cleaned["server_set"] = [], self._chosen_set()
        if cleaned["server_set"] is None:
            for name in ("nameservers", "hostmaster"):
                if not cleaned.get(name) and not self.has_error(name):
                    self.refuse(name, gettext("This field is required."))
                    cleaned.pop(name, None)
        if not {"names", "nameservers", "hostmaster"} <= cleaned.keys():
            return cleaned
        with self.catching(ReplicationError, at="nameservers"):
            cleaned["zones"] = [NewZone(name=name, rrsets=self._apex(name)) for name in cleaned["names"]]
        for message in dict.fromkeys(_errors_of(cleaned["zones"])):
            self.refuse("nameservers", message)
        return cleaned

    def _apex(self, zone_name: str) -> tuple[rrset.RRset, ...]:
        servers, serial = self.cleaned_data["nameservers"], first_serial(timezone.now())
        mailbox, of_set = self.cleaned_data["hostmaster"], self.cleaned_data["server_set"]
        if of_set is not None:
            mailbox = of_set.servers.hostmaster or mailbox or settings.DEFAULT_HOSTMASTER
            soa = default_soa(zone_name, of_set.servers.first, mailbox, serial)
            return soa, of_set.servers.nameservers(zone_name)
        soa = default_soa(zone_name, servers[0], mailbox, serial)
        return soa, rrset.make(zone_name, rdtypes.NS, NS_TTL, servers)


class CloneZoneForm(NewZoneForm):
    """The form for new zones that copy the records of another zone."""

    nameservers = None  # type: ignore[assignment]  # the same as in the source zone
    hostmaster = None  # type: ignore[assignment]
    server_set = None  # type: ignore[assignment]
    tags = switch_field(
        gettext_lazy("Copy tags"),
        gettext_lazy("People with access to zones with these tags will get the same access to the new zones."),
        initial=True,
    )

    def __init__(self, *args: Any, author: Author, **kwargs: Any) -> None:
        super().__init__(*args, author=author, **kwargs)
        self.fields["names"].label = gettext("New zone name")

    def clean(self) -> dict[str, Any]:
        """Return the cleaned data unchanged, because the source zone's records were already checked."""
        return self.cleaned_data


class ZoneDefaultsForm(ApexForm):
    """The form for the defaults of new zones. Values set by environment variables are read-only."""

    seen = forms.CharField(widget=forms.HiddenInput, required=False)

    def __init__(self, *args: Any, defaults: Defaults, **kwargs: Any) -> None:
        initial = {
            "nameservers": "\n".join(defaults.nameservers),
            "hostmaster": defaults.hostmaster,
            "seen": defaults.changed_at.isoformat() if defaults.changed_at else "",
        }
        super().__init__(*args, initial=initial, **kwargs)
        for name, variable in (("nameservers", NAMESERVERS), ("hostmaster", HOSTMASTER)):
            if variable in defaults.fixed:
                self.fields[name].disabled = True
                self.fields[name].help_text = gettext("Set by {variable} in the panel’s environment.").format(
                    variable=variable
                )

    def clean_seen(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"])
        except ValueError:
            return None


def mailbox_name(text: str) -> str:
    """Return the SOA mailbox name for an email address or a domain name, or "" if `text` is empty.

    Raise ValidationError if the text isn't a valid email address or domain name.
    """
    if not text:
        return ""
    with input_faults():
        return name_rules.mailbox_name(text)


def _errors_of(zones: list[NewZone]) -> Iterator[str]:
    """Yield the rule violations in these zones that are errors, not warnings."""
    for zone in zones:
        by_key = {(found.name, found.type): found for found in zone.rrsets or ()}
        for violation in rules.check_zone(zone.name, by_key, by_key.keys()):
            if violation.severity == violations.Severity.ERROR:
                yield violation.message


def _names_by_line(text: str) -> list[str]:
    """Parse one name per line. Raise ValidationError if a line is invalid or the text contains no name."""
    found, wrong = _read_names(text)
    if wrong:
        raise forms.ValidationError(_first_of(wrong))
    if not found:
        raise forms.ValidationError(_NO_NAME)
    return found


def _read_names(text: str, leave_out: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Parse one name per line. Return names, and messages about invalid lines. Skip empty lines and `leave_out`."""
    found, wrong = [], []
    for number, line in numbered_lines(text):
        if not line.strip() or line.strip() in leave_out:
            continue
        try:
            found.append(names.parse(line))
        except ReplicationError as exc:
            wrong.append(gettext("Line {number}: {exc}").format(number=number, exc=exc))
    return found, wrong


def _first_of(messages: list[str]) -> list[str]:
    """Return the first MOST_REFUSALS messages, followed by a message that counts the rest."""
    more = len(messages) - MOST_REFUSALS
    return [*messages[:MOST_REFUSALS], gettext("And {more:,} more lines.").format(more=more)] if more > 0 else messages
