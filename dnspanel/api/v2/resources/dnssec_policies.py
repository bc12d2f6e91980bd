"""API resources for DNSSEC policies, which define how zones should be signed, and for the policy of one zone."""

from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Actor, Permission, Right
from dnspanel.accounts.models import Team
from dnspanel.api.v2.http.etag import answer_with_tag, conditional_write
from dnspanel.api.v2.http.pages import each_as, page_by_id
from dnspanel.api.v2.http.problems import bad_parameter
from dnspanel.api.v2.http.view import V2View, api_operation, no_content, query_parameter
from dnspanel.api.v2.schema.dnssec_serializers import DenialSerializer
from dnspanel.api.v2.schema.fields import PAGED, Flag, Id, Integer, Shape, Text, id_parameter, page_of, read, stamp
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.database.field_copies import copy_fields
from dnspanel.field_faults import NOT_FOUND, code_of_message, not_found
from dnspanel.zones.dnssec import policy_queries
from dnspanel.zones.dnssec.key_material import DEFAULT_ALGORITHM, MADE, MOST_RSA_BITS
from dnspanel.zones.dnssec.policy import Terms, differences, due
from dnspanel.zones.dnssec.queries import signing_of
from dnspanel.zones.dnssec.rollover_queries import rolling_zones
from dnspanel.zones.errors import PolicyRefused, PolicyUnknown
from dnspanel.zones.models import DnssecPolicy, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import policies
from dnspanel.zones.signing.first_ds import awaiting_first_ds
from dnspanel.zones.signing.policies import MOST_DAYS, MOST_TAGS, Target
from replication.codec.dnssec import Nsec3

_DIGESTS = (1, 2, 4)


class DnssecPolicySerializer(Shape):
    """A DNSSEC policy: how zones are signed, and the tags and teams that use it."""

    id = serializers.IntegerField(read_only=True)
    name = Text(max_length=policies.LONGEST_NAME)
    algorithm = Integer(default=DEFAULT_ALGORITHM, help_text=f"One of {', '.join(map(str, MADE))}.")
    bits = Integer(default=None, allow_null=True, max_value=MOST_RSA_BITS, help_text="Size of new RSA keys.")
    split = Flag(default=False, help_text="Separate KSK and ZSK instead of one CSK.")
    denial = DenialSerializer(required=False, help_text="NSEC if omitted.")
    cds = serializers.ListField(
        child=Integer(), default=list, max_length=3, help_text="Digest types of the CDS records: 1, 2, 4."
    )
    cdnskey = Flag(default=False, help_text="Publish CDNSKEY records.")
    zsk_days = Integer(
        default=None, allow_null=True, min_value=1, max_value=MOST_DAYS, help_text="Lifetime of a ZSK; null: unlimited."
    )
    ksk_days = Integer(
        default=None,
        allow_null=True,
        min_value=1,
        max_value=MOST_DAYS,
        help_text="Lifetime of a KSK or CSK; null: unlimited.",
    )
    automatic = Flag(default=False, help_text="Start due rollovers automatically.")
    signs_new_zones = Flag(default=False, help_text="Sign new zones, except imported ones.")
    first_ds = Flag(
        default=False,
        help_text="Start the rollover to the first DS of a signed zone automatically, if the parent is a zone "
        "here or the zone has CDS or CDNSKEY records.",
    )
    default = Flag(default=False, help_text="Used for all zones without another policy. Only one can be the default.")
    tags = serializers.ListField(
        child=Text(max_length=40),
        required=False,
        allow_null=True,
        max_length=MOST_TAGS,
        help_text="Tags of zones that use the policy; null: hidden from this token.",
    )
    teams = serializers.ListField(
        child=Id(),
        required=False,
        allow_null=True,
        max_length=1000,
        help_text="Ids of teams whose zones use the policy; null: hidden from this token.",
    )
    created_at = serializers.DateTimeField(read_only=True)
    changed_at = serializers.DateTimeField(read_only=True)

    def validate_cds(self, value: list[int]) -> list[int]:
        if not set(value) <= set(_DIGESTS):
            raise serializers.ValidationError(
                "CDS records of a policy can only have the digest types 1, 2 and 4.", "invalid-choice"
            )
        return sorted(set(value))


class OwnPolicySerializer(Shape):
    """The policy to attach to a zone."""

    policy = Id(help_text="Id of the policy.")


class PolicyDifferenceSerializer(serializers.Serializer):
    """One difference between a zone and its policy."""

    act = serializers.CharField(help_text="Act that a policy run would carry out.")
    rollover = serializers.CharField(allow_null=True, help_text="Kind of rollover that would remove it; null: none.")
    message = serializers.CharField(help_text="The difference, in words.")


class PolicyDueSerializer(serializers.Serializer):
    """Keys that are older than their policy allows."""

    rollover = serializers.CharField()
    keys = serializers.ListField(child=serializers.IntegerField(), help_text="Ids of the keys.")
    since = serializers.DateTimeField(help_text="Time when the keys became due.")


class ZonePolicySerializer(serializers.Serializer):
    """The policy of a zone, and the differences between zone and policy."""

    policy = DnssecPolicySerializer(allow_null=True)
    source = serializers.CharField(help_text="Source of the policy, in words.")
    own = serializers.BooleanField(help_text="True if the policy is attached to the zone itself.")
    differences = PolicyDifferenceSerializer(many=True)
    due = PolicyDueSerializer(many=True)


class DnssecPolicies(V2View):
    @api_operation("listDnssecPolicies", page_of(DnssecPolicySerializer), *PAGED)
    def get(self, request: Request) -> HttpResponse:
        """List DNSSEC policies.

        A token that can read every zone sees all policies. Other tokens see the policies of zones that they can read.
        Needs the permission `read`.
        """
        access.require(self.actor, Permission.READ)
        found = policy_queries.policies_visible_to(self.actor)
        return page_by_id(request, found, each_as(lambda row: policy_json(row, self.actor)))

    @api_operation("createDnssecPolicy", {201: DnssecPolicySerializer}, request=DnssecPolicySerializer)
    def post(self, request: Request) -> HttpResponse:
        """Create a DNSSEC policy.

        Saves how zones should be signed, and the tags and teams that use the policy. Needs the `dnssec` right for all
        zones. This does not change any zone; use `createPolicyRun` to apply policies.
        """
        now = timezone.now()
        access.require(self.actor, Permission.READ)
        values = read(DnssecPolicySerializer, request.data)
        policy = policies.create_policy(
            name=values["name"],
            terms=_terms(values),
            is_default=values["default"],
            attached=_attachments_in(values),
            by=self.actor,
            now=now,
        )
        return answer_with_tag(policy_json(policy, self.actor), 201, Location=f"{request.path}/{policy.pk}")


class OneDnssecPolicy(V2View):
    @api_operation("getDnssecPolicy", DnssecPolicySerializer)
    def get(self, request: Request, policy_id: int) -> HttpResponse:
        """Read a DNSSEC policy.

        Returns the policy's settings, and the tags and teams that use the policy. Needs the permission `read`.
        """
        return answer_with_tag(_json_of(policy_id, self.actor))

    @api_operation("changeDnssecPolicy", DnssecPolicySerializer, request=DnssecPolicySerializer)
    def patch(self, request: Request, policy_id: int) -> HttpResponse:
        """Change a DNSSEC policy.

        Fields that the request body omits stay unchanged. Needs the `dnssec` right for all zones. This does not change
        any zone; use `createPolicyRun` to apply policies.
        """
        _json_of(policy_id, self.actor)
        patch = read(DnssecPolicySerializer, request.data, partial=True)
        with conditional_write(request, f"dnssec-policy/{policy_id}", lambda: _json_of(policy_id, self.actor)):
            policy = policy_queries.policy_for(self.actor, policy_id)
            values = _values_of(policy) | patch
            policies.change_policy(
                policy=policy,
                name=values["name"],
                terms=_terms(values),
                is_default=values["default"],
                attached=_attachments_in(patch),
                by=self.actor,
                now=timezone.now(),
            )
        return answer_with_tag(_json_of(policy_id, self.actor))

    @api_operation(
        "deleteDnssecPolicy",
        {204: None},
        query_parameter("replaced_by", "Id of the policy that replaces this one.", int),
    )
    def delete(self, request: Request, policy_id: int) -> HttpResponse:
        """Delete a DNSSEC policy.

        If tags, teams or zones use the policy, name its replacement with `?replaced_by=7`. Needs the `dnssec` right for
        all zones. Signed zones stay signed as before.
        """
        _json_of(policy_id, self.actor)
        heir = id_parameter(request.query_params, "replaced_by")
        with conditional_write(request, f"dnssec-policy/{policy_id}", lambda: _json_of(policy_id, self.actor)):
            try:
                policies.delete_policy(
                    policy=policy_queries.policy_for(self.actor, policy_id),
                    replaced_by=None if heir is None else _heir(heir, self.actor),
                    by=self.actor,
                    now=timezone.now(),
                )
            except PolicyRefused as refusal:
                reasons = refusal.fields.get("replaced_by", [str(refusal)])
                raise bad_parameter("replaced_by", " ".join(reasons), code_of_message(reasons[0])) from refusal
        return no_content()


class ZonePolicy(V2View):
    @api_operation("getZonePolicy", ZonePolicySerializer)
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """Read the DNSSEC policy of a zone.

        Returns the policy, its source, the differences between zone and policy, and the keys that are due for a
        rollover. Needs the `read` right.
        """
        return answer_with_tag(zone_policy_json(access.zone_for_reading(self.actor, zone_name), self.actor))

    @api_operation("setZonePolicy", ZonePolicySerializer, request=OwnPolicySerializer)
    def put(self, request: Request, zone_name: str) -> HttpResponse:
        """Set the DNSSEC policy of a zone.

        Attaches a policy to the zone itself, which overrides the policy of its tags or team. Needs the `dnssec` right.
        How the zone is signed does not change.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        policy = _policy_in_body(read(OwnPolicySerializer, request.data)["policy"], "policy", self.actor)
        with conditional_write(request, f"zone-policy/{zone.pk}", lambda: zone_policy_json(zone, self.actor)):
            policies.attach(policy=policy, to=Target(zone=zone), by=self.actor, now=timezone.now())
        return answer_with_tag(zone_policy_json(zone, self.actor))

    @api_operation("unsetZonePolicy", {204: None})
    def delete(self, request: Request, zone_name: str) -> HttpResponse:
        """Detach the zone's own DNSSEC policy.

        After that, the zone uses the policy of its tags, or else of its team, or else the default policy. Needs the
        right `dnssec`. How the zone is signed does not change.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        with conditional_write(request, f"zone-policy/{zone.pk}", lambda: zone_policy_json(zone, self.actor)):
            policies.detach(target=Target(zone=zone), by=self.actor, now=timezone.now())
        return no_content()


def policy_json(policy: DnssecPolicy, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of a policy. `tags` and `teams` are None if the actor isn't allowed to change policies."""
    attached = policy_queries.attached_to(policy) if policy_queries.may_change_policies(actor) else None
    return _values_of(policy) | {
        "tags": None if attached is None else [row.tag for row in attached if row.tag is not None],
        "teams": None if attached is None else [row.team_id for row in attached if row.team_id is not None],
    }


def zone_policy_json(zone: Zone, actor: Actor) -> dict[str, Any]:
    """Return the JSON form of the zone's policy.

    It includes the differences between the zone and the policy, and the keys that are due for a rollover.
    """
    applied = policy_queries.applied_to(zone)
    if applied is None:
        return {"policy": None, "source": "", "own": False, "differences": [], "due": []}
    state = signing_of(zone)
    made = policy_queries.keys_made_at([zone.pk]).get(zone.pk, {})
    own = policy_queries.own_policy_of(zone)
    found = differences(
        applied.terms,
        state,
        is_rolling=bool(rolling_zones([zone.pk])),
        awaits_ds=zone.pk in awaiting_first_ds([zone], {zone.pk: applied.terms}),
    )
    return {
        "policy": policy_json(applied.policy, actor),
        "source": applied.source,
        "own": own is not None,
        "differences": [
            {"act": str(each.act), "rollover": str(each.kind) if each.kind else None, "message": each.message}
            for each in found
        ],
        "due": [
            {"rollover": str(each.kind), "keys": list(each.key_ids), "since": stamp(each.since)}
            for each in due(applied.terms, state, made, timezone.now())
        ],
    }


def _json_of(policy_id: int, actor: Actor) -> dict[str, Any]:
    access.require(actor, Permission.READ)
    return policy_json(policy_queries.policy_for(actor, policy_id), actor)


def _heir(policy_id: int, actor: Actor) -> DnssecPolicy:
    """Return the replacement policy from the query parameter `replaced_by`. Raise Problem if it is unknown."""
    try:
        return policy_queries.policy_for(actor, policy_id)
    except PolicyUnknown as exc:
        raise bad_parameter(
            "replaced_by", f"There is no policy {policy_id}. `GET /dnssec/policies` lists policies.", NOT_FOUND
        ) from exc


def _policy_in_body(policy_id: int, field: str, actor: Actor) -> DnssecPolicy:
    """Return the policy with this id from the body. Raise PolicyRefused if it is unknown or hidden from the actor."""
    try:
        return policy_queries.policy_for(actor, policy_id)
    except PolicyUnknown as exc:
        raise PolicyRefused(
            {field: [not_found(f"There is no policy {policy_id}. `GET /dnssec/policies` lists policies.")]}
        ) from exc


def _values_of(policy: DnssecPolicy) -> dict[str, Any]:
    """Convert a policy to the values of a request body that creates an equal policy."""
    terms = policy_queries.terms_of(policy)
    nsec3 = terms.nsec3 or Nsec3()
    denial = {"method": "nsec" if terms.nsec3 is None else "nsec3", "salt": nsec3.salt.hex()}
    denial |= {name: getattr(nsec3, name) for name in ("opt_out", "narrow", "iterations")}
    return row_json(
        DnssecPolicySerializer,
        policy,
        denial=denial,
        cds=[int(each) for each in terms.cds.split(",") if each],
        default=policy.is_default,
        tags=None,
        teams=None,
    )


def _terms(values: Mapping[str, Any]) -> Terms:
    denial = values.get("denial", {"method": "nsec"})
    nsec3 = None
    if denial["method"] == "nsec3":
        nsec3 = Nsec3(denial["iterations"], bytes.fromhex(denial["salt"]), denial["opt_out"], denial["narrow"])
    return copy_fields(Terms, values, nsec3=nsec3, cds=",".join(map(str, values["cds"])))


def _attachments_in(values: Mapping[str, Any]) -> policies.Attached:
    """Return the tags and teams in a body, each None if unchanged. Raise PolicyRefused for an unknown team."""
    tags, ids = values.get("tags"), values.get("teams")
    teams = None
    if ids is not None:
        known = Team.objects.in_bulk(ids)
        if missing := [id for id in ids if id not in known]:
            raise PolicyRefused({"teams": [not_found(f"There is no team {missing[0]}. `GET /teams` lists teams.")]})
        teams = tuple(known.values())
    return policies.Attached(None if tags is None else tuple(tags), teams)
