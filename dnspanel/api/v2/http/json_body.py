"""Parse JSON bodies strictly. Reject ambiguous JSON and values that can't be stored."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import RequestDataTooBig
from rest_framework.parsers import BaseParser

from dnspanel.api.json_text import parse_json
from dnspanel.api.v2.http.problems import Problem


class StrictJSONParser(BaseParser):
    """A JSON parser that rejects NaN, Infinity, duplicate members, lone surrogates, zero bytes and excessive nesting.

    It raises Problem for an invalid body, and RequestDataTooBig (413) above `DATA_UPLOAD_MAX_MEMORY_SIZE`.
    """

    media_type = "application/json"

    def parse(self, stream: Any, media_type: str | None = None, parser_context: Mapping[str, Any] | None = None) -> Any:
        # Read one byte more than allowed, because Content-Length can be wrong or missing.
        body = stream.read(settings.DATA_UPLOAD_MAX_MEMORY_SIZE + 1)
        if len(body) > settings.DATA_UPLOAD_MAX_MEMORY_SIZE:
            raise RequestDataTooBig
        try:
            return parse_json(body.decode())
        except (ValueError, RecursionError) as exc:
            raise Problem("malformed", f"The body cannot be read as JSON: {_reason_of(exc)}.") from exc


class MergePatchParser(StrictJSONParser):
    """The strict JSON parser for JSON Merge Patch's media type (RFC 7386)."""

    media_type = "application/merge-patch+json"


def _reason_of(exc: Exception) -> str:
    if isinstance(exc, RecursionError):
        return "it is nested too deeply"
    if isinstance(exc, UnicodeDecodeError):
        return f"byte {exc.start} is not UTF-8"
    return str(exc).rstrip(".")
