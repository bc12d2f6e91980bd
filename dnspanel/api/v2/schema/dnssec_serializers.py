"""OpenAPI schemas for zone signing and DNSSEC keys."""

from typing import Any

from rest_framework import serializers
from rest_framework.exceptions import ErrorDetail

from dnspanel.api.v2.schema.actor_serializers import ActorSerializer
from dnspanel.api.v2.schema.field_faults import NOT_TOGETHER
from dnspanel.api.v2.schema.fields import Choice, Flag, Integer, OptionalText, Shape, Text
from dnspanel.api.v2.schema.publication_serializers import LOST, WrittenSerializer
from dnspanel.api.v2.schema.zone_serializers import MOST_REASON
from dnspanel.zones.dnssec.key_material import ALGORITHMS, DEFAULT_ALGORITHM, KSK_FLAGS, MADE, MOST_TEXT, ZSK_FLAGS
from dnspanel.zones.signing.sign import DIGEST_LIST, LONGEST_SALT, MOST_ITERATIONS, NewKeys, RequestedSigning
from replication.codec.dnssec import Nsec3

MOST_ZONES = 1000
MOST_NUMBER = 2**16

_METHODS = [("nsec", "nsec"), ("nsec3", "nsec3")]
_ROLES = [("ksk", "ksk"), ("zsk", "zsk"), ("csk", "csk")]


class DenialSerializer(Shape):
    """The denial of existence: NSEC, or NSEC3 with its parameters."""

    method = Choice(choices=_METHODS, help_text="`nsec` or `nsec3`.")
    opt_out = Flag(default=False, help_text="NSEC3 opt-out: no proofs for unsigned delegations.")
    narrow = Flag(default=False, help_text="Proofs generated for each query.")
    iterations = Integer(default=0, min_value=0, max_value=MOST_ITERATIONS, help_text="Use 0 (RFC 9276).")
    salt = OptionalText(max_length=2 * LONGEST_SALT, help_text="Hexadecimal; empty is best (RFC 9276).")

    def validate_salt(self, value: str) -> str:
        try:
            return bytes.fromhex(value).hex()
        except ValueError as exc:
            raise serializers.ValidationError("A salt must have an even number of hexadecimal digits.") from exc

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["method"] == "nsec" and any(value for name, value in attrs.items() if name != "method"):
            raise serializers.ValidationError("NSEC has no parameters: leave them out.", NOT_TOGETHER)
        return attrs


class NewKeysSerializer(Shape):
    """The keys to create for a zone that isn't signed yet."""

    algorithm = Integer(default=DEFAULT_ALGORITHM, min_value=0, max_value=255, help_text="Number of the algorithm.")
    bits = Integer(default=None, allow_null=True, min_value=1, max_value=MOST_NUMBER, help_text="Size of RSA keys.")
    split = Flag(default=False, help_text="Separate KSK and ZSK instead of one CSK.")

    def validate_algorithm(self, value: int) -> int:
        return made_algorithm(value)


class SigningPatchSerializer(Shape):
    """Changes to a zone's signing. Omitted fields don't change."""

    signed = Flag(required=False, help_text="true: create keys if no key signs. false: remove all keys.")
    new_keys = NewKeysSerializer(
        required=False, help_text="Keys for a newly signed zone; by default one key of algorithm 13."
    )
    denial = DenialSerializer(required=False)
    cds = serializers.ListField(
        child=Integer(min_value=0, max_value=4),
        required=False,
        max_length=4,
        help_text="Digest types of the CDS records (1, 2, 4); [0] asks the parent to delete its DS.",
    )
    cdnskey = Flag(required=False, help_text="Publish CDNSKEY records.")
    confirm = Flag(required=False, help_text="Confirms that the parent deletes its DS (`cds` [0]).")
    signalling = Flag(
        required=False,
        help_text="Signalling names (RFC 9615) for zones whose name servers have their addresses in this zone.",
    )

    def validate_cds(self, value: list[int]) -> list[int]:
        if not {str(number) for number in value} <= DIGEST_LIST:
            raise serializers.ValidationError(
                "Use the digest types 1, 2 and 4, or only 0 to ask for deletion of the DS.", "invalid-choice"
            )
        return sorted(set(value))


class BulkSigningSerializer(SigningPatchSerializer):
    """Changes to the signing of several zones. Either all zones are changed or none."""

    zones = serializers.ListField(child=Text(max_length=1100), min_length=1, max_length=MOST_ZONES)
    reason = OptionalText(max_length=MOST_REASON, help_text="Reason, shown in the history.")


class KeySerializer(Shape):
    """A DNSSEC key without its private key."""

    id = serializers.IntegerField()
    role = serializers.ChoiceField(choices=_ROLES, help_text="Role among the keys of its algorithm.")
    flags = serializers.IntegerField(help_text=f"{KSK_FLAGS} (KSK or CSK) or {ZSK_FLAGS} (ZSK).")
    algorithm = serializers.IntegerField(help_text="Number of the algorithm, as in DNSKEY records.")
    algorithm_name = serializers.CharField(help_text="Name of the algorithm.")
    bits = serializers.IntegerField(help_text="Size in bits.")
    tag = serializers.IntegerField(help_text="Key tag of the DNSKEY record.")
    active = serializers.BooleanField(help_text="True if the key signs.")
    published = serializers.BooleanField(help_text="True if the key is in the DNSKEY RRset.")
    dnskey = serializers.CharField(help_text="Rdata of the DNSKEY.")
    ds = serializers.ListField(child=serializers.CharField(), help_text="Rdata of DS records; SHA-256 first.")
    created_at = serializers.DateTimeField()
    created_by = ActorSerializer(allow_null=True)
    etag = serializers.CharField(help_text="ETag for If-Match.")


class OtherKeySerializer(Shape):
    """A key that another signer of the zone uses."""

    tag = serializers.IntegerField(help_text="Key tag of the DNSKEY record.")
    flags = serializers.IntegerField(help_text=f"{KSK_FLAGS} (KSK or CSK) or {ZSK_FLAGS} (ZSK).")
    algorithm = serializers.IntegerField(help_text="Number of the algorithm, as in DNSKEY records.")
    algorithm_name = serializers.CharField(help_text="Name of the algorithm.")
    dnskey = serializers.CharField(help_text="Rdata of the DNSKEY.")
    ds = serializers.ListField(child=serializers.CharField(), help_text="Rdata of DS records; none for flags 256.")
    etag = serializers.CharField(help_text="ETag for If-Match.")


class NewOtherKeySerializer(Shape):
    """Another signer's key to publish."""

    dnskey = Text(max_length=MOST_TEXT, help_text="DNSKEY record with its owner: example.net. IN DNSKEY 257 3 13 …")


class ParentDsSerializer(Shape):
    """A DS record for the parent zone. One digest per key is enough."""

    key = serializers.IntegerField(help_text="Id of the key.")
    digest_type = serializers.IntegerField(help_text="2: SHA-256, 4: SHA-384.")
    rdata = serializers.CharField()
    record = serializers.CharField(help_text="Record in zone file format.")


class SigningChangeSerializer(Shape):
    """The last revision that changed how the zone is signed."""

    revision = serializers.IntegerField()
    sequence = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="Time of the publication.")
    actor = ActorSerializer(allow_null=True, help_text="null: hidden from this token.")


class SigningSerializer(Shape):
    """The signing state of a zone."""

    zone = serializers.CharField()
    signed = serializers.BooleanField(help_text="True if the zone is signed.")
    presigned = serializers.BooleanField(help_text="True if the zone is served with signatures from its source.")
    signatures_end = serializers.DateTimeField(
        allow_null=True, help_text="For a presigned zone: expiry of the first signature."
    )
    denial = DenialSerializer(allow_null=True, help_text="null: the zone is not signed.")
    cds = serializers.ListField(
        child=serializers.IntegerField(), help_text="Digest types of the CDS records; empty: none."
    )
    cdnskey = serializers.BooleanField(help_text="True if the zone has CDNSKEY records.")
    polling = serializers.CharField(help_text="Effect on a parent that polls CDS and CDNSKEY, in words.")
    signalling = serializers.BooleanField(help_text="True if the zone has signalling names (RFC 9615).")
    ds = ParentDsSerializer(many=True, help_text="DS records of published keys, for the parent.")
    keys = KeySerializer(many=True)
    changed = SigningChangeSerializer(allow_null=True)


class SigningWrittenSerializer(WrittenSerializer):
    """The result of a change to a zone's signing, with the current signing state."""

    dnssec = SigningSerializer(required=False, help_text=f"Current state. {LOST}")


class SigningPlanSerializer(Shape):
    """The signing state that a zone would have after the change."""

    zone = serializers.CharField()
    changes = serializers.BooleanField(help_text="false: nothing to change, or refused.")
    signed = serializers.BooleanField(help_text="State afterwards.")
    denial = DenialSerializer(allow_null=True)
    drops_signatures = serializers.BooleanField(help_text="True if signatures from the source would be lost.")
    refusal = serializers.CharField(allow_null=True, help_text="Reason of a refusal.")


class SigningPlansSerializer(Shape):
    """The plan of a signing change. Nothing was changed."""

    plans = SigningPlanSerializer(many=True)


class NewKeySerializer(Shape):
    """A key to create or to import."""

    flags = Integer(
        required=False,
        min_value=ZSK_FLAGS,
        max_value=KSK_FLAGS,
        help_text=f"{KSK_FLAGS} (the default) or {ZSK_FLAGS}; with `public_key`, its flags.",
    )
    algorithm = Integer(required=False, min_value=0, max_value=255, help_text="Algorithm of a new key.")
    bits = Integer(required=False, min_value=1, max_value=MOST_NUMBER, help_text="Size of a new RSA key.")
    private_key = Text(
        required=False,
        max_length=MOST_TEXT,
        help_text="Private-key text in the format of PowerDNS and of BIND's .private files.",
    )
    public_key = Text(required=False, max_length=MOST_TEXT, help_text="BIND's .key file of the same key.")
    active = Flag(default=True, help_text="Sign with the key.")
    published = Flag(default=True, help_text="Publish the key as DNSKEY.")

    def validate_algorithm(self, value: int) -> int:
        return made_algorithm(value)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        faults: dict[str, list[str]] = {}
        if "private_key" in attrs:
            fault = ErrorDetail("The private key already has this value: leave it out.", NOT_TOGETHER)
            faults.update((name, [fault]) for name in ("algorithm", "bits") if name in attrs)
        elif "public_key" in attrs:
            faults["private_key"] = [ErrorDetail("`private_key` is required with `public_key`.", "required")]
        if "public_key" in attrs and "flags" in attrs:
            faults["flags"] = [ErrorDetail("`public_key` already has the flags: leave `flags` out.", NOT_TOGETHER)]
        if faults:
            raise serializers.ValidationError(faults)
        return attrs


class KeyPatchSerializer(Shape):
    """Changes to a key. Omitted fields don't change."""

    active = Flag(required=False, help_text="Sign with the key.")
    published = Flag(required=False, help_text="Publish the key as DNSKEY.")


class KeyWrittenSerializer(WrittenSerializer):
    """The result of adding or changing a key, with the key's current state."""

    key = KeySerializer(required=False, help_text=f"Current state. {LOST}")


class ExportedKeySerializer(Shape):
    """A DNSSEC key with its private key."""

    id = serializers.IntegerField()
    tag = serializers.IntegerField(help_text="Key tag of the DNSKEY record.")
    file_name = serializers.CharField(help_text="BIND's name of the files, without .key and .private.")
    private_key = serializers.CharField(allow_null=True, help_text="Private-key text; null in the response to a retry.")
    public_key = serializers.CharField(help_text="BIND's .key file.")


def made_algorithm(value: int) -> int:
    """Return the algorithm. Raise ValidationError if the panel doesn't create keys with it."""
    if value not in MADE:
        known = ", ".join(f"{number} ({ALGORITHMS[number]})" for number in MADE)
        raise serializers.ValidationError(f"Use one of the algorithms {known}.", "invalid-choice")
    return value


def requested_signing(values: dict[str, Any]) -> RequestedSigning:
    """Create a RequestedSigning from the validated values of a request body."""
    denial = values.get("denial")
    cds = values.get("cds")
    return RequestedSigning(
        signed=values.get("signed"),
        sets_denial=denial is not None,
        nsec3=nsec3_of(denial) if denial else None,
        cds=None if cds is None else ",".join(map(str, cds)),
        cdnskey=values.get("cdnskey"),
        new_keys=NewKeys(**values.get("new_keys", {})),
    )


def nsec3_of(denial: dict[str, Any]) -> Nsec3 | None:
    """Return the NSEC3 parameters of a denial, or None for NSEC."""
    if denial["method"] == "nsec":
        return None
    return Nsec3(denial["iterations"], bytes.fromhex(denial["salt"]), denial["opt_out"], denial["narrow"])


def denial_json(nsec3: Nsec3 | None) -> dict[str, Any]:
    """Return the JSON form of NSEC3 parameters, or of NSEC if `nsec3` is None. This is the inverse of `nsec3_of`."""
    found = nsec3 or Nsec3()
    return {
        "method": "nsec" if nsec3 is None else "nsec3",
        "opt_out": found.opt_out,
        "narrow": found.narrow,
        "iterations": found.iterations,
        "salt": found.salt.hex(),
    }
