"""An RRset's values as fields of its type, read from a request or from lines, and written back as lines."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from dnspanel.texts import gettext
from dnspanel.web.editor.lines.fields import Unreadable
from dnspanel.web.editor.lines.quick_add import Reading, read_rdata
from dnspanel.web.editor.lines.rrset_form import OFF
from dnspanel.zones.errors import BadFields
from dnspanel.zones.typed.fields import LONGEST_FIELD, Field, Kind, Layout
from dnspanel.zones.typed.rdata_fields import (
    OF_ALL,
    blank_fields,
    format_fields,
    is_untouched,
    joined_as_typed,
    parse_fields,
    without_missing,
)

MOST_VALUES = 50


@dataclass(frozen=True, slots=True)
class TypedInput:
    """One field of one value, as rendered on the page."""

    field: Field
    name: str  # name and id of the HTML element
    value: str
    fault: str

    @property
    def options(self) -> Sequence[tuple[str, str]]:
        """The field's choices, and the current value if it isn't one of them."""
        choices = self.field.choices
        if self.value in dict(choices):
            return choices
        return ((self.value, self.value or gettext("Choose")), *choices)

    @property
    def draw(self) -> str:
        """The HTML element to render: `select`, `check`, `textarea` or `input`."""
        if self.field.choices and not self.field.is_open:
            return "select"
        if self.field.kind is Kind.FLAG:
            return "check"
        return "textarea" if self.field.is_long else "input"

    @property
    def is_number(self) -> bool:
        return self.field.kind is Kind.NUMBER

    @property
    def is_wide(self) -> bool:
        """True if the field needs its own line."""
        return self.draw in ("textarea", "select") or self.field.kind in (Kind.STRING, Kind.REST, Kind.LIST)


@dataclass(frozen=True, slots=True)
class TypedValue:
    """One value: its fields as typed, whether it is disabled, and its errors by field."""

    fields: Mapping[str, str]
    is_off: bool = False
    faults: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TypedValues:
    """All values of an RRset, as fields of its type."""

    layout: Layout
    values: tuple[TypedValue, ...]

    @property
    def is_valid(self) -> bool:
        return not any(value.faults for value in self.values)

    @property
    def may_have_more(self) -> bool:
        return not self.layout.is_single and len(self.values) < MOST_VALUES

    @property
    def drawn_values(self) -> list["DrawnValue"]:
        return [DrawnValue(self, number) for number in range(len(self.values))]

    def check_fields(self, origin: str) -> "TypedValues":
        """Check all fields. Return a copy of the values with the errors by field."""
        return replace(self, values=tuple(replace(each, faults=self._faults(each, origin)) for each in self.values))

    def without_missing(self) -> "TypedValues":
        """Return a copy of the values without errors about empty fields."""
        kept = (replace(each, faults=without_missing(self.layout, each.faults)) for each in self.values)
        return replace(self, values=tuple(kept))

    def lines(self, origin: str) -> str:
        """Format the values as lines of text. Invalid values are written as typed."""
        return "\n".join((f"{OFF} " if each.is_off else "") + self._line(each, origin) for each in self.values)

    def with_more(self, fields: Iterable[Mapping[str, str]]) -> "TypedValues":
        """Return a copy with more values. The new values replace an empty last value."""
        found = [{**blank_fields(self.layout), **each} for each in fields]
        kept = self.values[:-1] if found and self._has_untouched_end else self.values
        return replace(self, values=(*kept, *map(TypedValue, found))[:MOST_VALUES])

    def with_blank(self) -> "TypedValues":
        """Return a copy with an empty value appended."""
        return replace(self, values=(*self.values, *blank(self.layout).values))

    def without(self, number: int) -> "TypedValues":
        """Return a copy without the value with this number. If it was the only value, an empty value remains."""
        kept = self.values[:number] + self.values[number + 1 :]
        return replace(self, values=kept or blank(self.layout).values)

    def as_type(self, layout: Layout) -> "TypedValues":
        """Convert the values to another type. Fields with the same name keep their input.

        If the other type allows only one value, only the first one remains.
        """
        if layout == self.layout:
            return self
        moved = []
        for value in self.values:
            typed = {name: text for name, text in value.fields.items() if text != blank_fields(self.layout)[name]}
            fields = blank_fields(layout)
            moved.append(replace(value, fields=fields | {name: typed[name] for name in fields.keys() & typed.keys()}))
        return TypedValues(layout, tuple(moved[:1] if layout.is_single else moved))

    @property
    def _has_untouched_end(self) -> bool:
        return bool(self.values) and is_untouched(self.layout, self.values[-1].fields)

    def _faults(self, value: TypedValue, origin: str) -> dict[str, str]:
        try:
            format_fields(self.layout, value.fields, origin)
        except BadFields as exc:
            return exc.faults
        return {}

    def _line(self, value: TypedValue, origin: str) -> str:
        try:
            return format_fields(self.layout, value.fields, origin)
        except BadFields:
            return joined_as_typed(self.layout, value.fields)


@dataclass(frozen=True, slots=True)
class DrawnValue:
    """One value, as rendered on the page."""

    owner: TypedValues
    number: int

    @property
    def value(self) -> TypedValue:
        return self.owner.values[self.number]

    @property
    def title(self) -> str:
        return (
            gettext("Value {value}").format(value=self.number + 1) if len(self.owner.values) > 1 else gettext("Value")
        )

    @property
    def fault(self) -> str:
        """The error that doesn't belong to a single field, or ""."""
        return self.value.faults.get(OF_ALL, "")

    @property
    def inputs(self) -> list[TypedInput]:
        return [self._input(each) for each in self.owner.layout.all_fields]

    def _input(self, each: Field) -> TypedInput:
        value = self.value
        return TypedInput(each, _name(self.number, each), value.fields[each.name], value.faults.get(each.name, ""))


def blank(layout: Layout) -> TypedValues:
    """Return a new RRset's values for this type: one empty value."""
    return TypedValues(layout, (TypedValue(blank_fields(layout)),))


def typed_values(layout: Layout, typed: Mapping[str, object]) -> TypedValues:
    """Return the values from a submitted form."""
    count = str(typed.get("count", ""))
    number = int(count) if count.isascii() and count.isdigit() and len(count) < 4 else 1
    found = []
    for at in range(min(max(number, 1), MOST_VALUES)):
        fields = {each.name: str(typed.get(_name(at, each), ""))[:LONGEST_FIELD] for each in layout.all_fields}
        found.append(TypedValue(fields, is_off=f"v{at}-off" in typed))
    return TypedValues(layout, tuple(found))


def values_of_lines(layout: Layout, text: str, zone: str, *, means: Reading | None = None) -> TypedValues:
    """Parse lines into values. Raise Unreadable for invalid or too many lines, AmbiguousName for an unclear name."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MOST_VALUES:
        raise Unreadable(
            gettext("{lines} values are too many for the form. Edit them as text.").format(lines=len(lines))
        )
    found = []
    for number, line in enumerate(lines, 1):
        is_off = line.startswith(OFF)
        try:
            value = read_rdata(layout.type, line.removeprefix(OFF).strip(), zone, means=means)
        except Unreadable as exc:
            raise Unreadable(
                gettext("Line {number} cannot be edited in the form. {message}").format(
                    number=number, message=exc.message
                ),
                exc.column,
            ) from exc
        found.append(TypedValue(parse_fields(layout, value.rdata), is_off))
    return TypedValues(layout, tuple(found)) if found else blank(layout)


def _name(number: int, each: Field) -> str:
    return f"v{number}-{each.name}"
