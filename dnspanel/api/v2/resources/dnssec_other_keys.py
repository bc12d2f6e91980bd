"""API resources to list, add and remove the DNSSEC keys that other signers use for a zone."""

from collections.abc import Callable
from typing import Any

from django.http import HttpResponse
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v2.http.etag import tag_of
from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.problems import faults_at
from dnspanel.api.v2.http.view import V2View, api_operation
from dnspanel.api.v2.resources.dnssec import acting, answer_publications, condition_on
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.schema.dnssec_serializers import NewOtherKeySerializer, OtherKeySerializer
from dnspanel.api.v2.schema.fields import page_of, read
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, WRITING
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.dnssec import queries
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import BadPublicKey
from dnspanel.zones.models import Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import other_signers

_REASON = TERMS[0]


class OtherKeys(V2View):
    @api_operation("listOtherKeys", page_of(OtherKeySerializer))
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List keys of other signers.

        Lists the DNSKEY records of other providers that sign the same zone, at most 20. Needs the `read` right.
        """
        page_request(request)
        zone = access.zone_for_reading(self.actor, zone_name)
        return page_answer(request, [_key_json(zone, key) for key in queries.other_keys_of(zone)], None)

    @api_operation(
        "createOtherKey",
        {202: WrittenSerializer, 200: WrittenSerializer},
        *WRITING,
        _REASON,
        request=NewOtherKeySerializer,
    )
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Add a key of another signer.

        Publishes the given DNSKEY next to the zone's own keys (RFC 8901, model 2). If the zone has CDS and CDNSKEY
        records, a key with flags 257 is included in them. The zone must already be signed with the key's algorithm.
        Needs the `dnssec` right.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        body = read(NewOtherKeySerializer, request.data)
        by = acting(request, terms_of_query(request).reason)
        with faults_at("/dnskey", "bad-key", BadPublicKey):
            publication = other_signers.add_other_key(zone=zone, text=body["dnskey"], acting=by)
        return answer_publications(request, [publication] if publication else [], {})


class OneOtherKey(V2View):
    @api_operation("deleteOtherKey", {202: WrittenSerializer, 200: WrittenSerializer}, *CHANGING, _REASON)
    def delete(self, request: Request, zone_name: str, tag: int) -> HttpResponse:
        """Remove a key of another signer.

        Publishes the DNSKEY records without this key. Needs the `dnssec` right. Before the removal, the other signer
        must stop using the key, and its signatures must have left all caches. Afterwards, resolvers can no longer
        validate these signatures.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        by = acting(request, terms_of_query(request).reason)
        publication = other_signers.remove_other_key(
            zone=zone, tag=tag, acting=by, in_transaction=_condition(request, zone, tag)
        )
        return answer_publications(request, [publication] if publication else [], {})


def _condition(request: Request, zone: Zone, tag: int) -> Callable[[], None]:
    def theirs(_: SigningState) -> dict[str, Any] | None:
        found = next((key for key in queries.other_keys_of(zone) if key.tag == tag), None)
        return _key_json(zone, found) if found else None

    def etag(state: SigningState) -> str | None:
        found = theirs(state)
        return found["etag"] if found else None

    return condition_on(request, zone, etag, theirs)


def _key_json(zone: Zone, key: OtherKey) -> dict[str, Any]:
    return row_json(
        OtherKeySerializer, key, algorithm_name=key.mnemonic, ds=list(key.ds(zone.name)), etag=tag_of(key.dnskey)
    )
