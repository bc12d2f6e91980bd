"""Create, change and delete templates, publish versions of them, and set defaults. Verbs.

This module does not change any zone. Zones only change if a run (`runs`) or a person (`use`) applies a version.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from dnspanel.accounts.actors.actors import Author, user_of
from dnspanel.accounts.audit import audit
from dnspanel.accounts.models import Team
from dnspanel.database.first_rows import first_or
from dnspanel.field_faults import name_taken
from dnspanel.texts import gettext
from dnspanel.transfer.zone_templates import access
from dnspanel.transfer.zone_templates.template_content import variables_stored, version_of
from dnspanel.transfer.zone_templates.try_text import try_text
from dnspanel.zones.errors import TemplateMoved, TemplateRefused, TemplateUnknown
from dnspanel.zones.models import TemplateKind, TemplateLink, TemplateVersion, ZoneTemplate
from dnspanel.zones.settings.server_sets import Servers
from dnspanel.zones.settings.template_text import BUILT_IN, LONGEST_LABEL, Fault, Variable, word_of

MOST_TEMPLATES = 500
MOST_VERSIONS = 1_000
LONGEST_NAME = 64
LONGEST_NOTE = 500
MOST_TOLD = 50  # the largest number of faults that are reported for a text


@dataclass(frozen=True, slots=True)
class Text:
    """A template version's content: its text, variables and note, and the servers in a set of name servers."""

    text: str
    variables: Sequence[Variable] = ()
    note: str = ""
    servers: Servers | None = None  # for a set of name servers; `text` has them too


@dataclass(frozen=True, slots=True)
class Head:
    """A template's name, description and owner team. A panel-wide template has no team."""

    name: str
    team: Team | None = None
    description: str = ""


def create_template(*, head: Head, kind: str, content: Text, by: Author, now: datetime) -> ZoneTemplate:
    """Create a template with version 1.

    Raise Forbidden if the author isn't allowed to create templates for the team. Raise TemplateRefused for invalid
    fields or content, a name that is in use, or too many templates.
    """
    access.require_change_in(by, head.team)
    head = _checked_head(head)
    if kind not in TemplateKind.values:
        raise TemplateRefused({"kind": [gettext("Choose whole zones or records at a name.")]})
    _refuse_other_kind(kind, content)
    content = check_text(content)
    try:
        with transaction.atomic():
            # The lock makes concurrent creations wait, so that the limit holds.
            if len(ZoneTemplate.objects.select_for_update().order_by("pk").values_list("pk")) >= MOST_TEMPLATES:
                raise TemplateRefused(
                    {
                        "name": [
                            gettext("You can’t create more than {most_templates} templates.").format(
                                most_templates=MOST_TEMPLATES
                            )
                        ]
                    }
                )
            template = ZoneTemplate.objects.create(
                name=head.name, kind=kind, team=head.team, description=head.description, created_at=now, changed_at=now
            )
            _store_version(template, 1, content, by, now)
            audit.record(
                action="template.create", by=by, now=now, target=head.name, kind=kind, team=_team_name(head.team)
            )
    except IntegrityError as exc:
        raise _name_taken(head.name) from exc
    return template


def change_template(*, template: ZoneTemplate, head: Head, by: Author, now: datetime) -> ZoneTemplate:
    """Change the template's name, team and description. The versions stay. A new team ends its use as a default.

    Raise Forbidden if the author isn't allowed to change templates of the old or the new team. Raise TemplateRefused
    for invalid fields or a name that is in use, or TemplateUnknown if the template was deleted.
    """
    head = _checked_head(head)
    try:
        with transaction.atomic():
            locked = _lock_template(template)
            access.require_change_in(by, locked.team)
            access.require_change_in(by, head.team)
            before = Head(locked.name, locked.team, locked.description)
            if before == head:
                return locked
            locked.name, locked.team, locked.description, locked.changed_at = (
                head.name,
                head.team,
                head.description,
                now,
            )
            locked.is_default = locked.is_default and head.team == before.team
            locked.save(update_fields=["name", "team", "description", "changed_at", "is_default"])
            audit.record(
                action="template.change",
                by=by,
                now=now,
                target=head.name,
                before=before.name,
                team=_team_name(head.team),
                team_before=_team_name(before.team),
            )
    except IntegrityError as exc:
        raise _name_taken(head.name) from exc
    return locked


def publish_version(*, template: ZoneTemplate, content: Text, seen: int, by: Author, now: datetime) -> TemplateVersion:
    """Publish a new version of the template. Linked zones don't change until a run updates them.

    If the newest version has the same text and variables, return that version instead. Raise TemplateRefused for
    invalid content or too many versions, and TemplateMoved if `seen` is not the newest version. Raise Forbidden or
    TemplateUnknown like `change_template`.
    """
    content = check_text(content)
    with transaction.atomic():
        locked = _lock_template(template)
        access.require_change_in(by, locked.team)
        _refuse_other_kind(locked.kind, content)
        newest = version_of(locked)
        if newest.text == content.text and variables_stored(newest) == tuple(content.variables):
            return newest
        if locked.version != seen:
            raise TemplateMoved(found=locked.version)
        if locked.version >= MOST_VERSIONS:
            raise TemplateRefused(
                {
                    "text": [
                        gettext(
                            "A template can have at most {most_versions:,} versions. Create a new template."
                        ).format(most_versions=MOST_VERSIONS)
                    ]
                }
            )
        number = locked.version + 1
        version = _store_version(locked, number, content, by, now)
        ZoneTemplate.objects.filter(pk=locked.pk).update(version=number, changed_at=now)
        audit.record(action="template.publish", by=by, now=now, target=locked.name, version=number, note=content.note)
    return version


def set_default(*, template: ZoneTemplate, is_default: bool, by: Author, now: datetime) -> None:
    """Make the template, a set of name servers, the default for its team's new zones, or clear that default.

    A set without a team is for zones without a team, and for teams without a default. A previous default is replaced.
    Raise TemplateRefused if the template isn't a set of name servers, and Forbidden or TemplateUnknown like
    `change_template`.
    """
    with transaction.atomic():
        # Lock all sets in the same order, so that concurrent choices wait for each other.
        kind = TemplateKind.SERVERS
        of_kind = ZoneTemplate.objects.select_for_update(of=("self",)).filter(kind=kind).order_by("pk")
        locked = {each.pk: each for each in of_kind.select_related("team")}
        chosen = locked.get(template.pk)
        if chosen is None:
            _lock_template(template)
            raise TemplateRefused({"is_default": [gettext("Only a name server set can be the default for new zones.")]})
        access.require_change_in(by, chosen.team)
        if chosen.is_default == is_default:
            return
        ZoneTemplate.objects.filter(team=chosen.team, is_default=True).update(is_default=False)
        ZoneTemplate.objects.filter(pk=chosen.pk).update(is_default=is_default)
        audit.record(
            action="template.default",
            by=by,
            now=now,
            target=chosen.name,
            team=_team_name(chosen.team),
            is_default=is_default,
            before=next((each.name for each in locked.values() if each.is_default and each.team == chosen.team), ""),
        )


def delete_template(*, template: ZoneTemplate, by: Author, now: datetime) -> int:
    """Delete the template with its versions, and return the number of linked zones.

    These zones stay unchanged and are no longer linked. Raise Forbidden or TemplateUnknown like `change_template`.
    """
    with transaction.atomic():
        locked = _lock_template(template)
        access.require_change_in(by, locked.team)
        links = TemplateLink.objects.filter(template=locked).count()
        ZoneTemplate.objects.filter(pk=locked.pk).delete()
        audit.record(
            action="template.delete",
            by=by,
            now=now,
            target=locked.name,
            team=_team_name(locked.team),
            versions=locked.version,
            linked_zones=links,
        )
    return links


def _store_version(template: ZoneTemplate, number: int, content: Text, by: Author, now: datetime) -> TemplateVersion:
    return TemplateVersion.objects.create(
        template=template,
        number=number,
        text=content.text,
        variables=[variable.to_json() for variable in content.variables],
        servers=None if content.servers is None else content.servers.to_json(),
        note=content.note,
        at=now,
        author=user_of(by),
    )


def _refuse_other_kind(kind: str, content: Text) -> None:
    if (kind == TemplateKind.SERVERS) != (content.servers is not None):
        raise TemplateRefused(
            {"text": [gettext("Only a name server set can have name servers, but it can’t have record text.")]}
        )


def _lock_template(template: ZoneTemplate) -> ZoneTemplate:
    return first_or(
        ZoneTemplate.objects.select_for_update(of=("self",)).select_related("team").filter(pk=template.pk),
        TemplateUnknown,
    )


def _checked_head(head: Head) -> Head:
    name = " ".join(head.name.split())
    if not name or not name.isprintable():
        raise TemplateRefused({"name": [gettext("Enter a name with visible characters.")]})
    if len(name) > LONGEST_NAME:
        raise TemplateRefused(
            {"name": [gettext("Enter at most {longest_name} characters.").format(longest_name=LONGEST_NAME)]}
        )
    return Head(name, head.team, _checked_line("description", head.description))


def _checked_line(field: str, text: str) -> str:
    text = " ".join(text.split())
    if len(text) > LONGEST_NOTE or not text.isprintable():
        raise TemplateRefused(
            {field: [gettext("Enter at most {longest_note} visible characters.").format(longest_note=LONGEST_NOTE)]}
        )
    return text


def check_text(content: Text) -> Text:
    """Return the content with normalized line ends, note, labels and defaults.

    Raise TemplateRefused if the content is invalid or has no records. The fields of the errors are `text`, `note`, and
    `variables/NAME` for an error in a variable.
    """
    note = _checked_line("note", content.note)
    text = content.text.replace("\r\n", "\n").replace("\r", "\n")
    variables = tuple(
        Variable(each.name, " ".join(each.label.split()) or each.name, each.kind, each.default.strip())
        for each in content.variables
    )
    faults = list(_faults_of_variables(variables))
    if not faults:
        made = try_text(text, variables)
        faults = list(made.faults)
        if not faults and not made.rrsets:
            faults = [Fault(0, 0, gettext("Enter at least one record."))]
    if faults:
        fields: dict[str, list[str]] = {}
        for fault in faults[:MOST_TOLD]:
            is_of_variable = fault.variable and not fault.line
            fields.setdefault(f"variables/{fault.variable}" if is_of_variable else "text", []).append(str(fault))
        raise TemplateRefused(fields)
    return Text(text, variables, note, content.servers)


def _faults_of_variables(variables: Sequence[Variable]) -> Iterator[Fault]:
    seen = set()
    for each in variables:
        if each.name in seen:
            yield Fault(
                0, 0, gettext("The variable {name} is declared more than once.").format(name=each.name), each.name
            )
        seen.add(each.name)
        if each.name in BUILT_IN:
            yield Fault(0, 0, gettext("The variable {name} is predefined.").format(name=each.name), each.name)
        if len(each.label) > LONGEST_LABEL or not each.label.isprintable():
            yield Fault(
                0,
                0,
                gettext("A label can have at most {longest_label} visible characters.").format(
                    longest_label=LONGEST_LABEL
                ),
                each.name,
            )
        elif each.default:
            try:
                word_of(each, each.default)
            except ValueError as exc:
                yield Fault(0, 0, gettext("Invalid default: {exc}").format(exc=exc), each.name)


def _team_name(team: Team | None) -> str:
    return team.name if team else ""


def _name_taken(name: str) -> TemplateRefused:
    return TemplateRefused({"name": [name_taken(gettext("A template named {name} already exists.").format(name=name))]})
