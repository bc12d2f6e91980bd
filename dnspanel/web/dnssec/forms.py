"""Forms for a zone's signing and keys. The forms check only the format of fields; `zones` checks the rest."""

from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile

from dnspanel.texts import format_lazy, gettext, gettext_lazy
from dnspanel.web.frame.forms import (
    PanelForm,
    PublishingForm,
    TypedNameForm,
    mono_field,
    number_field,
    switch_field,
    text_field,
)
from dnspanel.zones.dnssec import key_files, key_material
from dnspanel.zones.dnssec.key_material import ALGORITHMS, DEFAULT_ALGORITHM, KSK_FLAGS, MADE, MOST_TEXT, ZSK_FLAGS
from dnspanel.zones.dnssec.policy import Terms
from dnspanel.zones.dnssec.signing_state import SigningState
from dnspanel.zones.errors import BadKey, BadPublicKey
from dnspanel.zones.signing.sign import LONGEST_SALT, MOST_ITERATIONS
from replication.codec.dnssec import Nsec3

_TEXT = {"class": "textarea input-mono", "rows": 4, "autocomplete": "off", "spellcheck": "false"}
_ALGORITHMS = [
    (number, f"{number} {ALGORITHMS[number]}")
    if number != DEFAULT_ALGORITHM
    else (number, format_lazy(gettext_lazy("{algorithm} (default)"), algorithm=f"{number} {ALGORITHMS[number]}"))
    for number in MADE
]
CDS_LABELS = {
    "": gettext_lazy("none"),
    "2": "SHA-256",
    "4": "SHA-384",
    "2,4": gettext_lazy("SHA-256 and SHA-384"),
    "0": gettext_lazy("DS deletion request"),
}
_SIZES = [(size, format_lazy(gettext_lazy("{size} bits"), size=size)) for size in (2048, 3072, 4096)]


class SigningForm(PublishingForm):
    """The base class of the forms on a zone's DNSSEC page. Field ids start with the form's name."""

    name = ""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, auto_id=f"{self.name}_%s", **kwargs)

    def refuse_for(self, refusal: Exception, at: str | None = None) -> None:
        """Add the refusal as an error to the field that caused it."""
        super().refuse_for(refusal, "private_text" if isinstance(refusal, BadKey) else at)


class DenialForm(SigningForm):
    """The form that chooses NSEC or NSEC3 for the zone's denial of existence."""

    name = "denial"
    denial = forms.ChoiceField(
        label=gettext_lazy("Denial of existence"),
        choices=[("nsec", "NSEC"), ("nsec3", "NSEC3")],
        initial="nsec",
        widget=forms.RadioSelect,
        help_text=gettext_lazy(
            "With NSEC, anyone can list all names in the zone. NSEC3 makes this harder, but answers are larger."
        ),
    )
    opt_out = switch_field(
        gettext_lazy("Opt-out for unsigned delegations"),
        gettext_lazy(
            "For zones with a large number of delegations. This option and the options below only apply to NSEC3."
        ),
    )
    narrow = switch_field(
        gettext_lazy("Narrow mode (white lies)"),
        gettext_lazy("Hashes of names can’t be listed, but nodes must create more signatures for negative answers."),
    )
    iterations = number_field(
        gettext_lazy("Iterations"), 0, MOST_ITERATIONS, gettext_lazy("Recommended: 0 (RFC 9276)."), initial=0
    )
    salt = mono_field(
        gettext_lazy("Salt"), 2 * LONGEST_SALT, gettext_lazy("Hexadecimal digits. Recommended: empty (RFC 9276).")
    )

    @classmethod
    def initial_of(cls, state: SigningState) -> dict[str, object]:
        """Return the initial form values from the zone's signing state."""
        nsec3 = state.nsec3
        if nsec3 is None:
            return {"denial": "nsec", "iterations": 0}
        return {
            "denial": "nsec3",
            "opt_out": nsec3.opt_out,
            "narrow": nsec3.narrow,
            "iterations": nsec3.iterations,
            "salt": nsec3.salt.hex(),
        }

    def clean_salt(self) -> bytes:
        try:
            return bytes.fromhex(self.cleaned_data["salt"])
        except ValueError as exc:
            raise forms.ValidationError(gettext("The salt must have an even number of hexadecimal digits.")) from exc

    @property
    def nsec3(self) -> Nsec3 | None:
        chosen = self.cleaned_data
        if chosen["denial"] == "nsec":
            return None
        return Nsec3(chosen["iterations"] or 0, chosen["salt"], chosen["opt_out"], chosen["narrow"])


class KeyChoice(PanelForm):
    """The form fields for the algorithm and size of a new key."""

    algorithm = forms.TypedChoiceField(
        label=gettext_lazy("Algorithm"),
        coerce=int,
        choices=_ALGORITHMS,
        initial=DEFAULT_ALGORITHM,
        widget=forms.Select(),
    )
    bits = forms.TypedChoiceField(
        label=gettext_lazy("RSA key size"),
        coerce=int,
        choices=_SIZES,
        required=False,
        help_text=gettext_lazy("Keys with other algorithms have a fixed size."),
    )

    @property
    def key_bits(self) -> int | None:
        """The key size for RSA, or None for other algorithms."""
        is_rsa = ALGORITHMS[self.cleaned_data["algorithm"]].startswith("RSA")
        return (self.cleaned_data["bits"] or None) if is_rsa else None


class SignForm(KeyChoice, DenialForm):
    """The form that signs a zone: its keys and its denial of existence."""

    name = "sign"
    split = switch_field(
        gettext_lazy("Separate KSK and ZSK"), gettext_lazy("A single combined key (CSK) is simpler and just as secure.")
    )

    @classmethod
    def initial_by(cls, terms: Terms) -> dict[str, object]:
        """Return the initial form values from the policy's terms."""
        return {
            **cls.initial_of(SigningState(nsec3=terms.nsec3)),
            "algorithm": terms.algorithm,
            "bits": terms.bits,
            "split": terms.split,
        }


class CdsForm(SigningForm):
    """The form for the CDS and CDNSKEY records that the zone publishes for its parent (RFC 7344, 8078)."""

    name = "cds"
    cds = forms.ChoiceField(label=gettext_lazy("CDS records"), required=False, choices=list(CDS_LABELS.items()))
    cdnskey = switch_field(gettext_lazy("CDNSKEY records"))

    def __init__(self, *args: Any, state: SigningState, **kwargs: Any) -> None:
        super().__init__(*args, initial={"cds": state.cds, "cdnskey": state.cdnskey}, **kwargs)
        field = self.fields["cds"]
        assert isinstance(field, forms.ChoiceField)
        if state.cds not in CDS_LABELS:
            field.choices = [*CDS_LABELS.items(), (state.cds, gettext("digest types {cds}").format(cds=state.cds))]


class SignallingForm(SigningForm):
    """The form that switches signaling names (RFC 9615) on or off, for zones with name servers in this zone."""

    name = "signalling"
    signals = switch_field(
        gettext_lazy("Publish signalling records"),
        gettext_lazy("Publishes the CDS and CDNSKEY records for zones that use these name servers and have no DS yet."),
    )


class _FilesInput(forms.FileInput):
    allow_multiple_selected = True


class _SmallFiles(forms.FileField):
    """A field for several small text files. Its cleaned value is a list of their texts."""

    widget = _FilesInput

    def clean(self, value: Any, initial: Any = None) -> Any:
        return [self._text(super(_SmallFiles, self).clean(each, initial)) for each in value or ()]

    def _text(self, file: "UploadedFile[bytes]") -> str:
        if (file.size or 0) > MOST_TEXT:
            raise forms.ValidationError(gettext("{name} is too large for a key file.").format(name=file.name))
        try:
            return str(file.read(), "utf-8")
        except UnicodeDecodeError as exc:
            raise forms.ValidationError(gettext("{name} isn’t a valid key file.").format(name=file.name)) from exc


class AddKeyForm(KeyChoice, SigningForm):
    """The form that adds a key: a new key to generate, or an existing key as text or as files."""

    name = "key"
    flags = forms.TypedChoiceField(
        label=gettext_lazy("Key type"),
        coerce=int,
        choices=[(KSK_FLAGS, gettext_lazy("KSK or CSK (flags 257)")), (ZSK_FLAGS, gettext_lazy("ZSK (flags 256)"))],
        initial=KSK_FLAGS,
    )
    active = switch_field(gettext_lazy("Sign with this key"), initial=True)
    published = switch_field(gettext_lazy("Publish in DNSKEY records"), initial=True)
    private_text = forms.CharField(
        label=gettext_lazy("Existing private key"),
        required=False,
        max_length=MOST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs=_TEXT),
        help_text=(
            gettext_lazy(
                "Paste a BIND .private file or the output of “pdnsutil export-zone-key”. The algorithm and size "
                "above are then ignored. Leave empty to create a new key."
            )
        ),
    )
    public_text = forms.CharField(
        label=gettext_lazy("BIND .key file"),
        required=False,
        max_length=MOST_TEXT,
        strip=False,
        widget=forms.Textarea(attrs=_TEXT),
        help_text=gettext_lazy("Optional. Confirms the zone and the key type. PowerDNS doesn’t create this file."),
    )
    key_files = _SmallFiles(
        label=gettext_lazy("Key files"),
        required=False,
        help_text=gettext_lazy("Instead of pasting, select the .private file and the .key file together."),
    )

    def clean_private_text(self) -> str | None:
        return _key_text(str(self.cleaned_data["private_text"]))

    def clean_public_text(self) -> str | None:
        text = str(self.cleaned_data["public_text"]).strip()
        if text and self.cleaned_data.get("private_text", "") is None:
            raise forms.ValidationError(gettext("Enter the private key too."))
        return text or None

    def clean_key_files(self) -> Sequence[str]:
        """Use the uploaded texts as the private and public key text.

        Raise ValidationError if texts were also pasted, or if the files aren't valid keys.
        """
        texts: Sequence[str] = self.cleaned_data["key_files"]
        if not texts:
            return texts
        if self.cleaned_data.get("private_text") or self.cleaned_data.get("public_text"):
            raise forms.ValidationError(gettext("Paste the key texts or select key files, but not both."))
        try:
            private, public = key_files.told_apart(texts)
        except BadKey as exc:
            raise forms.ValidationError(str(exc)) from exc
        self.cleaned_data["private_text"], self.cleaned_data["public_text"] = _key_text(private), public
        return texts

    def refuse_for(self, refusal: Exception, at: str | None = None) -> None:
        """Add the refusal as an error to the field that the key came from."""
        if self.cleaned_data.get("key_files") and isinstance(refusal, BadKey):
            self.refuse("key_files", str(refusal))
        elif isinstance(refusal, BadPublicKey):
            self.refuse("public_text", str(refusal))
        else:
            super().refuse_for(refusal, at)


def _key_text(text: str) -> str | None:
    """Return the text if it is a valid private key, or None if it is empty. Raise ValidationError if it is invalid."""
    if not (stripped := text.strip()):
        return None
    try:
        key_material.read(stripped)
    except BadKey as exc:
        raise forms.ValidationError(str(exc)) from exc
    return stripped


class OtherKeyForm(SigningForm):
    """The form for another signer's DNSKEY for the zone."""

    name = "other_key"
    dnskey = forms.CharField(
        label=gettext_lazy("DNSKEY record"),
        max_length=MOST_TEXT,
        widget=forms.Textarea(attrs=_TEXT),
        help_text=gettext_lazy(
            "Full record from the other signer’s name servers, such as example.net. IN DNSKEY 257 3 13 …"
        ),
    )

    def refuse_for(self, refusal: Exception, at: str | None = None) -> None:
        """Add the refusal as an error to the DNSKEY field."""
        self.refuse("dnskey", str(refusal))


class KeyForm(PublishingForm):
    """The form that switches a key's signing and publishing on or off. Omitted fields don't change."""

    active = forms.NullBooleanField()
    published = forms.NullBooleanField()


class UnsignForm(SigningForm, TypedNameForm):
    """The form that unsigns a zone. The typed zone name confirms that signatures and keys are deleted."""

    name = "unsign"
    typed = mono_field(gettext_lazy("Type the zone name to confirm"), 1100, required=True)
    reason = text_field(None, 500, gettext_lazy("Optional. Shown in the history."))
