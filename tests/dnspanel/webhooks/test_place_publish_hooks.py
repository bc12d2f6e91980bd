"""Tests of publish hooks: administration, and no publication by any function without a hook's approval."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from dnspanel.accounts.actors.actors import Grant, Right, SystemRight
from dnspanel.accounts.models import AuditEntry, GrantRow, User
from dnspanel.webhooks import place_publish_hooks
from dnspanel.webhooks.place_publish_hooks import MOST, HookTerms, NewHook
from dnspanel.zones.acting import Acting
from dnspanel.zones.drafts import draft
from dnspanel.zones.errors import HookRefused, RightMissing, RuleRefused, RuleUnknown
from dnspanel.zones.governance.publish_rules import Scope
from dnspanel.zones.models import Channel, Operation, Publication, PublishHook, WhenSilent, Zone
from dnspanel.zones.publishing import bulk, edit, pieces, restore_zones, revision, zone_patches
from dnspanel.zones.publishing.expiry import expiry_of, remove_due, set_expiry
from dnspanel.zones.requests import publish_requests
from dnspanel.zones.settings.settings_of_zone import change_settings
from replication.dns import rdtypes
from replication.dns.rrset import Key
from tests.dnspanel.webhooks.answering import Answering
from tests.dnspanel.webhooks.receiver import HOST, is_signed
from tests.dnspanel.zones.conftest import MakeZone, rr, zone_maker
from tests.people import NOW, make_person

pytestmark = pytest.mark.django_db(transaction=True)

WWW: Key = ("www.example.test.", rdtypes.A)
Place = Callable[..., NewHook]


@pytest.fixture
def make_zone(alice: User) -> MakeZone:
    return zone_maker(alice)


@pytest.fixture
def zone(make_zone: MakeZone) -> Zone:
    return make_zone("www 60 A 192.0.2.1")


@pytest.fixture
def place(answering: Answering, alice: User) -> Place:
    """Return a function that adds a hook at the answering server, and gives the server the secret."""

    def place(scope: Scope | None = None, **terms: Any) -> NewHook:
        given = HookTerms(**{"url": answering.url, "seconds": 5, **terms})
        made = place_publish_hooks.add_hook(
            scope=scope or Scope(), terms=given, reason="Names are checked", author=alice, now=NOW
        )
        answering.secret = made.secret
        return made

    return place


def publish(zone: Zone, author: User | None, value: str = "192.0.2.9", reason: str = "") -> None:
    patch = zone_patches.patch_of_steps(zone, [(WWW, zone_patches.replace_with(rr(f"www 60 A {value}")))])
    under = SystemRight.REPAIR if author is None else None
    zone_patches.publish_patches(patches=[patch], acting=Acting(author, Channel.API, NOW, reason), under=under)


def number(zone: Zone) -> int:
    return Zone.objects.get(pk=zone.pk).revision


def test_a_hook_is_asked_about_exactly_what_is_published_before_it_is(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    made = place(Scope(zone=zone))
    before: list[int] = []
    answering.allow(ticket="OPS-7", meanwhile=lambda: before.append(number(zone)))
    publish(zone, alice, reason="A move")
    (received,) = answering.received
    assert is_signed(received, made.secret, at=answering.now)
    question = answering.questions[0]
    assert len(question.pop("digest")) == 64
    assert question == {
        "event": "publication.ask",
        "actor": {"kind": "user", "user": "alice", "token": None},
        "channel": "api",
        "reason": "A move",
        "complete": True,
        "zones": [
            {
                "zone": "example.test.",
                "kind": "change",
                "revision": number(zone),
                "count": 1,
                "changes": [
                    {
                        "name": "www.example.test.",
                        "type": "A",
                        "before": rr("www 60 A 192.0.2.1").to_json(),
                        "after": rr("www 60 A 192.0.2.9").to_json(),
                    }
                ],
            }
        ],
    }
    assert before == [zone.revision]  # the question came before the publication
    entry = AuditEntry.objects.get(action="publication.hooks")
    assert entry.details["hooks"] == [{"hook": made.hook.pk, "answer": "yes", "reason": "", "ticket": "OPS-7"}]


def test_a_hook_that_says_no_keeps_the_draft_and_is_in_the_audit_log(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    answering.refuse("No names like that.", ticket="OPS-8")
    before = number(zone)
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www 60 A 192.0.2.9"), now=NOW)
    with pytest.raises(HookRefused, match=r"rejected the change: No names like that\. \(OPS-8\)"):
        revision.publish(acting=Acting(alice, Channel.WEB, NOW))
    assert (number(zone), Operation.objects.count()) == (before, 1)
    entry = AuditEntry.objects.get(action="hook.no")
    assert (entry.user, entry.target, entry.details["reason"]) == (alice, zone.name, "No names like that.")
    answering.refuse("No.")
    with pytest.raises(HookRefused):  # hooks can't be passed
        revision.publish(
            acting=Acting(alice, Channel.WEB, NOW), consent=revision.Consent(reason="Fire", past_rules=True)
        )
    assert len(answering.received) == 2


def test_what_a_silent_hook_means_is_as_it_was_placed(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    refusing = place().hook
    answering.answer(500)
    with pytest.raises(HookRefused, match=r"didn’t respond: the response has status 500\."):
        publish(zone, alice)
    place_publish_hooks.lift_hook(hook_id=refusing.pk, author=alice, now=NOW)
    passing = place(when_silent=WhenSilent.PASS).hook
    answering.answer(500)
    publish(zone, alice)
    assert AuditEntry.objects.filter(action="hook.silent").count() == 2
    (told,) = AuditEntry.objects.get(action="publication.hooks").details["hooks"]
    assert (told["hook"], told["answer"]) == (passing.pk, "silent")


def test_who_publishes_reads_the_name_of_a_hook_that_is_down_and_not_where_it_is(
    zone: Zone, alice: User, place: Place
) -> None:
    hook = place(name="Naming rules", url="http://receiver.test:9999/secret-path").hook
    with pytest.raises(HookRefused) as refused:
        publish(zone, alice)
    assert "“Naming rules” (Names are checked) didn’t respond" in str(refused.value)
    assert "receiver.test" not in str(refused.value)
    hook.refresh_from_db()
    assert "Couldn’t connect to receiver.test" in hook.error


def test_a_changed_hook_is_asked_anew_where_it_is_and_as_it_is(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    made = place(Scope(zone=zone))
    with Answering() as other:
        other.secret = made.secret  # this one stays

        def change() -> None:
            terms = HookTerms(f"{other.url}moved", 3, WhenSilent.PASS, "Names")
            place_publish_hooks.change_hook(
                hook=made.hook, scope=Scope(), terms=terms, reason="New", author=alice, now=NOW
            )

        answering.allow(meanwhile=change)  # the hook says yes, but is replaced by then
        other.refuse("Not here.")
        with pytest.raises(HookRefused, match=r"“Names” rejected the change: Not here\."):
            publish(zone, alice)
        assert (len(answering.received), len(other.received)) == (1, 1)
    entry = AuditEntry.objects.get(action="hook.change")
    assert entry.details["changed"] == ["name", "reason", "seconds", "url", "when_silent", "zone"]
    assert (entry.details["before"]["seconds"], entry.details["after"]["host"]) == (5, HOST)
    assert "moved" not in str(entry.details)
    terms = HookTerms(answering.url)
    with pytest.raises(RuleRefused, match="Someone else has changed this hook"):
        place_publish_hooks.change_hook(hook=made.hook, scope=Scope(), terms=terms, reason="Old", author=alice, now=NOW)


def test_a_new_secret_is_told_once_and_the_old_one_counts_for_a_day(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    made = place()
    rotated = place_publish_hooks.rotate_secret(hook_id=made.hook.pk, author=alice, now=answering.now)
    assert rotated.secret != made.secret
    for secret, value in ((made.secret, "192.0.2.40"), (rotated.secret, "192.0.2.41")):
        answering.secret = secret
        answering.allow()
        publish(zone, alice, value)
        assert is_signed(answering.received[-1], secret, at=answering.now)
    PublishHook.objects.update(old_secret_until=answering.now)
    answering.secret = made.secret
    answering.allow()
    with pytest.raises(HookRefused, match="isn’t signed"):
        publish(zone, alice)
    assert AuditEntry.objects.filter(action="hook.rotate").count() == 1


def test_what_others_change_while_a_hook_thinks_is_asked_anew(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    answering.allow(meanwhile=lambda: publish(zone, None, "192.0.2.50"))
    answering.refuse("Not over that.")
    with pytest.raises(HookRefused, match=r"Not over that\."):
        publish(zone, alice)
    first, second = answering.questions
    befores = [each["zones"][0]["changes"][0]["before"]["rdata"] for each in (first, second)]
    assert befores == [["192.0.2.1"], ["192.0.2.50"]]
    assert first["digest"] != second["digest"]


def test_a_change_that_moves_each_time_is_refused_in_the_end(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    for last in (50, 51, 52):
        answering.allow(meanwhile=lambda last=last: publish(zone, None, f"192.0.2.{last}"))
    with pytest.raises(HookRefused, match="Other people changed the same records"):
        publish(zone, alice)
    assert len(answering.received) == 3


def test_a_hook_that_is_placed_while_another_thinks_is_asked_too(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place(Scope(zone=zone))
    answering.allow(meanwhile=lambda: place(Scope()))
    answering.allow()
    publish(zone, alice)
    assert len(answering.received) == 2


def test_another_zone_costs_no_query_and_the_panel_itself_is_not_asked(
    zone: Zone, make_zone: MakeZone, alice: User, place: Place, answering: Answering
) -> None:
    other = make_zone(name="other.test.")
    publish(zone, alice, "192.0.2.40")
    with CaptureQueriesContext(connection) as before:
        publish(zone, alice, "192.0.2.41")
    place(Scope(zone=other))
    place(Scope(tag="shop"))
    with CaptureQueriesContext(connection) as after:
        publish(zone, alice, "192.0.2.42")
    assert len(after) == len(before)
    gone = [(other.pk, number(other))]
    bulk.delete_zones(zones=gone, acting=Acting(None, Channel.SYSTEM, NOW), confirmed=True, under=SystemRight.REPAIR)
    assert answering.received == []


def _create(zone: Zone, alice: User) -> None:
    edit.create_zone(
        zone=edit.NewZone("new.test", [rr("new.test. 60 A 192.0.2.7")]), acting=Acting(alice, Channel.WEB, NOW)
    )


def _delete(zone: Zone, alice: User) -> None:
    edit.delete_zone(zone=zone, acting=Acting(alice, Channel.WEB, NOW))


def _large(zone: Zone, alice: User) -> None:
    steps = [
        ((f"h{n}.example.test.", rdtypes.A), zone_patches.replace_with(rr(f"h{n} 60 A 192.0.2.1")))
        for n in range(pieces.PIECE_RRSETS + 1)
    ]
    patch = zone_patches.patch_of_steps(zone, steps)
    zone_patches.publish_patches(patches=[patch], acting=Acting(alice, Channel.API, NOW))


def _request(zone: Zone, alice: User) -> None:
    draft.replace_rrset(author=alice, zone=zone, rrset=rr("www 60 A 192.0.2.9"), now=NOW)
    made = publish_requests.ask(
        author=alice, name="Later", now=NOW, terms=publish_requests.Terms(publish_at=NOW + timedelta(hours=1))
    )
    publish_requests.publish_due(now=NOW + timedelta(hours=2))
    made.refresh_from_db()
    if made.refusal:
        raise HookRefused({}, made.refusal)


ACTS: dict[str, Callable[[Zone, User], None]] = {
    "a patch": publish,
    "a creation": _create,
    "a deletion": _delete,
    "a large patch": _large,
    "a request at its time": _request,
}


@pytest.mark.parametrize("act", ACTS)
def test_every_verb_asks_and_publishes_nothing_without_a_yes(
    act: str, zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    before = Publication.objects.count()
    answering.refuse("No.")
    with pytest.raises(HookRefused, match=r"rejected the change: No\."):
        ACTS[act](zone, alice)
    assert Publication.objects.count() == before
    assert len(answering.received) == 1


def test_a_creation_is_asked_with_its_content_and_a_restored_zone_again(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    for _ in range(3):
        answering.allow()
    _create(zone, alice)
    _delete(zone, alice)
    edit.restore_zone(zone=zone, author=alice, channel=Channel.WEB, now=NOW)
    created, deleted, restored = (each["zones"][0] for each in answering.questions)
    assert (created["zone"], created["kind"], created["count"]) == ("new.test.", "create", 3)
    assert ("new.test.", "A") in {(each["name"], each["type"]) for each in created["changes"]}
    assert [(each["zone"], each["kind"]) for each in (deleted, restored)] == [
        (zone.name, "delete"),
        (zone.name, "restore"),
    ]


def test_a_long_question_lists_a_part_and_its_digest_is_of_all(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    place()
    answering.allow()
    answering.allow()
    _large(zone, alice)
    first = answering.questions[0]
    assert (first["complete"], first["zones"][0]["count"]) == (False, pieces.PIECE_RRSETS)
    assert len(first["zones"][0]["changes"]) < pieces.PIECE_RRSETS
    assert len(answering.received) == 2  # one question for each piece


def test_many_zones_leave_those_alone_for_which_a_hook_says_no(
    zone: Zone, make_zone: MakeZone, alice: User, place: Place, answering: Answering
) -> None:
    other = make_zone(name="other.test.")
    place(Scope(zone=zone))
    answering.refuse("No.")
    publication, left = bulk.delete_zones(
        zones=[(each.pk, each.revision) for each in (zone, other)],
        acting=Acting(alice, Channel.WEB, NOW),
        confirmed=True,
    )
    assert publication is not None
    assert left == [zone.pk]
    assert list(Zone.objects.filter(deleted_at=None)) == [zone]
    change = bulk.ZoneChange(zone.pk, number(zone), {WWW: rr("www 60 A 192.0.2.33")})
    answering.refuse("No.")
    assert bulk.change_zones(changes=[change], acting=Acting(alice, Channel.IMPORT, NOW)) == (None, [zone.pk])
    answering.allow()
    changed, _ = bulk.change_zones(changes=[change], acting=Acting(alice, Channel.IMPORT, NOW))
    assert changed is not None
    answering.refuse("No.")
    terms: dict[str, Any] = {"acting": Acting(alice, Channel.IMPORT, NOW)}
    assert bulk.undo_zone_changes(sequence=changed.sequence, **terms) == (None, [(zone.name, *WWW)])


def test_many_restored_zones_leave_those_in_the_trash_for_which_a_hook_says_no(
    zone: Zone, make_zone: MakeZone, alice: User, place: Place, answering: Answering
) -> None:
    both = [zone, make_zone(name="other.test.")]
    bulk.delete_zones(zones=[(each.pk, number(each)) for each in both], acting=Acting(None, Channel.WEB, NOW))
    place(Scope(zone=zone))
    answering.refuse("Not this one.")
    done = restore_zones.restore_zones(zones=both, acting=Acting(alice, Channel.WEB, NOW))
    assert [each.name for each in done.outcome.changed] == ["other.test."]
    ((kept, reason),) = done.outcome.refused
    assert (kept.pk, "Not this one." in reason) == (zone.pk, True)
    assert len(done.publications) == 1


def test_what_expires_stays_with_the_reason_of_the_hook(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    set_expiry(zone=zone, key=WWW, remove_at=NOW + timedelta(hours=1), author=alice, now=NOW)
    place()
    answering.refuse("Still in use.")
    remove_due(now=NOW + timedelta(hours=2))
    expiry = expiry_of(zone, WWW)
    assert expiry is not None
    assert "Still in use." in expiry.refusal


def test_who_governs_places_and_lifts_and_nobody_leaves_a_hook_by_a_tag(
    zone: Zone, alice: User, place: Place, answering: Answering
) -> None:
    mia = make_person("mia", "member")
    grant = Grant(frozenset({Right.READ, Right.GOVERN}), zones=frozenset({zone.pk}))
    GrantRow.objects.create(user=mia, grant=grant.to_json(), created_at=NOW)
    erin = make_person("erin", "editor")
    everywhere = place().hook
    terms = HookTerms(answering.url)
    for author, scope in ((erin, Scope(zone=zone)), (mia, Scope())):
        with pytest.raises(RightMissing):
            place_publish_hooks.add_hook(scope=scope, terms=terms, reason="Mine", author=author, now=NOW)
    mine = place_publish_hooks.add_hook(scope=Scope(zone=zone), terms=terms, reason="Mine", author=mia, now=NOW).hook
    assert place_publish_hooks.hooks(mia) == [mine]
    with pytest.raises(RuleUnknown):
        place_publish_hooks.lift_hook(hook_id=everywhere.pk, author=mia, now=NOW)
    with pytest.raises(RightMissing):
        place_publish_hooks.lift_hook(hook_id=mine.pk, author=erin, now=NOW)
    with pytest.raises(RightMissing):  # a right over one zone doesn't allow a hook for all zones
        place_publish_hooks.change_hook(hook=mine, scope=Scope(), terms=terms, reason="Mine", author=mia, now=NOW)
    for verb in (place_publish_hooks.rotate_secret, place_publish_hooks.lift_hook):
        with pytest.raises(RuleUnknown):
            verb(hook_id=everywhere.pk, author=mia, now=NOW)
    with pytest.raises(RuleUnknown):
        place_publish_hooks.try_hook(hook_id=everywhere.pk, author=mia, clock=lambda: NOW)
    assert answering.received == []
    place_publish_hooks.lift_hook(hook_id=mine.pk, author=mia, now=NOW)
    Zone.objects.filter(pk=zone.pk).update(tags=["shop"])
    place(Scope(tag="shop"))
    with pytest.raises(RightMissing):
        change_settings(zone=zone, tags=[], team=None, author=erin, now=NOW)
    assert AuditEntry.objects.filter(action="hook.place").count() == 3
    placed = AuditEntry.objects.filter(action="hook.place").first()
    assert placed is not None
    assert placed.details["host"] == HOST


@pytest.mark.parametrize(
    ("terms", "field"),
    [
        ({"url": "https://10.0.0.1/"}, "url"),
        ({"url": "ftp://receiver.test/"}, "url"),
        ({"seconds": 0}, "seconds"),
        ({"seconds": 11}, "seconds"),
        ({"when_silent": "maybe"}, "when_silent"),
        ({"name": "x" * 41}, "name"),
    ],
    ids=["private address", "scheme", "no time", "too long", "silence", "name"],
)
def test_a_hook_that_cannot_be_is_refused_at_its_field(terms: dict[str, Any], field: str, place: Place) -> None:
    with pytest.raises(RuleRefused) as refused:
        place(**terms)
    assert refused.value.field == field


def test_there_are_not_more_hooks_than_can_be_asked_at_once(place: Place) -> None:
    for _ in range(MOST):
        place()
    with pytest.raises(RuleRefused, match=f"The limit of {MOST} has been reached"):
        place()
    assert PublishHook.objects.count() == MOST
