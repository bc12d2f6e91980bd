"""The hooks of schemathesis for its tests: loaded by its `hooks` setting, not by pytest."""

from typing import Any

import schemathesis


@schemathesis.hook
def after_call(context: Any, case: Any, response: Any) -> None:
    """Accept a 204 without a media type: a Swagger 2 operation declares the same media types for all answers."""
    if response.status_code == 204 and not response.content:
        response.headers.setdefault("content-type", ["application/json"])
