"""Forms for the import wizard, one for each kind of source."""

import base64
import binascii
from collections.abc import Iterator
from typing import Any, ClassVar
from urllib.parse import urlsplit

from django import forms

from dnspanel.accounts.tokens import tsig_secrets
from dnspanel.counted_lines import TooManyLines, counted_lines
from dnspanel.texts import gettext, gettext_lazy
from dnspanel.transfer import import_limits
from dnspanel.transfer.allowed_servers import DATABASE_PORTS
from dnspanel.transfer.models import SourceKind
from dnspanel.transfer.sealed_keys import MOST_CHARACTERS
from dnspanel.web.frame.all_or_some import ALL, AllOrSome, AllOrSomeForm
from dnspanel.web.frame.forms import (
    MONO_LINES,
    PublishingForm,
    input_faults,
    mono_field,
    number_field,
    secret_field,
)
from replication.dns import names
from replication.errors import BadName

MOST_NAMED_ZONES = 100_000
MOST_FAULTY_LINES = 10  # in the errors of a field

_PLAIN = {"autocomplete": "off", "spellcheck": "false", "autocapitalize": "off"}


class SourceForm(PublishingForm):
    """The base class of source forms. `parameters` and `secret` are arguments for `import_jobs.create_job`."""

    kind: ClassVar[SourceKind]
    takes_files: ClassVar[bool] = False
    accept: ClassVar[str] = ""

    title = forms.CharField(
        label=gettext_lazy("Title"),
        required=False,
        max_length=200,
        help_text=gettext_lazy("Shown in the list of imports. Leave empty for an automatic title."),
        widget=forms.TextInput(attrs=_PLAIN),
    )

    @property
    def parameters(self) -> dict[str, Any]:
        return {}

    @property
    def secret(self) -> dict[str, str] | None:
        return None

    @property
    def default_title(self) -> str:
        return str(SourceKind(self.kind).label)

    @property
    def rows(self) -> Iterator[list[Any]]:
        """The fields specific to this kind of source, grouped in rows as on the page."""
        yield from self.groups([field for field in self.visible_fields() if field.name != "title"])

    def groups(self, own: list[forms.BoundField]) -> list[list[forms.BoundField]]:
        return [[field] for field in own]


class FilesForm(SourceForm):
    """The form for zone files, and archives that contain zone files."""

    kind = SourceKind.FILES
    takes_files = True


class JsonForm(SourceForm):
    """The form for JSON files from the panel's own export, or lists of RRsets."""

    kind = SourceKind.JSON
    takes_files = True
    accept = ".json,.jsonl,.ndjson,.gz,application/json"

    keys_passphrase = secret_field(
        gettext_lazy("Key passphrase"),
        MOST_CHARACTERS,
        gettext_lazy(
            "Decrypts the private DNSSEC keys in the export, so that new zones keep their keys. Stored "
            "encrypted, and deleted after the scan."
        ),
        strip=False,
    )

    @property
    def secret(self) -> dict[str, str] | None:
        found = self.cleaned_data["keys_passphrase"]
        return {"keys_passphrase": found} if found else None


class CsvForm(SourceForm):
    """The form for a CSV table. On the next page, the user assigns a meaning to each column."""

    kind = SourceKind.CSV
    takes_files = True
    accept = ".csv,.tsv,.txt,.gz,text/csv"


class DumpForm(SourceForm):
    """The form for a PowerDNS database dump by pg_dump, mysqldump or SQLite's `.dump`."""

    kind = SourceKind.POWERDNS_DUMP
    takes_files = True
    accept = ".sql,.dump,.gz,.txt"


class LmdbForm(SourceForm):
    """The form for the LMDB files of a PowerDNS server: the main file and its shards."""

    kind = SourceKind.POWERDNS_LMDB
    takes_files = True


class PasteForm(SourceForm):
    """The form for a pasted zone file."""

    kind = SourceKind.PASTE

    text = forms.CharField(
        label=gettext_lazy("Zone file"),
        strip=False,
        help_text=gettext_lazy("One zone. Supports $ORIGIN, $TTL, $GENERATE, comments and multi-line records."),
        widget=forms.Textarea(attrs={**MONO_LINES, "rows": 14, "placeholder": "$ORIGIN example.org.\n$TTL 3600"}),
    )
    origin = mono_field(
        gettext_lazy("Zone"), 1100, gettext_lazy("Only needed if the zone file doesn’t include the zone name.")
    )

    def clean_text(self) -> str:
        text = str(self.cleaned_data["text"])
        if len(text.encode()) > import_limits.MOST_PASTE_BYTES:
            raise forms.ValidationError(
                gettext("A pasted zone file must not exceed {value} MiB. Upload the file instead.").format(
                    value=import_limits.MOST_PASTE_BYTES >> 20
                )
            )
        return text

    def clean_origin(self) -> str:
        return name_or_nothing(self.cleaned_data["origin"])

    @property
    def parameters(self) -> dict[str, Any]:
        return {"origin": self.cleaned_data["origin"]}

    @property
    def default_title(self) -> str:
        return gettext("Pasted {value}").format(value=self.cleaned_data["origin"] or gettext("zone file"))


class AxfrForm(SourceForm):
    """The form for a running name server that allows the panel to transfer its zones."""

    kind = SourceKind.AXFR

    server = mono_field(gettext_lazy("Server"), 253, gettext_lazy("Host name or IP address."), required=True)
    port = number_field(gettext_lazy("Port"), 1, 65535, required=True, initial=53)
    zones = mono_field(gettext_lazy("Zones"), 300 * MOST_NAMED_ZONES, gettext_lazy("One per line."), rows=5)
    catalog = mono_field(
        gettext_lazy("Catalog zone"), 1100, gettext_lazy("Transfers all members of the catalog zone (RFC 9432).")
    )
    tsig_name = mono_field(
        gettext_lazy("TSIG key"), 1100, gettext_lazy("Key name. Leave empty for transfers without TSIG.")
    )
    tsig_algorithm = forms.ChoiceField(
        label=gettext_lazy("Algorithm"), choices=[(name, name) for name in tsig_secrets.ALGORITHMS]
    )
    tsig_secret = secret_field(
        gettext_lazy("Secret"), 1000, gettext_lazy("In Base64. Stored encrypted, and deleted after the scan.")
    )

    def groups(self, own: list[forms.BoundField]) -> list[list[forms.BoundField]]:
        server, port, zones, catalog, name, algorithm, secret = own
        return [[server, port], [zones], [catalog], [name, algorithm], [secret]]

    def clean_zones(self) -> list[str]:
        return names_by_line(self.cleaned_data["zones"])

    def clean_catalog(self) -> str:
        return name_or_nothing(self.cleaned_data["catalog"])

    def clean_tsig_name(self) -> str:
        return name_or_nothing(self.cleaned_data["tsig_name"])

    def clean_tsig_secret(self) -> str:
        return _base64(self.cleaned_data["tsig_secret"])

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = self.cleaned_data
        if {"zones", "catalog"} <= cleaned.keys() and bool(cleaned["zones"]) == bool(cleaned["catalog"]):
            self.refuse("zones", gettext("Enter either zone names or a catalog zone."))
        if {"tsig_name", "tsig_secret"} <= cleaned.keys() and bool(cleaned["tsig_name"]) != bool(
            cleaned["tsig_secret"]
        ):
            missing = "tsig_secret" if cleaned["tsig_name"] else "tsig_name"
            self.refuse(missing, gettext("Enter both the name and the secret of the TSIG key."))
        return cleaned

    @property
    def parameters(self) -> dict[str, Any]:
        fields = ("server", "port", "zones", "catalog", "tsig_name", "tsig_algorithm")
        return {name: self.cleaned_data[name] for name in fields}

    @property
    def secret(self) -> dict[str, str] | None:
        found = self.cleaned_data["tsig_secret"]
        return {"tsig_secret": found} if found else None

    @property
    def default_title(self) -> str:
        return gettext("Transfer from {cleaned_data}").format(cleaned_data=self.cleaned_data["server"])


class PowerdnsApiForm(AllOrSomeForm, SourceForm):
    """The form for the HTTP API of a PowerDNS server."""

    kind = SourceKind.POWERDNS_API
    all_or_some = (AllOrSome(("zones",), all=gettext_lazy("All zones on the server"), default=ALL),)

    url = mono_field(
        gettext_lazy("Address"), 500, gettext_lazy("Example: http://192.0.2.53:8081"), required=True, inputmode="url"
    )
    key = secret_field(
        gettext_lazy("API key"), 1000, gettext_lazy("Stored encrypted, and deleted after the scan."), required=True
    )
    server_id = mono_field(gettext_lazy("Server ID"), 100, required=True, initial="localhost")
    zones = mono_field(
        gettext_lazy("Zone names"), 300 * MOST_NAMED_ZONES, gettext_lazy("Enter one zone name per line."), rows=4
    )

    @property
    def rows(self) -> Iterator[list[Any]]:
        yield from ([line] for line in self.field_lines if getattr(line, "name", "") != "title")

    def clean_url(self) -> str:
        parts = urlsplit(self.cleaned_data["url"])
        if parts.scheme not in {"http", "https"} or not parts.hostname:
            raise forms.ValidationError(
                gettext("Enter a URL that starts with http:// or https:// and includes a host.")
            )
        if parts.username or parts.password:
            raise forms.ValidationError(gettext("Remove the user name and password from the URL."))
        return str(self.cleaned_data["url"]).rstrip("/")

    def clean_zones(self) -> list[str]:
        return names_by_line(self.cleaned_data["zones"])

    @property
    def parameters(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in ("url", "server_id", "zones")}

    @property
    def secret(self) -> dict[str, str] | None:
        return {"key": self.cleaned_data["key"]}

    @property
    def default_title(self) -> str:
        return gettext("PowerDNS at {netloc}").format(netloc=urlsplit(self.cleaned_data["url"]).netloc)


class PowerdnsSqlForm(SourceForm):
    """The form for the database of a PowerDNS server."""

    kind = SourceKind.POWERDNS_SQL

    database_kind = forms.ChoiceField(
        label=gettext_lazy("Kind"), choices=[("postgresql", "PostgreSQL"), ("mysql", gettext_lazy("MySQL, MariaDB"))]
    )
    host = mono_field(gettext_lazy("Host"), 253, required=True)
    port = number_field(
        gettext_lazy("Port"), 1, 65535, gettext_lazy("Leave empty for the default port (5432 or 3306).")
    )
    database = mono_field(gettext_lazy("Database"), 200, required=True, initial="powerdns")
    user = mono_field(gettext_lazy("User"), 200, required=True, initial="powerdns")
    password = secret_field(
        None,
        1000,
        gettext_lazy("Use a read-only account. The password is stored encrypted, and deleted after the scan."),
        strip=False,
    )

    def groups(self, own: list[forms.BoundField]) -> list[list[forms.BoundField]]:
        kind, host, port, database, user, password = own
        return [[kind, host, port], [database, user], [password]]

    @property
    def parameters(self) -> dict[str, Any]:
        cleaned = self.cleaned_data
        kind = cleaned["database_kind"]
        return {
            "kind": kind,
            "host": cleaned["host"],
            "port": cleaned["port"] or DATABASE_PORTS[kind],
            "database": cleaned["database"],
            "user": cleaned["user"],
        }

    @property
    def secret(self) -> dict[str, str] | None:
        return {"password": self.cleaned_data["password"]}

    @property
    def default_title(self) -> str:
        return gettext("PowerDNS database on {cleaned_data}").format(cleaned_data=self.cleaned_data["host"])


SOURCE_FORMS: dict[str, type[SourceForm]] = {
    form.kind.value: form
    for form in (
        FilesForm,
        PasteForm,
        AxfrForm,
        PowerdnsApiForm,
        PowerdnsSqlForm,
        DumpForm,
        LmdbForm,
        CsvForm,
        JsonForm,
    )
}


def name_or_nothing(text: str) -> str:
    if not text.strip():
        return ""
    with input_faults():
        return names.parse(text)


def names_by_line(text: str) -> list[str]:
    """Parse one name per line. Return the canonical names without duplicates.

    Raise ValidationError if there are too many lines, or with messages about the first invalid lines.
    """
    try:
        lines = counted_lines(text, MOST_NAMED_ZONES)
    except TooManyLines as exc:
        raise forms.ValidationError(
            gettext("Enter at most {most_named_zones:,} zones. You entered {found:,}.").format(
                most_named_zones=exc.most, found=exc.count
            )
        ) from exc
    found: dict[str, None] = {}
    wrong = []
    for number, line in lines:
        try:
            found[names.parse(line)] = None
        except BadName as exc:
            wrong.append(gettext("Line {number}: {exc}").format(number=number, exc=exc))
            if len(wrong) == MOST_FAULTY_LINES:
                break
    if wrong:
        raise forms.ValidationError(wrong)
    return list(found)


def _base64(text: str) -> str:
    try:
        base64.b64decode(text, validate=True)
    except binascii.Error as exc:
        raise forms.ValidationError(gettext("Enter a valid Base64 value.")) from exc
    return text
