"""Tests of second-factor rules in the API: set together, and only by a token with all rights of its owner."""

from dnspanel.accounts.actors.actors import Permission
from dnspanel.accounts.models import AuditEntry, OwnRole, Team, User
from dnspanel.accounts.tokens.token_terms import TokenTerms
from dnspanel.accounts.tokens.tokens import create_token
from tests.dnspanel.api.callers import Api, MakeApi
from tests.people import NOW

RULES = "/api/v2/second-factor-rules"


def test_the_rules_are_said_and_read_again(api: MakeApi) -> None:
    admin = api()
    none = admin.get(RULES)
    assert none.json() == {"roles": [], "teams": [], "grace_days": 14, "rules": []}
    team = Team.objects.create(name="Web", created_at=NOW)
    role = OwnRole.objects.create(name="Auditor", rights=["read"], created_at=NOW)
    body = {"roles": ["administrator", f"own:{role.pk}", "administrator"], "teams": [team.pk], "grace_days": 7}
    after = admin.put(RULES, body)
    assert after.status_code == 200
    found = after.json()
    assert (set(found["roles"]), found["teams"], found["grace_days"]) == (
        {"administrator", f"own:{role.pk}"},
        [team.pk],
        7,
    )
    assert len(found["rules"]) == 3
    assert admin.get(RULES).json() == found
    assert AuditEntry.objects.filter(action="second-factor.rule").count() == 3
    # A writer with an outdated ETag changes nothing.
    late = admin.put(RULES, {"roles": []}, headers={"If-Match": none["ETag"]})
    assert late.status_code == 412
    assert admin.put(RULES, {}).json()["rules"] == []


def test_what_there_is_not_is_said_where_it_stands(api: MakeApi) -> None:
    for body, pointer in (
        ({"roles": ["editor", "own:99"]}, "/roles/1"),
        ({"teams": [99]}, "/teams/0"),
        ({"grace_days": 91}, "/grace_days"),
    ):
        refused = api().put(RULES, body)
        assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (422, pointer)


def test_a_token_for_people_alone_frees_nobody_of_it(api: MakeApi, alice: User) -> None:
    api().put(RULES, {"roles": ["administrator"]})
    terms = TokenTerms("people", permissions=frozenset({Permission.PEOPLE}))
    narrow = Api(create_token(owner=alice, terms=terms, by=None, now=NOW).secret)
    assert narrow.get(RULES).status_code == 200
    assert narrow.put(RULES, {"roles": []}).status_code == 403
    assert api().get(RULES).json()["roles"] == ["administrator"]
