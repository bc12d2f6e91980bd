"""Give a directory's users the roles and teams of their groups, or take them back. Verbs.

As with sign-in providers, rules define a group's role or team. If the directory's settings allow it, a group without a
rule becomes a team.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from dnspanel.accounts.actors.actors import Author
from dnspanel.accounts.models import ScimDirectory, ScimGroup, ScimPerson
from dnspanel.accounts.providers.provider_identity import Outcome, Rule, highest, outcome_of
from dnspanel.accounts.providers.rule_grants import Receiver, apply_outcomes
from dnspanel.database.sql import execute

_AT_ONCE = 5_000
_REMEMBER = """
    UPDATE accounts_scimperson p SET given = w.given::jsonb
    FROM unnest(%s::bigint[], %s::text[]) AS w (id, given) WHERE p.id = w.id"""


def rules_of(directory: ScimDirectory) -> list[Rule]:
    """Return the directory's rules."""
    return [Rule.from_json(each) for each in directory.rules]


def gives_anything(directory: ScimDirectory, group: ScimGroup) -> bool:
    """Return True if membership in the group gives a role or a team."""
    return bool(directory.team_role and group.team_id) or any(rule.group == group.name for rule in rules_of(directory))


def give_by_groups(*, directory: ScimDirectory, people: Sequence[ScimPerson], by: Author, now: datetime) -> None:
    """Give these users the roles and teams of their groups, and remove those that groups no longer give.

    The caller opens the transaction and locks the directory. The number of queries is constant.
    """
    rules, groups = rules_of(directory), _groups_of(people)
    outcomes = [(person, _outcome(directory, rules, groups.get(person.pk, []))) for person in people]
    changing = [(person, outcome) for person, outcome in outcomes if not _is_given(person, outcome)]
    given = apply_outcomes(
        receivers=[Receiver(person.user, person.given, outcome) for person, outcome in changing],
        kind="scim",
        source={"directory": directory.name},
        by=by,
        now=now,
    )
    _set_given([person for person, _ in changing], given)


def take_back(people: Sequence[ScimPerson], *, source: Mapping[str, str], by: Author, now: datetime) -> None:
    """Remove everything that the directory's rules gave these users, inside the caller's transaction."""
    receivers = [Receiver(person.user, person.given, Outcome()) for person in people]
    _set_given(people, apply_outcomes(receivers=receivers, kind="scim", source=source, by=by, now=now))


def _set_given(people: Sequence[ScimPerson], given: Sequence[dict[str, Any]]) -> None:
    """Store each `given` in one statement, because `bulk_update` would write a CASE with thousands of branches."""
    for person, each in zip(people, given, strict=True):
        person.given = each
    if people:
        execute(_REMEMBER, [[person.pk for person in people], list(map(json.dumps, given))])


def _outcome(directory: ScimDirectory, rules: Sequence[Rule], groups: Collection[ScimGroup]) -> Outcome:
    outcome = outcome_of(rules, [group.name for group in groups])
    teams = dict(outcome.teams)
    ruled = {rule.group for rule in rules}
    for group in groups:
        if directory.team_role and group.team_id is not None and group.name not in ruled:
            teams[group.team_id] = highest([directory.team_role, teams.get(group.team_id, directory.team_role)])
    return replace(outcome, teams=teams)


def _is_given(person: ScimPerson, outcome: Outcome) -> bool:
    """Return True if the user needs no update, because groups give nothing now and gave nothing before."""
    was_given = person.given.get("role") is not None or person.given.get("teams")
    return not was_given and outcome.role is None and not outcome.teams


def _groups_of(people: Sequence[ScimPerson]) -> dict[int, list[ScimGroup]]:
    """Return each user's groups, keyed by ScimPerson id."""
    found: dict[int, list[ScimGroup]] = defaultdict(list)
    ids = [person.pk for person in people]
    through = ScimGroup.people.through.objects.select_related("scimgroup")
    for start in range(0, len(ids), _AT_ONCE):
        for row in through.filter(scimperson_id__in=ids[start : start + _AT_ONCE]).order_by("scimgroup_id"):
            found[row.scimperson_id].append(row.scimgroup)
    return found
