"""Create zones from a template: the available templates, their variables, and the records that they add."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dnspanel.accounts.models import User
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates import access, use
from dnspanel.transfer.zone_templates.template_content import variables_stored, version_of
from dnspanel.web.frame.new_zone_forms import MOST_REFUSALS, NewZoneForm
from dnspanel.web.frame.variable_fields import VariablesForm
from dnspanel.zones.errors import TemplateRefused
from dnspanel.zones.models import TemplateKind, ZoneTemplate
from dnspanel.zones.publishing.edit import NewZone
from dnspanel.zones.rules import rules, violations


@dataclass(frozen=True, slots=True)
class Beginning:
    """The chosen template and the fields for its variables. Both are None if no template is chosen."""

    template: ZoneTemplate | None = None
    variables: VariablesForm | None = None


NOTHING = Beginning()


def templates_to_choose_from(user: User) -> tuple[list[tuple[int, str]], list[ZoneTemplate]]:
    """Return (id, name with team) of the zone templates, and the name server sets, that the user is allowed to see."""
    found = list(access.templates_visible_to(user).exclude(kind=TemplateKind.SNIPPET))
    named = [
        (template.pk, f"{template.name} ({template.team.name})" if template.team else template.name)
        for template in found
        if template.kind == TemplateKind.ZONE
    ]
    return named, [template for template in found if template.kind == TemplateKind.SERVERS]


def beginning(user: User, template_id: object, typed: Mapping[str, str], *, is_sent: bool) -> Beginning:
    """Return the zone template with this id and the form for its variables, or NOTHING if the user can't see it.

    If `is_sent`, the form validates the values in `typed`. Otherwise, these are its initial values.
    """
    text = str(template_id or "")
    if not (text.isascii() and text.isdigit()) or len(text) > 9:
        return NOTHING
    template = access.templates_visible_to(user).filter(kind=TemplateKind.ZONE, pk=int(text)).first()
    if template is None:
        return NOTHING
    variables = variables_stored(version_of(template))
    form = VariablesForm(typed if is_sent else None, variables=variables, initial=typed)
    return Beginning(template, form)


def using_of(begins: Beginning) -> use.Using | None:
    """Return the template with its values, or None if no template is chosen.

    If the values are invalid, add the errors to the form and return None.
    """
    if begins.template is None or begins.variables is None or not begins.variables.is_valid():
        return None
    try:
        return use.using(begins.template, begins.variables.values)
    except TemplateRefused as exc:
        begins.variables.refuse_fields(exc)
        return None


def with_records(using: use.Using, begins: Beginning, form: NewZoneForm) -> list[NewZone]:
    """Return a valid form's zones with the template's records. If errors occur, add them to the forms and return []."""
    zones: Sequence[NewZone] = form.cleaned_data["zones"]
    assert begins.variables is not None
    if len(zones) > use.MOST_NEW_ZONES:
        form.refuse(
            "names",
            gettext("You can create at most {most_new_zones} zones at once from a template.").format(
                most_new_zones=use.MOST_NEW_ZONES
            ),
        )
        return []
    found: list[NewZone] = []
    told: set[str] = set()
    for zone in zones:
        made, faults = use.with_template(using, zone)
        begins.variables.refuse_at(faults[:MOST_REFUSALS])
        if faults:
            return []
        by_key = {(each.name, each.type): each for each in made.rrsets or ()}
        for violation in rules.check_zone(made.name, by_key, by_key.keys()):
            if violation.severity == violations.Severity.ERROR and len(told) < MOST_REFUSALS:
                told.add(violation.message)
        found.append(made)
    for message in sorted(told):
        form.refuse("template", message)
    return [] if told else found
