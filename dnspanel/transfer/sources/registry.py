"""Open an import's source with the parameters stored in the job."""

import json
import os
import re
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any
from urllib.parse import quote

from dnspanel.accounts.secrets.vault import decrypt_secret
from dnspanel.texts import gettext
from dnspanel.transfer import allowed_servers, job_rights
from dnspanel.transfer.documents import Document, Source
from dnspanel.transfer.errors import SourceRefused
from dnspanel.transfer.files import upload
from dnspanel.transfer.files.spool import import_directory
from dnspanel.transfer.models import ImportJob, SourceKind
from dnspanel.transfer.sources import csv_table, powerdns_api, powerdns_dump, powerdns_lmdb, powerdns_sql
from dnspanel.transfer.sources import files as source_files
from dnspanel.transfer.sources import json_zones as json_file
from dnspanel.transfer.sources.columns import CsvMapping
from dnspanel.transfer.sources.over_dns import axfr_in, transfer_tsig

Include = Callable[[str, str], Document | None]


def open_source(job: ImportJob) -> Source:
    """Open the job's source for reading. Raise TransferError if the source cannot be opened.

    For a server, check again that the author is allowed to import from it, because rights and addresses can change
    after the job is created. Raise Forbidden if not.
    """
    if job.source in allowed_servers.SERVER_SOURCES:
        allowed_servers.refuse_source(job_rights.actor_of_job(job), job.source, job.parameters)
    return _OPENERS[SourceKind(job.source)](
        job, job.parameters, dict(json.loads(decrypt_secret(job.secret))) if job.secret else {}
    )


def include_for(job: ImportJob) -> Include:
    """Return a function that finds an included file in the same upload.

    The function maps (path of the including file, path as written) to the included document, or None. For sources other
    than zone files, it always returns None.
    """
    if job.source not in (SourceKind.FILES, SourceKind.RETRY):
        return lambda _, __: None
    return _includes(job.retry_of_id or job.pk)


@lru_cache(maxsize=4)
def _includes(job_id: int) -> Include:
    """Return the include function for one upload, cached per process so that a large archive is indexed once."""
    members = source_files.Members(*_paths_and_names(ImportJob.objects.get(pk=job_id)))

    def include(from_path: str, included: str) -> Document | None:
        return members.document(from_path, included)

    return include


def _paths_and_names(job: ImportJob) -> tuple[list[Path], list[str]]:
    files = upload.uploaded_files(job)
    return [file.path for file in files], [file.name for file in files]


def _files(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    return source_files.FileSource(*_paths_and_names(job))


def _one_file(job: ImportJob) -> upload.Uploaded:
    """Return the only uploaded file. Raise SourceRefused unless there is exactly one."""
    files = upload.uploaded_files(job)
    if len(files) != 1:
        raise SourceRefused(
            gettext("This import type reads one file, but {files} files were uploaded.").format(files=len(files))
        )
    return files[0]


def _addresses(job: ImportJob) -> allowed_servers.Addresses | None:
    return allowed_servers.addresses_for(job_rights.actor_of_job(job))


def _axfr(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    key = None
    if parameters.get("tsig_name"):
        key = transfer_tsig.TsigKey(
            parameters["tsig_name"], parameters["tsig_algorithm"], secret.get("tsig_secret", "")
        )
    zones, catalog = parameters.get("zones") or (), parameters.get("catalog") or ""
    addresses = _addresses(job) or allowed_servers.every_address
    return axfr_in.AxfrSource(
        parameters["server"], parameters["port"], zones, catalog=catalog, tsig=key, addresses=addresses
    )


def _powerdns_api(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    server_id, zones = parameters.get("server_id") or "localhost", parameters.get("zones") or None
    addresses = _addresses(job) or allowed_servers.every_address
    return powerdns_api.PowerdnsApiSource(
        parameters["url"], secret.get("key", ""), server_id, zones, addresses=addresses
    )


def _powerdns_sql(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    url = database_url(parameters, secret.get("password", ""))
    return powerdns_sql.PowerdnsSqlSource(url, addresses=_addresses(job))


def database_url(parameters: dict[str, Any], password: str) -> str:
    """Return the URL of a PowerDNS database, with special characters quoted in every part."""
    database = quote(parameters["database"].lstrip("/") if parameters["kind"] != "sqlite" else parameters["database"])
    if parameters["kind"] == "sqlite":
        return f"sqlite:///{database.lstrip('/')}" if not database.startswith("/") else f"sqlite://{database}"
    user, host = quote(parameters.get("user") or "", safe=""), parameters.get("host") or "localhost"
    host = f"[{host}]" if ":" in host else quote(host)
    port = f":{parameters['port']}" if parameters.get("port") else ""
    return f"{parameters['kind']}://{user}:{quote(password, safe='')}@{host}{port}/{database}"


def _powerdns_dump(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    return powerdns_dump.PowerdnsDumpSource(_one_file(job).path, import_directory(job.pk))


def _powerdns_lmdb(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    """Open the uploaded LMDB under its original file names. Raise SourceRefused unless there is one main file."""
    directory = import_directory(job.pk) / "lmdb"
    directory.mkdir(parents=True, exist_ok=True)
    files = upload.uploaded_files(job)
    for file in files:
        target = directory / PurePosixPath(file.name).name
        if not target.exists() and not file.name.endswith("-lock"):
            os.link(file.path, target)
    main = [file for file in files if not _BESIDE_MAIN.search(file.name)]
    if len(main) != 1:
        raise SourceRefused(gettext("Upload one main file, such as pdns.lmdb, and its shards, such as pdns.lmdb-0."))
    return powerdns_lmdb.PowerdnsLmdbSource(directory / PurePosixPath(main[0].name).name)


def _csv(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    mapping = parameters.get("mapping")
    file = _one_file(job)
    columns = CsvMapping(**mapping) if mapping else csv_table.sample(file.path).mapping
    return csv_table.CsvSource(file.path, columns, name=file.name)


def _json(job: ImportJob, parameters: dict[str, Any], secret: dict[str, str]) -> Source:
    file = _one_file(job)
    return json_file.JsonSource(file.path, name=file.name, keys_passphrase=secret.get("keys_passphrase", ""))


_OPENERS: dict[SourceKind, Callable[[ImportJob, dict[str, Any], dict[str, str]], Source]] = {
    SourceKind.FILES: _files,
    SourceKind.AXFR: _axfr,
    SourceKind.POWERDNS_API: _powerdns_api,
    SourceKind.POWERDNS_SQL: _powerdns_sql,
    SourceKind.POWERDNS_DUMP: _powerdns_dump,
    SourceKind.POWERDNS_LMDB: _powerdns_lmdb,
    SourceKind.CSV: _csv,
    SourceKind.JSON: _json,
}
_BESIDE_MAIN = re.compile(r"-(?:\d+|lock)$")  # shards and LMDB's lock files
