"""Form fields to choose between everything and a part, for forms where an empty selection would mean everything."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from django import forms
from django.utils.functional import lazy

from dnspanel.texts import gettext, gettext_lazy, ngettext
from dnspanel.web.frame.forms import PanelForm, mono_field
from dnspanel.zones.lists.queries import zone_total
from dnspanel.zones.rights import access

ALL, SOME = "all", "some"
MOST_COUNTED = 100_000  # zones


@dataclass(frozen=True, slots=True)
class AllOrSome:
    """A choice between everything and a part: the name of the choice, and the fields that select the part.

    If `needs_number` is True, a user who chooses all zones must enter their number. `more` are additional options.
    """

    fields: tuple[str, ...]
    name: str = "where"
    label: str = gettext_lazy("Zones")
    all: str = ""
    some: str = gettext_lazy("Only these zones")
    needs_number: bool = False
    default: str = ""
    more: tuple[tuple[str, str], ...] = ()

    @property
    def number(self) -> str:
        """The name of the field for the number of zones."""
        return f"{self.name}_number"


@dataclass(frozen=True, slots=True)
class Part:
    """The fields of one choice, for `_all_or_some.html`."""

    choice: forms.BoundField
    number: forms.BoundField | None
    selectors: tuple[forms.BoundField, ...]


class AllOrSomeForm(PanelForm):
    """The base class of forms with `AllOrSome` choices. `counted_for` is the person whose zones are counted.

    If `stored` is True, the form is for a stored object, and an empty selection already means everything.
    """

    all_or_some: ClassVar[tuple[AllOrSome, ...]]

    def __init__(
        self, *args: Any, counted_for: access.Person | None = None, stored: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.counted_for = counted_for
        self.choices_made = tuple(each for each in self.all_or_some if self._applies(each))
        for each in self.choices_made:
            has_part = any(self.initial.get(name) for name in each.fields)
            self.initial.setdefault(each.name, SOME if has_part else ALL if stored else each.default)
            self._add_fields(each)
            if self.is_bound:
                self.data = self._complete_data(self.data, each)

    def _applies(self, each: AllOrSome) -> bool:
        """Return True if the form offers this choice. Subclasses can omit choices."""
        return any(name in self.fields for name in each.fields)

    def _add_fields(self, each: AllOrSome) -> None:
        choices = [*each.more, (ALL, each.all or lazy(self._text_of_all, str)()), (SOME, each.some)]
        # Not required for browsers, because a person who enters a selection needn't choose the option, too.
        self.fields[each.name] = forms.ChoiceField(
            label=each.label, choices=choices, required=False, widget=forms.RadioSelect
        )
        if each.needs_number and self.initial[each.name] != ALL:
            self.fields[each.number] = mono_field(
                gettext("Number of zones"),
                30,
                gettext("To confirm, enter the total number of zones."),
                inputmode="numeric",
            )

    def _complete_data(self, data: Mapping[str, Any], each: AllOrSome) -> Any:
        """Return the data without the selection if ALL is chosen. If no option is chosen, add SOME or the default."""
        completed: Any = data.copy()  # type: ignore[attr-defined]
        chosen = data.get(self.add_prefix(each.name))
        selectors = [self.add_prefix(name) for name in each.fields]
        if chosen == ALL:
            for name in selectors:
                completed.pop(name, None)
        elif not chosen:
            has_part = any(str(data.get(name, "")).strip() for name in selectors)
            completed[self.add_prefix(each.name)] = SOME if has_part else self.initial[each.name]
        return completed

    def clean(self) -> dict[str, Any] | None:
        cleaned = super().clean()
        self.refuse_empty(self.choices_made)
        return cleaned

    def refuse_empty(self, choices: Iterable[AllOrSome]) -> None:
        """Add an error if no option is chosen, the selection is empty, or the entered number of zones is wrong."""
        for each in choices:
            chosen, names = self.cleaned_data.get(each.name), [name for name in each.fields if name in self.fields]
            if not chosen and each.name not in self.errors:
                self.add_error(each.name, gettext("Choose one of these options."))
            if chosen == SOME and not any(self.cleaned_data.get(name) or name in self.errors for name in names):
                self.add_error(names[0], gettext("Enter a value, or choose the option for all."))
            if chosen == ALL and each.number in self.fields:
                typed = "".join(filter(str.isdecimal, self.cleaned_data.get(each.number, "")))
                if typed != str(min(self.total, MOST_COUNTED)):
                    self.add_error(each.number, self._text_of_total())

    @cached_property
    def total(self) -> int:
        """The number of zones that the person can see. A number above MOST_COUNTED is a lower bound."""
        assert self.counted_for is not None
        return zone_total(among=access.zones_visible_to(self.counted_for), search="", most=MOST_COUNTED) or 0

    def _text_of_all(self) -> str:
        if self.total > MOST_COUNTED:
            return gettext("All zones (more than {number:,})").format(number=MOST_COUNTED)
        return gettext("All zones ({number:,})").format(number=self.total)

    def _text_of_total(self) -> str:
        if self.total > MOST_COUNTED:
            return gettext("There are more than {number:,} zones. To confirm, enter {number}.").format(
                number=MOST_COUNTED
            )
        return ngettext(
            "There is now {number:,} zone. To confirm, enter {number}.",
            "There are now {number:,} zones. To confirm, enter {number}.",
            self.total,
        ).format(number=self.total)

    @property
    def parts(self) -> dict[str, Part]:
        """The form's parts, by the names of their choices."""
        return {each.name: self._part(each) for each in self.choices_made}

    def _part(self, each: AllOrSome) -> Part:
        number = self[each.number] if each.number in self.fields else None
        return Part(self[each.name], number, tuple(self[name] for name in each.fields if name in self.fields))

    @property
    def field_lines(self) -> Iterator[Any]:
        """The form's lines, with a `Part` in place of the first field that selects a part."""
        first = {self._part(each).selectors[0].name: each for each in self.choices_made}
        inside = {name for each in self.choices_made for name in (*each.fields, each.name, each.number)}
        lines = (line for line in super().field_lines if line.name in first or line.name not in inside)
        return (self._part(first[line.name]) if line.name in first else line for line in lines)
