"""Forms of zones, nodes and people: they check shape and make values canonical; they never save."""

import itertools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.utils import timezone
from django.utils.functional import lazy

from dnspanel.accounts.actors.actors import Author, actor_of
from dnspanel.accounts.actors.grants import Right
from dnspanel.accounts.models import OwnRole, Role, Team
from dnspanel.accounts.providers.ldap.visit import LONGEST_NAME, LONGEST_PASSWORD
from dnspanel.accounts.rights.own_roles import role_by_id
from dnspanel.counted_lines import TooManyLines, counted_lines, numbered_lines
from dnspanel.fleet.integrity.unknown_history import TYPED
from dnspanel.fleet.models import Choice
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.zones.errors import MassDeletion, NameRefused, NamesRefused, QuotaExceeded
from dnspanel.zones.models import Zone, ZoneTemplate
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.rules import name_rules, rules
from dnspanel.zones.search.terms import parse
from dnspanel.zones.settings.server_sets import ServerSet, default_set, newest_set
from dnspanel.zones.settings.settings_of_zone import teams_to_choose_from
from dnspanel.zones.settings.zone_defaults import HOSTMASTER, NAMESERVERS, Defaults, zone_defaults
from dnspanel.zones.values.reverse_names import ReverseZones, reverse_zones_of
from dnspanel.zones.values.soa import default_soa, first_serial
from replication.dns import names, rdtypes, rrset
from replication.dns.rrset import RRset
from replication.errors import BadName, ReplicationError

MOST_ZONES_AT_ONCE = 1000
# Characters of what is typed into the search field of a list.
LONGEST_SEARCH = 300
_LONGEST_ID = 18  # digits
NS_TTL = 3600
MOST_REFUSALS = 10  # that a field shows
_NO_NAME = gettext_lazy("Give at least one name.")
# What is no prose: names, addresses, keys.
MONO = {"class": "input input-mono", "autocomplete": "off", "spellcheck": "false"}
MONO_LINES = {"class": "textarea input-mono", "spellcheck": "false"}


class PanelForm(forms.Form):
    """A form whose widgets have the design system's CSS classes and mark their own errors."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs.setdefault("label_suffix", "")
        super().__init__(*args, **kwargs)
        for field in self.fields.values():
            field.widget.attrs.setdefault("class", _class_of(field.widget))

    def refuse(self, field: str | None, message: str) -> None:
        """Add an error that a verb raised; for an unknown field it becomes an error of the whole form."""
        self.add_error(field if field in self.fields else None, message)

    def refuse_name(self, refusal: NameRefused | NamesRefused | QuotaExceeded) -> None:
        """Add what a verb says against the one name that was typed."""
        self.refuse("name", str(refusal.first if isinstance(refusal, NamesRefused) else refusal))

    def refuse_all(self, faults: Mapping[str, Sequence[str]]) -> None:
        """Add the errors that a verb raised, each at its field."""
        for field, messages in faults.items():
            for message in messages:
                self.refuse(field, message)


def separated(text: str) -> list[str]:
    """What was typed with blanks or commas between, one by one."""
    return text.replace(",", " ").split()


def offer_teams(field: forms.Field, author: Author, right: Right = Right.SETTINGS, *, kept: int | None = None) -> bool:
    """The field offers the teams for whose zones the author has this right, and the one that is kept; whether any."""
    assert isinstance(field, forms.ModelChoiceField)
    ids = [team.pk for team in teams_to_choose_from(author, right)] + ([] if kept is None else [kept])
    field.queryset = Team.objects.filter(pk__in=ids).order_by("name")
    return bool(ids)


def _by_your_clock() -> str:
    return gettext("By your clock, in the time zone {get_current_timezone}.").format(
        get_current_timezone=timezone.get_current_timezone()
    )


class OwnClockField(forms.DateTimeField):
    """A moment to the minute, typed by the clock of the reader's time zone, which the help text names by default."""

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("help_text", lazy(_by_your_clock, str)())  # whose clock is known when a page is made
        attrs = {"type": "datetime-local", "class": "input"}
        super().__init__(widget=forms.DateTimeInput(format="%Y-%m-%dT%H:%M", attrs=attrs), **kwargs)


def _class_of(widget: forms.Widget) -> str:
    if isinstance(widget, forms.CheckboxInput | forms.RadioSelect):
        return ""
    if isinstance(widget, forms.Select):
        return "select"
    return "textarea" if isinstance(widget, forms.Textarea) else "input"


def id_in(text: str) -> int | None:
    """Return the id of a row that a URL or a form has; None for what cannot be one."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LONGEST_ID else None


def checked_search(text: str) -> str:
    """Return what is to be looked for; raises ValidationError for what would not be found as it is meant."""
    text = text.strip()
    search = parse(text)
    if search.faults:
        raise forms.ValidationError(f"{search.faults[0].word}: {search.faults[0].message}")
    if search.unknown:
        closest = search.unknown[0].closest
        meant = gettext(" Did you mean {closest}:?").format(closest=closest) if closest else ""
        raise forms.ValidationError(
            gettext("There is no filter {name}: here.{meant}").format(name=search.unknown[0].name, meant=meant)
        )
    return text


class SecretInput(forms.PasswordInput):
    """A field that never shows again what was typed into it."""

    def __init__(self) -> None:
        super().__init__(attrs={"autocomplete": "new-password", "spellcheck": "false"}, render_value=False)


class PublishingForm(PanelForm):
    """A form that publishes once, even if it is sent twice."""

    form_id = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    @property
    def id(self) -> UUID:
        form_id = self.cleaned_data["form_id"]
        assert isinstance(form_id, UUID)
        return form_id


class ApexForm(PanelForm):
    """A form with what the NS and the SOA of a new zone are made of."""

    nameservers = forms.CharField(
        widget=forms.Textarea(attrs={"rows": 3, "class": "textarea input-mono", "spellcheck": "false"}),
        label=gettext_lazy("Name servers"),
        help_text=gettext_lazy("One per line; the first one is also the primary in the SOA."),
        max_length=4000,
    )
    hostmaster = forms.CharField(
        widget=forms.TextInput(attrs={"class": "input input-mono", "spellcheck": "false"}),
        label=gettext_lazy("Hostmaster"),
        help_text=gettext_lazy("The mail address for the SOA, as an address or as a name."),
        max_length=300,
    )

    def clean_nameservers(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(_names_by_line(self.cleaned_data["nameservers"])))

    def clean_hostmaster(self) -> str:
        return mailbox_name(self.cleaned_data["hostmaster"])


NO_SET = -1


@dataclass(frozen=True, slots=True)
class ReverseChoice:
    """Reverse zones that could stand in place of a line; `value` is what their button sends."""

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
    """A network or address that was typed for the name of a zone, and its reverse zones."""

    typed: str
    reverse: ReverseZones

    @property
    def error(self) -> str:
        return gettext("{typed} is not the name of a zone. Choose its reverse zone, or write another name.").format(
            typed=self.typed
        )

    @property
    def hint(self) -> str:
        return self.reverse.hint

    @property
    def choices(self) -> list[ReverseChoice]:
        return [ReverseChoice(self.typed, zones) for zones in self.reverse.choices]


class NewZoneForm(ApexForm, PublishingForm):
    """The names of new zones, one per line, and the name servers they begin with."""

    field_order = ("form_id", "names")

    names = forms.CharField(
        widget=forms.Textarea(
            attrs={"rows": 3, "class": "textarea input-mono", "autofocus": True, "spellcheck": "false"}
        ),
        label=gettext_lazy("Name"),
        help_text=gettext_lazy("One per line makes several zones. Unicode names are welcome."),
        max_length=300 * MOST_ZONES_AT_ONCE,
    )
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("no team")
    )
    server_set = forms.TypedChoiceField(
        label=gettext_lazy("Set of name servers"),
        required=False,
        coerce=int,
        empty_value=None,
        help_text=gettext_lazy(
            "Zones with its name servers follow it. Those below, and the hostmaster, count where no set does."
        ),
    )
    template = forms.TypedChoiceField(
        label=gettext_lazy("Template"),
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
        help_text=gettext_lazy("Records that the zones begin with besides; its own NS take the place of these."),
    )
    keep = forms.BooleanField(
        label=gettext_lazy("Keep them in step with the template’s next versions"),
        required=False,
    )
    delegate = forms.BooleanField(
        label=gettext_lazy("Delegate them in the zones above, where I may change these"),
        required=False,
        help_text=gettext_lazy("NS and glue go into your draft; you publish them as any other change."),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Kept in the history, optional."),
    )

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
        self.readable_names: tuple[str, ...] = ()  # those of the lines that could be read, once it was validated
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
            ("", gettext("the default of the team, else of the panel")),
            (NO_SET, gettext("none: those below")),
            *named,
        ]
        for name in ("nameservers", "hostmaster"):
            self.fields[name].required = False

    def _chosen_set(self) -> ServerSet | None:
        """Return the set that the zones begin with; None for the typed name servers."""
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
        """Return what could stand in place of each line that is a network or an address."""
        lines = itertools.islice(numbered_lines(str(self.data.get("names", ""))), MOST_ZONES_AT_ONCE)
        return [ReverseOffer(line.strip(), found) for _, line in lines if (found := reverse_zones_of(line))]

    def names_with(self, chosen: str) -> str:
        """Return the typed names with the reverse zones of a `ReverseChoice.value` in place of its line."""
        typed, *zones = chosen.split()
        lines = str(self.data.get("names", "")).splitlines()
        return "\n".join("\n".join(zones) if line.strip() == typed else line for line in lines)

    def clean_names(self) -> tuple[str, ...]:
        try:
            counted_lines(self.cleaned_data["names"], MOST_ZONES_AT_ONCE)
        except TooManyLines as exc:
            message = gettext("At most {most_zones_at_once:,} zones at once; these are {readable_names:,}.").format(
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
        """Add `zones`, each with its first RRsets; rules that they violate become errors of the name servers.

        And the set of name servers that they follow, if they do.
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
        try:
            cleaned["zones"] = [NewZone(name=name, rrsets=self._apex(name)) for name in cleaned["names"]]
        except ReplicationError as exc:
            self.refuse("nameservers", str(exc))
        for message in dict.fromkeys(_errors_of(cleaned["zones"])):
            self.refuse("nameservers", message)
        return cleaned

    def _apex(self, zone_name: str) -> tuple[RRset, ...]:
        servers, serial = self.cleaned_data["nameservers"], first_serial(timezone.now())
        mailbox, of_set = self.cleaned_data["hostmaster"], self.cleaned_data["server_set"]
        if of_set is not None:
            mailbox = of_set.servers.hostmaster or mailbox or settings.DEFAULT_HOSTMASTER
            soa = default_soa(zone_name, of_set.servers.first, mailbox, serial)
            return soa, of_set.servers.nameservers(zone_name)
        soa = default_soa(zone_name, servers[0], mailbox, serial)
        return soa, rrset.make(zone_name, rdtypes.NS, NS_TTL, servers)


class CloneZoneForm(NewZoneForm):
    """The names of zones that get the records of another one."""

    nameservers = None  # type: ignore[assignment]  # as the source has them
    hostmaster = None  # type: ignore[assignment]
    server_set = None  # type: ignore[assignment]
    tags = forms.BooleanField(
        label=gettext_lazy("Its tags too"),
        required=False,
        initial=True,
        help_text=gettext_lazy("Whoever may see or change zones by these tags sees or changes the new ones."),
    )

    def __init__(self, *args: Any, author: Author, **kwargs: Any) -> None:
        super().__init__(*args, author=author, **kwargs)
        self.fields["names"].label = gettext("Name of the new zone")

    def clean(self) -> dict[str, Any]:
        """Nothing besides: the records are those of a zone that is published."""
        return self.cleaned_data


class ZoneDefaultsForm(ApexForm):
    """What the form of new zones begins with; what the environment fixes cannot be typed into."""

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
                self.fields[name].help_text = gettext("{variable} in the panel's environment fixes it.").format(
                    variable=variable
                )

    def clean_seen(self) -> datetime | None:
        try:
            return datetime.fromisoformat(self.cleaned_data["seen"])
        except ValueError:
            return None


def mailbox_name(text: str) -> str:
    """Return the name that a mail address, or a name, means in a SOA; raise ValidationError if it is neither.

    Where nothing is typed, it is "".
    """
    if not text:
        return ""
    try:
        return name_rules.mailbox_name(text)
    except BadName as exc:
        raise forms.ValidationError(str(exc)) from exc


def _errors_of(zones: list[NewZone]) -> Iterator[str]:
    """Yield the messages of the rules that forbid these zones; warnings are left out."""
    for zone in zones:
        by_key = {(found.name, found.type): found for found in zone.rrsets or ()}
        for violation in rules.check_zone(zone.name, by_key, by_key.keys()):
            if violation.severity == rules.Severity.ERROR:
                yield violation.message


def _names_by_line(text: str) -> list[str]:
    """Return the names in a text, one per line. Raise ValidationError that lists the invalid lines."""
    found, wrong = _read_names(text)
    if wrong:
        raise forms.ValidationError(_first_of(wrong))
    if not found:
        raise forms.ValidationError(_NO_NAME)
    return found


def _read_names(text: str, leave_out: Collection[str] = ()) -> tuple[list[str], list[str]]:
    """Return the names in a text, one per line, and what is wrong with the lines that are none."""
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
    """Return as many messages as a person reads, and how many more there are."""
    more = len(messages) - MOST_REFUSALS
    return [*messages[:MOST_REFUSALS], gettext("And {more:,} more lines.").format(more=more)] if more > 0 else messages


class ZoneSettingsForm(PanelForm):
    """Tags and team of a zone."""

    tags = forms.CharField(
        label=gettext_lazy("Tags"),
        required=False,
        max_length=4000,
        help_text=gettext_lazy("Small letters, digits, dots, dashes, underscores."),
        widget=forms.TextInput(attrs=MONO),
    )
    team = forms.ModelChoiceField(
        Team.objects.none(), label=gettext_lazy("Team"), required=False, empty_label=gettext_lazy("no team")
    )

    def __init__(self, *args: Any, zone: Zone, author: Author, **kwargs: Any) -> None:
        super().__init__(*args, initial={"tags": " ".join(zone.tags), "team": zone.team_id}, **kwargs)
        offer_teams(self.fields["team"], author, kept=zone.team_id)

    def clean_tags(self) -> list[str]:
        return separated(self.cleaned_data["tags"])


class TypedNameForm(PublishingForm):
    """A form whose field `typed` has to hold the name of the zone."""

    def __init__(self, *args: Any, zone_name: str, **kwargs: Any) -> None:
        self.zone_name = zone_name
        super().__init__(*args, **kwargs)

    def clean_typed(self) -> str:
        try:
            typed = names.parse(self.cleaned_data["typed"])
        except BadName:
            typed = ""
        if typed != self.zone_name:
            raise forms.ValidationError(gettext("This is not {zone_name}").format(zone_name=self.zone_name))
        return typed


class GoneForm(TypedNameForm):
    """The typed name of a zone in the trash, which confirms that nothing of it can come back."""

    typed = forms.CharField(
        label=gettext_lazy("Type the zone's name to delete it for good"),
        max_length=1100,
        widget=forms.TextInput(attrs=MONO),
    )


class DeleteZoneForm(TypedNameForm):
    """The typed name of the zone, which confirms that the zone and all its RRsets are deleted."""

    typed = forms.CharField(
        label=gettext_lazy("Type the zone's name to delete it"),
        max_length=1100,
        widget=forms.TextInput(attrs=MONO),
    )
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Kept in the history, optional."),
    )
    typed_count = forms.IntegerField(
        label=gettext_lazy("Type how many zones you delete"),
        required=False,
        widget=forms.TextInput(attrs={"class": "input input-mono", "autocomplete": "off", "inputmode": "numeric"}),
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.mass_deletion: MassDeletion | None = None
        super().__init__(*args, **kwargs)

    def hold(self, mass_deletion: MassDeletion) -> bool:
        """Return True if the right number of zones was typed; else ask for it with an error."""
        self.mass_deletion = mass_deletion
        if self.cleaned_data.get("typed_count") == mass_deletion.total:
            return True
        self.add_error("typed_count", gettext("Type {total} to confirm it.").format(total=mass_deletion.total))
        return False


class DecisionForm(PanelForm):
    """The choice whose content counts after a lost history. A page has two such forms, so their ids differ."""

    choice = forms.CharField(widget=forms.HiddenInput)
    reason = forms.CharField(
        label=gettext_lazy("Reason"),
        required=False,
        max_length=500,
        help_text=gettext_lazy("Kept in the audit log, optional."),
    )
    accepts_breaks = forms.BooleanField(
        label=gettext_lazy("These zones may break, for the reason above"), required=False
    )
    typed = forms.CharField(
        max_length=60, required=False, widget=forms.TextInput(attrs={"autocomplete": "off", "spellcheck": "false"})
    )

    def __init__(self, *args: Any, choice: Choice | None = None, **kwargs: Any) -> None:
        sent = args[0].get("choice", "") if args else choice
        super().__init__(*args, auto_id=f"id_{sent}_%s", initial={"choice": choice}, **kwargs)
        typed = TYPED.get(Choice(sent)) if sent in Choice.values else None
        self.fields["typed"].label = gettext("Type “{typed}”").format(typed=typed) if typed else gettext("Type it out")


class InviteForm(PanelForm):
    """The role of an invited person."""

    role = forms.ChoiceField(choices=Role.choices, initial=Role.EDITOR)


def role_choices() -> list[tuple[str, str]]:
    """The built-in roles, then the own ones; each as `User.role_key` names it. One query."""
    own = OwnRole.objects.order_by("name").values_list("pk", "name")
    return [*Role.choices, *((f"own:{pk}", name) for pk, name in own)]


class RoleForm(PanelForm):
    """The new role of a person."""

    role = forms.ChoiceField(choices=role_choices)

    def chosen(self) -> tuple[Role, OwnRole | None]:
        """The role, and the own one if it is that; raises RoleUnknown for one that was deleted meanwhile."""
        chosen = self.cleaned_data["role"]
        if chosen in Role.values:
            return Role(chosen), None
        return Role.MEMBER, role_by_id(int(chosen.removeprefix("own:")))


class LdapPasswordForm(PanelForm):
    """Name and password at an LDAP server."""

    typed = forms.CharField(
        label=gettext_lazy("Name there"),
        max_length=LONGEST_NAME,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none", "spellcheck": "false"}),
    )
    password = forms.CharField(
        label=gettext_lazy("Password there"),
        strip=False,
        max_length=LONGEST_PASSWORD,
        widget=forms.PasswordInput(attrs={"autocomplete": "current-password"}),
    )


class WelcomeForm(PanelForm):
    """The account that an invitation creates."""

    username = forms.CharField(
        label=gettext_lazy("Name"),
        max_length=150,
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "username", "spellcheck": "false"}),
    )
    email = forms.EmailField(
        label=gettext_lazy("Mail address"), widget=forms.EmailInput(attrs={"autocomplete": "email"})
    )
    password = forms.CharField(
        strip=False,
        max_length=200,
        help_text=gettext_lazy("At least 10 characters."),
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
    )
