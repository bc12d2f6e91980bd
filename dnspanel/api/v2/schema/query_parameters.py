"""Query parameters that many operations share."""

from drf_spectacular.utils import OpenApiParameter

WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": 60},
    description="Seconds to wait until all nodes answer with the change. `Prefer: wait=…` does the same.",
)
WAIT_FOR = OpenApiParameter(
    "wait_for",
    {"type": "string", "enum": ["nodes", "all"]},
    description="Servers that `wait` waits for: `nodes`, or `all` (nodes and the secondaries that have the zones).",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="`ETag` of the version that you read, or `*`. Returns 412 if the resource has changed since.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="`*`: only create. Returns 412 if the resource exists."
)
IF_CHANGED = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="`ETag` of your version. Returns 304 if it is current."
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A retry with the same key within 24 hours gets the same answer and writes nothing again.",
)
DRY_RUN = OpenApiParameter(
    "dry_run",
    bool,
    description="true: write nothing and return the changes that the request would make. Errors are the same as for "
    "the write, except that reasons to `confirm` are in the answer.",
)
WRITING = [WAIT, WAIT_FOR, DRY_RUN, IDEMPOTENCY_KEY]
CHANGING = [IF_MATCH, *WRITING]
Q = OpenApiParameter("q", str, description="Search, as in the panel's search box.")
