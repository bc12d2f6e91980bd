"""Resources for a zone's DNSSEC keys: create, import, change, delete, and export with the private part.

For the keys that other signers use for a zone: list, add and remove.
"""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

from django.http import HttpResponse
from django.utils import timezone
from rest_framework.request import Request

from dnspanel.accounts.actors.actors import Right
from dnspanel.api.v2.http.etag import fresh_enough, once, tag_of
from dnspanel.api.v2.http.pages import page_answer, page_request
from dnspanel.api.v2.http.problems import faults_at
from dnspanel.api.v2.http.representation import zone_url
from dnspanel.api.v2.http.view import V2View, actor_in, answer, api_operation
from dnspanel.api.v2.resources.dnssec import acting, answer_publications, condition_on, key_json, key_tag
from dnspanel.api.v2.resources.publishing import TERMS, terms_of_query
from dnspanel.api.v2.schema import dnssec_serializers
from dnspanel.api.v2.schema.dnssec_serializers import NewOtherKeySerializer, OtherKeySerializer
from dnspanel.api.v2.schema.fields import page_of, read
from dnspanel.api.v2.schema.publication_serializers import WrittenSerializer
from dnspanel.api.v2.schema.query_parameters import CHANGING, IF_CHANGED, WRITING
from dnspanel.api.v2.schema.row_json import row_json
from dnspanel.zones.acting import Acting
from dnspanel.zones.dnssec import key_material, queries
from dnspanel.zones.dnssec.other_keys import OtherKey
from dnspanel.zones.dnssec.signing_state import KeyView, SigningState
from dnspanel.zones.errors import BadKey, BadPublicKey, KeyUnknown
from dnspanel.zones.models import Publication, Zone
from dnspanel.zones.rights import access
from dnspanel.zones.signing import other_signers, sign

_REASON = TERMS[0]


class DnssecKeys(V2View):
    @api_operation("listDnssecKeys", page_of(dnssec_serializers.KeySerializer))
    def get(self, request: Request, zone_name: str) -> HttpResponse:
        """List DNSSEC keys.

        Lists all keys of the zone by id, at most 20, without their private parts. Needs the `read` right.
        """
        page_request(request)
        zone = access.zone_for_reading(self.actor, zone_name)
        return page_answer(request, [key_json(key, self.actor) for key in queries.keys_of(zone)], None)

    @api_operation(
        "createDnssecKey",
        {202: dnssec_serializers.KeyWrittenSerializer, 201: dnssec_serializers.KeyWrittenSerializer},
        *WRITING,
        _REASON,
        request=dnssec_serializers.NewKeySerializer,
    )
    def post(self, request: Request, zone_name: str) -> HttpResponse:
        """Create or import a DNSSEC key.

        Creates a new key, or imports one as private-key text or as the two files that BIND writes. Then publishes the
        zone. Needs the `dnssec` right. The panel rejects a key that would make validating resolvers reject the zone.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        body = read(dnssec_serializers.NewKeySerializer, request.data)
        by = acting(request, terms_of_query(request).reason)
        if by.form_id is None:  # needed to find the publication
            by = Acting(by.author, by.channel, by.now, by.reason, uuid4())
        made = _add_key(zone, body, by)
        key = _key(zone, made)
        headers = {"Location": f"{zone_url(zone.name)}/dnssec/keys/{made}", "ETag": key_tag(key)}
        publications = list(Publication.objects.filter(form_id=by.form_id))
        return answer_publications(
            request, publications, {"key": key_json(key, self.actor)}, status=201, headers=headers
        )


class DnssecKey(V2View):
    @api_operation("getDnssecKey", {200: dnssec_serializers.KeySerializer}, IF_CHANGED)
    def get(self, request: Request, zone_name: str, key_id: int) -> HttpResponse:
        """Read a DNSSEC key.

        Returns the key's tag, algorithm, state and DS records, without its private part. Needs the `read` right.
        """
        key = _key(access.zone_for_reading(self.actor, zone_name), key_id)
        return fresh_enough(request, key_tag(key)) or answer(key_json(key, self.actor), headers={"ETag": key_tag(key)})

    @api_operation(
        "changeDnssecKey",
        {202: dnssec_serializers.KeyWrittenSerializer, 200: dnssec_serializers.KeyWrittenSerializer},
        *CHANGING,
        _REASON,
        request=dnssec_serializers.KeyPatchSerializer,
    )
    def patch(self, request: Request, zone_name: str, key_id: int) -> HttpResponse:
        """Change a DNSSEC key.

        Sets whether the zone is signed with the key and whether the key is in the DNSKEY RRset. Then publishes the
        zone. Needs the `dnssec` right. The panel rejects a change that would make validating resolvers reject the zone.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        body = read(dnssec_serializers.KeyPatchSerializer, request.data)
        publications = sign.set_key(
            zone=zone,
            key_id=_key(zone, key_id).id,
            acting=acting(request, terms_of_query(request).reason),
            in_transaction=_condition(request, zone, key_id),
            **body,
        )
        key = _key(zone, key_id)
        more = {"key": key_json(key, self.actor)}
        return answer_publications(request, publications, more, headers={"ETag": key_tag(key)})

    @api_operation("deleteDnssecKey", {202: WrittenSerializer, 200: WrittenSerializer}, *CHANGING, _REASON)
    def delete(self, request: Request, zone_name: str, key_id: int) -> HttpResponse:
        """Delete a DNSSEC key.

        Removes the key from the zone and publishes the zone. Needs the `dnssec` right. The panel destroys the private
        part after a day. After that, only an export can restore the key. The panel rejects a deletion that would make
        validating resolvers reject the zone.
        """
        zone = access.zone_for(self.actor, zone_name, Right.DNSSEC)
        publications = sign.delete_key(
            zone=zone,
            key_id=_key(zone, key_id).id,
            acting=acting(request, terms_of_query(request).reason),
            in_transaction=_condition(request, zone, key_id),
        )
        return answer_publications(request, publications, {})


class DnssecKeyExport(V2View):
    # Unconditional: it changes nothing.
    @api_operation("exportDnssecKey", {200: dnssec_serializers.ExportedKeySerializer}, request=None)
    def post(self, request: Request, zone_name: str, key_id: int) -> HttpResponse:
        """Export a DNSSEC key.

        Returns the private-key text in BIND's format. Needs the `export-keys` right. The audit log records each export.
        """
        zone = access.zone_for(self.actor, zone_name, Right.EXPORT_KEYS)
        key = _key(zone, key_id)
        value: dict[str, Any] = {
            "id": key.id,
            "tag": key.tag,
            "file_name": key_material.bind_file_name(zone.name, key.algorithm, key.tag),
            "private_key": sign.export_key(zone=zone, key_id=key.id, by=self.actor, now=timezone.now()),
            "public_key": f"{zone.name} IN DNSKEY {key.dnskey}\n",
        }
        return once(value, secret="private_key", status=200)


def _add_key(zone: Zone, body: dict[str, Any], by: Acting) -> int:
    """Add the key in the body to the zone and return its id. Raise Problem with a pointer if the key is rejected."""
    texts = sign.KeyTexts(body.get("private_key"), body.get("public_key"))
    others = {name: value for name, value in body.items() if name not in ("private_key", "public_key")}
    with (
        faults_at("/private_key" if "private_key" in body else "/bits", "bad-key", BadKey),
        faults_at("/public_key", "bad-key", BadPublicKey),
    ):
        return sign.add_key(zone=zone, acting=by, texts=texts, **others).pk


def _key(zone: Zone, key_id: int) -> KeyView:
    """Return the zone's key with this id. Raise KeyUnknown if it doesn't exist."""
    found = next((key for key in queries.keys_of(zone) if key.id == key_id), None)
    if found is None:
        raise KeyUnknown(zone.name, key_id)
    return found


def _condition(request: Request, zone: Zone, key_id: int) -> Any:
    def tag(state: SigningState) -> str | None:
        key = state.key(key_id)
        return None if key is None else key_tag(key)

    def theirs(state: SigningState) -> Any:
        found = [key for key in queries.keys_of(zone, state) if key.id == key_id]
        return key_json(found[0], actor_in(request)) if found else None

    return condition_on(request, zone, tag, theirs)


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
            zone=zone, tag=tag, acting=by, in_transaction=_condition_of_other(request, zone, tag)
        )
        return answer_publications(request, [publication] if publication else [], {})


def _condition_of_other(request: Request, zone: Zone, tag: int) -> Callable[[], None]:
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
