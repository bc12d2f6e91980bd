"""Verify a SAML provider's response and accept it only once. Verbs.

The sources are saml-core-2.0-os and section 4.1.4 of saml-profiles-2.0-os. python3-saml verifies the signatures and
their scope, but accepts assertions with missing elements. This module requires that the signed assertion contains the
audience, the recipient, the request's id and the end of the confirmation.
"""

import hashlib
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlsplit

from django.core import signing
from django.db import IntegrityError, transaction
from lxml.etree import LxmlError
from onelogin.saml2.constants import OneLogin_Saml2_Constants as Names
from onelogin.saml2.errors import OneLogin_Saml2_Error, OneLogin_Saml2_ValidationError
from onelogin.saml2.response import OneLogin_Saml2_Response
from onelogin.saml2.settings import OneLogin_Saml2_Settings
from onelogin.saml2.utils import OneLogin_Saml2_Utils
from xmlsec import Error as XmlsecError

from dnspanel.accounts.errors import SignInRefused
from dnspanel.accounts.models import SeenAssertion, SignInProvider
from dnspanel.accounts.providers.provider_identity import Identity, identity_of
from dnspanel.accounts.providers.rows import panel_url
from dnspanel.accounts.providers.saml.metadata import BadMetadata, parse_metadata
from dnspanel.accounts.providers.saml.saml_providers import ATTRIBUTES
from dnspanel.texts import gettext, gettext_noop

LONGEST_ANSWER = 1 << 20  # characters of Base64
TAKEN_SECONDS = 300
_SALT = "saml-taken"
_LONGEST_SUBJECT = 255
_WRONG = OneLogin_Saml2_ValidationError
# Messages for the errors of python3-saml. All others are "invalid".
_REASONS = {
    _WRONG.STATUS_CODE_IS_NOT_SUCCESS: ("status", gettext_noop("The provider didn’t sign you in.")),
    _WRONG.NO_SIGNATURE_FOUND: ("unsigned", gettext_noop("The provider’s response isn’t signed.")),
    _WRONG.NO_SIGNED_ASSERTION: ("unsigned", gettext_noop("The provider’s assertion isn’t signed.")),
    _WRONG.INVALID_SIGNATURE: ("signature", gettext_noop("The signature doesn’t match the provider’s certificate.")),
    _WRONG.WRONG_NUMBER_OF_ASSERTIONS: ("signature", gettext_noop("The response must contain exactly one assertion.")),
    _WRONG.WRONG_NUMBER_OF_SIGNATURES_IN_RESPONSE: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.UNEXPECTED_SIGNED_ELEMENTS: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.INVALID_SIGNED_ELEMENT: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.DEPRECATED_SIGNATURE_METHOD: ("signature", gettext_noop("The signature uses an insecure algorithm.")),
    _WRONG.DEPRECATED_DIGEST_METHOD: ("signature", gettext_noop("The signature uses an insecure algorithm.")),
    _WRONG.WRONG_SIGNED_ELEMENT: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.ID_NOT_FOUND_IN_SIGNED_ELEMENT: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.DUPLICATED_ID_IN_SIGNED_ELEMENTS: ("signature", gettext_noop("The signature is in the wrong place.")),
    _WRONG.WRONG_AUDIENCE: ("audience", gettext_noop("The assertion is for another service.")),
    _WRONG.WRONG_ISSUER: ("issuer", gettext_noop("The response is from another provider.")),
    _WRONG.ASSERTION_EXPIRED: (
        "time",
        gettext_noop("The assertion has expired, or the provider’s clock differs from the panel’s."),
    ),
    _WRONG.ASSERTION_TOO_EARLY: (
        "time",
        gettext_noop("The assertion has expired, or the provider’s clock differs from the panel’s."),
    ),
    _WRONG.SESSION_EXPIRED: (
        "time",
        gettext_noop("The assertion has expired, or the provider’s clock differs from the panel’s."),
    ),
    _WRONG.WRONG_SUBJECTCONFIRMATION: (
        "confirmation",
        gettext_noop("The assertion has expired, or is for another service."),
    ),
    _WRONG.WRONG_DESTINATION: ("confirmation", gettext_noop("The response is for another service.")),
}


@dataclass(frozen=True, slots=True)
class Answer:
    """A verified assertion. `question` is the panel request's ID (InResponseTo), `ends_at` the confirmation's end."""

    assertion_id: str
    question: str
    ends_at: datetime
    claims: dict[str, Any]


def settings_of(provider: SignInProvider, now: datetime) -> OneLogin_Saml2_Settings:
    """Return python3-saml's settings for the provider. Raise SignInRefused if its metadata isn't currently valid."""
    try:
        idp = parse_metadata(provider.metadata, now)
    except BadMetadata as exc:
        raise SignInRefused("metadata", str(exc)) from exc
    return OneLogin_Saml2_Settings(
        {
            "strict": True,
            "debug": False,
            "sp": {
                "entityId": provider.client_id,
                "assertionConsumerService": {
                    "url": panel_url("saml-acs", provider.slug),
                    "binding": Names.BINDING_HTTP_POST,
                },
                "NameIDFormat": Names.NAMEID_UNSPECIFIED,
            },
            "idp": {
                "entityId": idp.entity_id,
                "singleSignOnService": {"url": idp.sign_in_url, "binding": Names.BINDING_HTTP_REDIRECT},
                "x509certMulti": {"signing": list(idp.certificates)},
            },
            "security": {
                "wantAssertionsSigned": True,
                "wantAttributeStatement": False,
                "wantNameId": False,
                "requestedAuthnContext": False,
                "rejectDeprecatedAlgorithm": True,
                "allowRepeatAttributeName": True,
                "allowSingleLabelDomains": True,
                "signatureAlgorithm": Names.RSA_SHA256,
                "digestAlgorithm": Names.SHA256,
            },
        }
    )


def request_to(url: str) -> dict[str, Any]:
    """Return python3-saml's description of a request to this panel URL. The browser's Host header isn't used."""
    parts = urlsplit(url)
    https = "on" if parts.scheme == "https" else "off"
    return {"https": https, "http_host": parts.netloc, "script_name": parts.path, "get_data": {}, "post_data": {}}


def verify_answer(provider: SignInProvider, encoded: str, now: datetime) -> Answer:
    """Parse the provider's response. Raise SignInRefused unless it is signed, for this panel, and still valid."""
    if not encoded or len(encoded) > LONGEST_ANSWER:
        raise SignInRefused("invalid", gettext("The response isn’t a valid SAML response."))
    here = panel_url("saml-acs", provider.slug)
    try:
        response = OneLogin_Saml2_Response(settings_of(provider, now), encoded)
        response.is_valid(request_to(here), raise_exceptions=True)
        confirmed = _confirmation(response, here, now)
        if provider.client_id not in response.get_audiences():
            raise SignInRefused("audience", gettext("The assertion is for another service."))
        return Answer(
            assertion_id=str(response.get_assertion_id()),
            question=confirmed.get("InResponseTo"),
            ends_at=_time(confirmed.get("NotOnOrAfter")),
            claims=_claims(provider, response),
        )
    except OneLogin_Saml2_ValidationError as exc:
        code, message = _REASONS.get(exc.code, ("invalid", gettext_noop("The provider’s response isn’t valid.")))
        raise SignInRefused(code, gettext(message)) from exc
    except (OneLogin_Saml2_Error, XmlsecError, LxmlError, ValueError, TypeError, AttributeError) as exc:
        raise SignInRefused("invalid", gettext("The response isn’t a valid SAML response.")) from exc


def take(provider: SignInProvider, answer: Answer, now: datetime) -> str:
    """Store the response and return a handle that can be used once, within TAKEN_SECONDS.

    Raise SignInRefused if the assertion was already used.
    """
    digest = hashlib.sha256(answer.assertion_id.encode()).digest()
    SeenAssertion.objects.filter(provider=provider, ends_at__lt=now).delete()
    said = {"question": answer.question, "claims": answer.claims}
    try:
        with transaction.atomic(durable=True):
            row = SeenAssertion.objects.create(provider=provider, digest=digest, ends_at=answer.ends_at, said=said)
    except IntegrityError as exc:
        raise SignInRefused("replay", gettext("This response was already used.")) from exc
    return signing.dumps(row.pk, salt=_SALT)


def redeem_handle(provider: SignInProvider, handle: str) -> tuple[str, Identity]:
    """Return and delete the request id and identity under a handle. Raise SignInRefused if the handle is invalid."""
    stale = SignInRefused(
        "state", gettext("This response was already used, is too old, or wasn’t requested by the panel.")
    )
    try:
        pk = signing.loads(handle, salt=_SALT, max_age=TAKEN_SECONDS)
    except signing.BadSignature as exc:
        raise stale from exc
    with transaction.atomic(durable=True):
        row = SeenAssertion.objects.select_for_update().filter(pk=pk, provider=provider).first()
        said = row.said if row else None
        if said is None:
            raise stale
        SeenAssertion.objects.filter(pk=pk).update(said=None)
    return said["question"], identity_of(said["claims"], group_claim="groups", trusts_mail=provider.trusts_mail)


def _confirmation(response: OneLogin_Saml2_Response, here: str, now: datetime) -> Any:
    """Return the data that binds the assertion to this panel, a request and a time, or raise SignInRefused."""
    for each in response._query_assertion("/saml:Subject/saml:SubjectConfirmation"):
        data = each.find("saml:SubjectConfirmationData", namespaces=Names.NSMAP)
        if each.get("Method") != Names.CM_BEARER or data is None or data.get("Recipient") != here:
            continue
        if data.get("InResponseTo") and data.get("NotOnOrAfter") and _time(data.get("NotOnOrAfter")) > now:
            return data
    raise SignInRefused(
        "confirmation", gettext("The assertion has expired, is for another service, or wasn’t requested by the panel.")
    )


def _time(text: str) -> datetime:
    return datetime.fromtimestamp(OneLogin_Saml2_Utils.parse_SAML_to_time(text), UTC)


def _claims(provider: SignInProvider, response: OneLogin_Saml2_Response) -> dict[str, Any]:
    """Convert the assertion's attributes to claims. Raise SignInRefused if they contain no persistent user id."""
    given: dict[str, list[Any]] = response.get_friendlyname_attributes() | response.get_attributes()
    names = ATTRIBUTES | provider.attributes

    def first(key: str) -> str:
        values = given.get(names[key]) or [""]
        return values[0] if isinstance(values[0], str) else ""

    name_id = response.get_nameid_data() if not names["subject"] else {}
    if name_id.get("Format") == Names.NAMEID_TRANSIENT:
        raise SignInRefused(
            "subject",
            gettext(
                "The provider sends a different NameID for you each time. Configure it to send a persistent NameID."
            ),
        )
    subject = first("subject") if names["subject"] else str(name_id.get("Value") or "")
    if not 1 <= len(subject) <= _LONGEST_SUBJECT:
        raise SignInRefused("subject", gettext("The provider didn’t send an ID that identifies you."))
    mail = first("mail") or (subject if name_id.get("Format") == Names.NAMEID_EMAIL_ADDRESS else "")
    return {
        "sub": subject,
        "email": mail,
        "preferred_username": first("username"),
        "given_name": first("first_name"),
        "family_name": first("last_name"),
        "groups": [each for each in given.get(provider.group_claim, []) if isinstance(each, str)],
    }
