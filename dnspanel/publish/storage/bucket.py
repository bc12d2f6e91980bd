"""Store segments in a bucket of an S3-compatible service, using django-storages.

A PUT replaces an object in one step. An object's name contains the hash of its bytes. Storing it again writes the same
bytes, so no check is needed before or after. All errors of the service are raised as OSError, as for a directory.
"""

import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from datetime import datetime
from typing import Any

from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from django.core.files.base import ContentFile, File
from storages.backends.s3 import S3Storage

from dnspanel.texts import gettext

CONNECT_SECONDS = 3
ANSWER_SECONDS = 15
ATTEMPTS = 2
# Larger objects are read into a temporary file.
_IN_MEMORY_BYTES = 8 << 20
_PIECE = 1 << 20
_NOT_FOUND = {"404", "NoSuchKey", "NotFound"}


class Bucket(S3Storage):  # type: ignore[misc]
    """An S3 bucket. Thread-safe, because each thread has its own connection."""

    def __init__(self, **options: Any) -> None:
        config = Config(
            connect_timeout=CONNECT_SECONDS,
            read_timeout=ANSWER_SECONDS,
            retries={"total_max_attempts": ATTEMPTS, "mode": "standard"},
            s3={"addressing_style": "path" if options.get("endpoint_url") else "auto"},
            # Some services other than Amazon's do not support the checksums that newer clients add.
            request_checksum_calculation="when_required",
            response_checksum_validation="when_required",
        )
        super().__init__(client_config=config, **options)

    def put(self, name: str, content: bytes) -> None:
        """Store the object. Storing the same bytes again is harmless."""
        self.save(name, ContentFile(content))

    def exists(self, name: str) -> bool:
        with _as_os_errors(name):
            return bool(super().exists(name))

    def delete(self, name: str) -> None:
        with _as_os_errors(name):
            super().delete(name)

    def size(self, name: str) -> int:
        with _as_os_errors(name):
            return int(super().size(name))

    def listdir(self, name: str) -> tuple[list[str], list[str]]:
        with _as_os_errors(name):
            directories, files = super().listdir(name)
        return directories, files

    def get_modified_time(self, name: str) -> datetime:
        with _as_os_errors(name):
            answer = self.connection.meta.client.head_object(Bucket=self.bucket_name, Key=self._normalize_name(name))
        modified: datetime = answer["LastModified"]
        return modified

    def _open(self, name: str, mode: str = "rb") -> "File[bytes]":
        """Return the complete object, read in one request, so that no error can occur while the caller reads it."""
        with _as_os_errors(name), ExitStack() as on_error:
            spool = on_error.enter_context(tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY_BYTES))
            answer = self.connection.meta.client.get_object(Bucket=self.bucket_name, Key=self._normalize_name(name))
            for piece in answer["Body"].iter_chunks(_PIECE):
                spool.write(piece)
            on_error.pop_all()  # from here on the caller closes it
        spool.seek(0)
        return File(spool, name)

    def _save(self, name: str, content: "File[bytes]") -> str:
        with _as_os_errors(name):
            self.connection.meta.client.put_object(
                Bucket=self.bucket_name, Key=self._normalize_name(name), Body=content.read()
            )
        return name


@contextmanager
def _as_os_errors(name: str) -> Iterator[None]:
    try:
        yield
    except ClientError as exc:
        code = str(exc.response.get("Error", {}).get("Code", ""))
        if code in _NOT_FOUND:
            raise FileNotFoundError(gettext("object {name} not found").format(name=name)) from exc
        raise OSError(gettext("the bucket refused the request: {exc}").format(exc=exc)) from exc
    except BotoCoreError as exc:
        raise ConnectionError(str(exc)) from exc
