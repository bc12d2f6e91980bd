"""Convert group rules of sign-in providers and directories to text and back, one rule per line."""

from collections.abc import Sequence

from django import forms

from dnspanel.accounts.models import OwnRole, Role, Team
from dnspanel.accounts.providers.provider_identity import LONGEST_GROUP, MOST_RULES, Rule
from dnspanel.accounts.texts.canonical import ascii_lower
from dnspanel.texts import gettext, gettext_lazy


class RulesField(forms.CharField):
    """A field for the rules that map groups to roles and teams. Its cleaned value is a tuple of `Rule`."""

    def __init__(self) -> None:
        super().__init__(
            label=gettext_lazy("Group rules"),
            required=False,
            max_length=MOST_RULES * (LONGEST_GROUP + 100),
            help_text=(
                gettext_lazy(
                    "Enter one rule per line, such as “dns-admins = administrator” or “web = editor in Web ops”. If a "
                    "rule assigns a role, roles come only from groups. People without a matching rule become members."
                )
            ),
            widget=forms.Textarea(attrs={"rows": 5, "class": "textarea input-mono", "spellcheck": "false"}),
        )

    def clean(self, value: object) -> tuple[Rule, ...]:
        return rules_in(str(super().clean(value)))


def rules_in(text: str) -> tuple[Rule, ...]:
    """Parse group rules. Team and role names become ids. Raise ValidationError listing at most five invalid lines."""
    teams = {ascii_lower(team.name): team.pk for team in Team.objects.all()}
    own = {ascii_lower(role.name): role.pk for role in OwnRole.objects.all()}
    found, faults = [], []
    for line in filter(None, map(str.strip, text.splitlines())):
        group, _, gives = (part.strip() for part in line.rpartition("="))
        role, within, team = (part.strip() for part in gives.partition(" in "))
        if group and ascii_lower(gives) in own:
            found.append(Rule(group, Role.MEMBER, own_role=own[ascii_lower(gives)]))
        elif not group or role not in Role.values:
            faults.append(gettext("{line}: enter group = role, or group = role in team.").format(line=line[:100]))
        elif within and ascii_lower(team) not in teams:
            faults.append(gettext("{line}: team not found.").format(line=line[:100]))
        else:
            found.append(Rule(group, role, teams[ascii_lower(team)] if within else None))
    if faults:
        raise forms.ValidationError(faults[:5])
    return tuple(found)


def rules_text(rules: Sequence[Rule]) -> str:
    """Return the rules as editable text. Omit rules whose team or custom role was deleted."""
    ids = {rule.team for rule in rules if rule.team is not None}
    teams = dict(Team.objects.filter(pk__in=ids).values_list("pk", "name")) if ids else {}
    roles = {rule.own_role for rule in rules if rule.own_role is not None}
    own = dict(OwnRole.objects.filter(pk__in=roles).values_list("pk", "name")) if roles else {}
    lines = []
    for rule in rules:
        if rule.own_role is not None:
            lines += [f"{rule.group} = {own[rule.own_role]}"] if rule.own_role in own else []
        elif rule.team is None:
            lines.append(f"{rule.group} = {rule.role}")
        elif rule.team in teams:
            lines.append(f"{rule.group} = {rule.role} in {teams[rule.team]}")
    return "\n".join(lines)
