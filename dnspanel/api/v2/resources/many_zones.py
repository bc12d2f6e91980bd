"""API resources that change many RRsets or zones in the same way, or delete zones. A search or a list selects them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.request import Request

from dnspanel import rehearsal
from dnspanel.accounts.actors.actors import Actor
from dnspanel.accounts.models import Team
from dnspanel.api.v2.http.accepted import answer_outcome, answer_publication, moved_by
from dnspanel.api.v2.http.dry_run import is_dry_run, reasons_in
from dnspanel.api.v2.http.etag import condition_in, require, tag_of
from dnspanel.api.v2.http.problems import Problem, bad_value, violations_at
from dnspanel.api.v2.http.representation import change_json, violation_json
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation
from dnspanel.api.v2.http.visibility import filter_visible
from dnspanel.api.v2.resources.publishing import Terms, publish
from dnspanel.api.v2.schema import many_serializers
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import read, unclear_in
from dnspanel.api.v2.schema.parsing import Faults, owner_of
from dnspanel.api.v2.schema.query_parameters import CHANGING
from dnspanel.database.statement_time import searching_for
from dnspanel.field_faults import NOT_FOUND
from dnspanel.zones.errors import RuleViolations, SettingsRefused
from dnspanel.zones.lists.selection import MOST_SELECTED, TooMany
from dnspanel.zones.models import Channel
from dnspanel.zones.plan import many_rrsets
from dnspanel.zones.plan.plan import ZonePlan
from dnspanel.zones.publishing import many_settings, zone_patches
from dnspanel.zones.publishing.many_settings import Marks, ZoneSelection, ZonesOutcome, marks_of
from dnspanel.zones.rights import access
from dnspanel.zones.rules.violations import Severity, Violation
from dnspanel.zones.runs.many_zones import KeyByName, WideOutcome, WideSelection, publishable_patches, wide_outcome
from dnspanel.zones.settings.settings_of_zone import teams_to_choose_from
from replication.dns import rdata
from replication.errors import BadName

EXAMPLES = 10
MOST_NAMED = 20
_BY_SEVERITY = {Severity.ERROR: 0, Severity.WARNING: 1}
_WITH_TAGS = {many_serializers.ADD_TAGS: many_rrsets.add_tags, many_serializers.REMOVE_TAGS: many_rrsets.remove_tags}
_WITH_VALUES = {
    many_serializers.SET_VALUES: many_rrsets.set_values,
    many_serializers.ADD_VALUES: many_rrsets.add_values,
    many_serializers.REMOVE_VALUES: many_rrsets.remove_values,
}


class ManyZones(V2View):
    conditional = True

    @api_operation(
        "actOnZones",
        {
            202: many_serializers.ManyZonesWrittenSerializer,
            200: PolymorphicProxySerializer(
                "ManyZonesWrittenOrPreview",
                [many_serializers.ManyZonesWrittenSerializer, many_serializers.ManyZonesPreviewSerializer],
                None,
            ),
        },
        *CHANGING,
        request=many_serializers.ManyZonesSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Change or delete many zones.

        Applies one action to all zones that a search finds, or to the listed zones. Changing tags or the team needs the
        right `settings` and publishes nothing. Deleting needs the `delete-zone` right, takes at most 1,000 zones and
        makes one publication.

        Zones that the token is not allowed to change, or that someone else is changing at that moment, stay unchanged
        and are listed in `outcome`. With `dry_run` nothing is changed. The `ETag` of a dry run can be sent as
        `If-Match`.
        """
        body = read(many_serializers.ManyZonesSerializer, request.data)
        refuse_members(body["act"], many_serializers.MEMBERS_OF_ZONES)
        deletes = body["act"]["op"] == many_serializers.DELETE
        marks = Marks() if deletes else marks_in(body["act"], self.actor)
        preview = _preview(selection_in(body), None if deletes else marks, self.actor)
        counts = _outcome_json(preview)
        tag = tag_of([[zone.pk, zone.revision, zone.tags, zone.team_id] for zone in preview.changed])
        require(condition_in(request), tag, theirs=counts, mine=request.data)
        if is_dry_run(request):
            if deletes:
                _delete(request, preview, body)  # the dry run rolls it back
            examples = [zone.name for zone in preview.changed[:EXAMPLES]]
            reasons = reasons_in(rehearsal.under_way())
            return answer({**counts, "examples": examples, "reasons": reasons}, headers={"ETag": tag})
        if deletes:
            return _delete(request, preview, body)
        done = many_settings.change_marks(zones=preview.changed, marks=marks, author=self.actor, now=timezone.now())
        return answer_publication(
            request, None, {"zones": [], "warnings": [], "outcome": _outcome_json(_both(preview, done))}
        )


def _delete(request: Request, preview: ZonesOutcome, body: Mapping[str, Any]) -> HttpResponse:
    actor = actor_in(request)
    publication, done = many_settings.delete_found(
        zones=preview.changed,
        author=actor,
        channel=Channel.API,
        now=timezone.now(),
        reason=body["reason"],
        confirmed=body["confirm"],
    )
    zones = moved_by(publication, actor) if publication else []
    outcome = _outcome_json(_both(preview, done))
    return answer_publication(request, publication, {"zones": zones, "warnings": [], "outcome": outcome})


def _both(preview: ZonesOutcome, done: ZonesOutcome) -> ZonesOutcome:
    """Return the outcome of the write, plus the zones that the preview refused or left unchanged."""
    refused = {zone.pk: (zone, reason) for zone, reason in [*preview.refused, *done.refused]}
    return ZonesOutcome(done.changed, preview.unchanged + done.unchanged, list(refused.values()))


def _preview(selection: ZoneSelection, marks: Marks | None, actor: Actor) -> ZonesOutcome:
    """Return the outcome of setting `marks`, or of a deletion if None. Raise Problem if too many zones match."""
    try:
        with searching_for(selection.search):
            if marks is None:
                return many_settings.preview_deletion(selection=selection, author=actor)
            return many_settings.preview_marks(selection=selection, marks=marks, author=actor)
    except TooMany as exc:
        most = many_settings.MOST_DELETED if marks is None else many_settings.MOST_ZONES
        raise Problem("too-large", f"More than {most} zones match. Narrow the search.") from exc


def selection_in(body: Mapping[str, Any]) -> ZoneSelection:
    """Return the zones that the body selects. Raise Problem unless the body has exactly one of `q` and `zones`."""
    if ("q" in body) == ("zones" in body):
        raise bad_value("/q", "Send either `q` or `zones`.", NOT_TOGETHER if "q" in body else "required")
    return ZoneSelection(tuple(body["zones"])) if "zones" in body else ZoneSelection(search=search_in(body["q"]))


def marks_in(act: Mapping[str, Any], actor: Actor) -> Marks:
    """Return the tags or the team that the action sets. Raise Problem if they are invalid."""
    try:
        if act["op"] == many_serializers.ADD_TAGS:
            return marks_of(add=act["tags"])
        if act["op"] == many_serializers.REMOVE_TAGS:
            return marks_of(remove=act["tags"])
    except SettingsRefused as exc:
        raise bad_value("/act/tags", str(exc)) from exc
    return Marks(moves=True, team=_team(act["team"], actor))


def _team(team_id: int | None, actor: Actor) -> Team | None:
    if team_id is None:
        return None
    found = next((team for team in teams_to_choose_from(actor) if team.pk == team_id), None)
    if found is None:
        detail = f"There is no team {team_id} to which you can give a zone. `GET /teams` lists teams."
        raise bad_value("/act/team", detail, NOT_FOUND)
    return found


def _outcome_json(outcome: ZonesOutcome) -> dict[str, Any]:
    return {
        "changed": len(outcome.changed),
        "changed_rrsets": outcome.rrsets,
        "unchanged": outcome.unchanged,
        "refused": len(outcome.refused),
        "refusals": [{"zone": zone.name, "reason": reason} for zone, reason in outcome.refused[:MOST_NAMED]],
    }


class ManyRRsets(V2View):
    conditional = True

    @api_operation(
        "actOnRRsets",
        {
            202: many_serializers.ManyWrittenSerializer,
            200: PolymorphicProxySerializer(
                "ManyWrittenOrPreview",
                [many_serializers.ManyWrittenSerializer, many_serializers.ManyPreviewSerializer],
                None,
            ),
        },
        *CHANGING,
        request=many_serializers.ManyRRsetsSerializer,
    )
    def post(self, request: Request) -> HttpResponse:
        """Change many RRsets in any zones.

        Applies one action to all RRsets that a search finds, or to the listed RRsets, at most 20,000. All changes are
        in one publication, which can be undone as a whole. Needs the rights `add`, `change` or `remove`.

        RRsets that would become invalid, or that the token is not allowed to change, stay unchanged and are counted in
        `outcome`. With `dry_run` nothing is published. To publish exactly the changes of a dry run, send its `ETag` as
        `If-Match`.
        """
        body = read(many_serializers.ManyRRsetsSerializer, request.data)
        selection, act = _selection(body), _act(body["act"])
        outcome = _outcome(selection, act, self.actor)
        counts = _rrsets_outcome_json(outcome)
        tag = tag_of([[zone.name, change_json(change)] for zone, of in outcome.changes.items() for change in of])
        require(condition_in(request), tag, theirs=counts, mine=request.data)
        patches = publishable_patches(outcome)
        if is_dry_run(request):
            preview = {
                **counts,
                **_preview_json(outcome, zone_patches.preview_patches(patches=patches, author=self.actor), self.actor),
            }
            return answer(preview, headers={"ETag": tag})
        terms = Terms(body["reason"], body["confirm"], body["accept_warnings"])
        try:
            published = publish(request, patches, terms, in_pieces=False)
        except RuleViolations as exc:
            places = {(name, type_): f"/rrsets/{place}" for place, (_, name, type_) in enumerate(selection.keys)}
            raise violations_at(exc, lambda violation: places.get((violation.name, violation.type), "/act")) from exc
        return answer_outcome(request, published, extensions={"outcome": counts})


def _outcome(selection: WideSelection, act: many_rrsets.Act, actor: Actor) -> WideOutcome:
    """Return the changes of the action. Raise Problem if too many RRsets match, or SearchTooGeneral on a timeout."""
    try:
        with searching_for(selection.search):
            return wide_outcome(act=act, selection=selection, author=actor, now=timezone.now())
    except TooMany as exc:
        raise Problem("too-large", f"More than {MOST_SELECTED} RRsets match. Narrow the search.") from exc


def _selection(body: Mapping[str, Any]) -> WideSelection:
    if ("q" in body) == ("rrsets" in body):
        raise bad_value("/q", "Send either `q` or `rrsets`.", NOT_TOGETHER if "q" in body else "required")
    if "rrsets" in body:
        return WideSelection(_keys(body["rrsets"]))
    return WideSelection(search=search_in(body["q"]))


def search_in(text: str) -> str:
    """Return the search in the body's `q`. Raise Problem if the search is empty or can't be parsed."""
    if unclear := unclear_in(text):
        raise bad_value("/q", unclear)
    if not text.strip():
        raise bad_value("/q", "`q` must not be empty. Send a search such as `type:a`.", "required")
    return text


def _keys(named: Sequence[Mapping[str, Any]]) -> tuple[KeyByName, ...]:
    """Return the keys of the RRsets that are listed in the body. Raise Problem with a pointer to each invalid name."""
    faults = Faults()
    keys = []
    for index, each in enumerate(named):
        try:
            keys.append((each["zone"], owner_of(each["name"], each["zone"]), each["type"]))
        except BadName as exc:
            faults.at(f"/rrsets/{index}/name", str(exc), "bad-name")
    faults.refuse()
    return tuple(keys)


def _act(body: Mapping[str, Any]) -> many_rrsets.Act:
    """Return the action in the body. Raise Problem for missing, unknown or invalid fields."""
    refuse_members(body, many_serializers.MEMBERS)
    op = body["op"]
    try:
        return _build_act(op, body)
    except ValueError as exc:
        member = "find" if op == many_serializers.REPLACE_TEXT else "tags" if op in _WITH_TAGS else "values"
        raise bad_value(f"/act/{member}", f"{exc}.") from exc


def refuse_members(act: Mapping[str, Any], known: Mapping[str, tuple[set[str], set[str]]]) -> None:
    """Raise Problem for missing or unknown fields. `known` maps each action to its required and optional fields."""
    needed, optional = known[act["op"]]
    faults = Faults()
    for name in sorted(needed - act.keys()):
        faults.at(f"/act/{name}", f"`{name}` is required for `{act['op']}`.", "required")
    for name in sorted(act.keys() - needed - optional - {"op"}):
        faults.at(f"/act/{name}", f"`{act['op']}` has no member `{name[:60]}`: leave it out.", "unknown")
    faults.refuse()


def _build_act(op: str, body: Mapping[str, Any]) -> many_rrsets.Act:
    if op == many_serializers.SET_TTL:
        return many_rrsets.set_ttl(body["ttl"])
    if op == many_serializers.SET_COMMENT:
        return many_rrsets.set_comment(body["comment"])
    if op == many_serializers.REPLACE_TEXT:
        return many_rrsets.replace_text(body["find"], body["replacement"], is_pattern=body.get("pattern", False))
    if op in _WITH_VALUES:
        return _WITH_VALUES[op](body["values"])
    if op in _WITH_TAGS:
        return _WITH_TAGS[op](body["tags"])
    return many_rrsets.delete if op == many_serializers.DELETE else many_rrsets.switch(on=op == many_serializers.ENABLE)


def _rrsets_outcome_json(outcome: WideOutcome) -> dict[str, Any]:
    return {
        "changed": outcome.count,
        "changed_zones": len(outcome.changes),
        "unchanged": outcome.unchanged,
        "refused": len(outcome.refused),
        "refusals": [
            {
                "zone": refused.zone.name,
                "name": refused.rrset.name,
                "type": rdata.type_to_text(refused.rrset.type),
                "reason": refused.reason,
            }
            for refused in outcome.refused[:MOST_NAMED]
        ],
        "left_out_zones": outcome.left_out,
    }


def _preview_json(outcome: WideOutcome, plans: Sequence[ZonePlan], actor: Actor) -> dict[str, Any]:
    violations = sorted(_violations(plans, actor), key=lambda violation: _BY_SEVERITY.get(violation.severity, 2))
    return {
        "examples": [{"zone": zone.name, **change_json(change)} for zone, change in outcome.examples(EXAMPLES)],
        "violations": [violation_json(violation) for violation in violations[:MOST_NAMED]],
        "guard": [{"zone": plan.zone.name, "reasons": list(plan.guard)} for plan in plans if plan.guard][:MOST_NAMED],
    }


def _violations(plans: Iterable[ZonePlan], actor: Actor) -> Iterator[Violation]:
    for plan in plans:
        if plan.violations:
            yield from filter_visible(plan.violations, access.visibility_of(actor, plan.zone))
