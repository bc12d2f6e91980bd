"""Check a template before its first use, with sample values, and infer the kinds of its variables. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates.template_content import Made, make_records
from dnspanel.zones.settings.template_text import (
    KIND_LABELS,
    OPEN,
    BadText,
    Fault,
    Variable,
    VariableKind,
    variables_of,
)

SAMPLE_ZONE = "example.com."
# Longer lines are not tried: a text has up to 50 variables, and each try reads the line again.
_LONGEST_LINE = 1_000
# A value that is only valid where any text is allowed: it isn't a valid name, address or number.
_ONLY_TEXT = "a..b"
# A host name is tried before addresses, because an address is also a valid relative name.
_ORDER = (VariableKind.TEXT, VariableKind.HOSTNAME, VariableKind.IPV4, VariableKind.IPV6, VariableKind.NUMBER)


def try_text(text: str, variables: Sequence[Variable]) -> Made:
    """Return the text's RRsets with default or sample values for the variables.

    Undeclared or unused variables are faults. If a variable's kind doesn't fit its record, the fault names the right
    kind instead of the sample value, which the author never entered.
    """
    try:
        used = variables_of(text)
    except BadText as exc:
        return Made((), exc.faults)
    declared = {variable.name: variable for variable in variables}
    faults = [
        Fault(0, 0, gettext("Choose a kind for the variable {name}.").format(name=name), name)
        for name in used
        if name not in declared
    ]
    unused = declared.keys() - set(used)
    faults += [
        Fault(0, 0, gettext("The variable {name} doesn’t appear in the text.").format(name=name), name)
        for name in sorted(unused)
    ]
    if faults:
        return Made((), tuple(faults))
    values = {variable.name: variable.sample for variable in variables}
    made = make_records(text, variables, values, zone=SAMPLE_ZONE, name=SAMPLE_ZONE)
    return replace(made, faults=tuple(_without_sample(fault, text, declared) for fault in made.faults))


def infer_kinds(text: str, declared: Mapping[str, Variable]) -> dict[str, VariableKind]:
    """Return each variable's kind: the declared kind, or the kind that fits the first line with the variable.

    If no kind fits, the kind is text. Raise BadText for invalid variables.
    """
    found = dict(declared)
    used = variables_of(text)
    for name in used:
        if name not in declared:
            found[name] = Variable(name, name, fitting_kind(text, name, found) or VariableKind.TEXT)
    return {name: found[name].kind for name in used}


def fitting_kind(text: str, name: str, declared: Mapping[str, Variable]) -> VariableKind | None:
    """Return the first kind that makes the variable's first line valid, or None if none fits or the line is long."""
    line = next((line for line in text.split("\n") if OPEN in line and name in _names_in(line)), "")
    if not line or len(line) > _LONGEST_LINE:
        return None
    if line[0].isspace():
        line = f"@{line}"  # the owner of the record above
    others = [declared.get(other) or Variable(other, other, VariableKind.TEXT) for other in _names_in(line)]
    for kind in _ORDER:
        tried = Variable(name, name, kind)
        variables = [tried if variable.name == name else variable for variable in others]
        values = {variable.name: variable.sample for variable in variables}
        if kind is VariableKind.TEXT:
            values[name] = _ONLY_TEXT
        made = make_records(line, variables, values, zone=SAMPLE_ZONE, name=SAMPLE_ZONE)
        # A fault without a variable is in a token that contains the variable, such as 192.0.2.{{ ip }}.
        if all(fault.variable not in ("", name) for fault in made.faults):
            return kind
    return None


def _without_sample(fault: Fault, text: str, declared: Mapping[str, Variable]) -> Fault:
    """Return the fault, with a message about the variable if a sample value causes the fault."""
    names = [fault.variable] if fault.variable else _names_in(text.split("\n")[fault.line - 1]) if fault.line else []
    for variable in (declared[name] for name in names if name in declared and not declared[name].default):
        kind = fitting_kind(text, variable.name, declared)
        if kind is None:
            message = gettext("The record isn’t valid with any value for the variable {name}.")
            return replace(fault, message=message.format(name=variable.name))
        if kind is not variable.kind:
            message = gettext("The variable {name} must have the kind “{kind}” here.")
            return replace(fault, message=message.format(name=variable.name, kind=gettext(KIND_LABELS[kind])))
    return fault


def _names_in(line: str) -> list[str]:
    try:
        return variables_of(line)
    except BadText:
        return []
