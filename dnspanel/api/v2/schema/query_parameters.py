"""The query parameters that many operations share."""

from drf_spectacular.utils import OpenApiParameter

WAIT = OpenApiParameter(
    "wait",
    {"type": "integer", "minimum": 0, "maximum": 60},
    description="Seconds to wait until all nodes answer with it; `Prefer: wait=…` says the same.",
)
WAIT_FOR = OpenApiParameter(
    "wait_for",
    {"type": "string", "enum": ["nodes", "all"]},
    description="Whom `wait` waits for: `nodes`, or `all` (nodes and the secondaries that have the zones).",
)
IF_MATCH = OpenApiParameter(
    "If-Match",
    str,
    OpenApiParameter.HEADER,
    description="`ETag` of what you read, or `*`. 412 if it has changed since.",
)
IF_NONE_MATCH = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="`*`: write only if it does not exist yet, else 412."
)
IF_CHANGED = OpenApiParameter(
    "If-None-Match", str, OpenApiParameter.HEADER, description="ETag of the version that you have: then 304."
)
IDEMPOTENCY_KEY = OpenApiParameter(
    "Idempotency-Key",
    str,
    OpenApiParameter.HEADER,
    description="A retry with the same key gets the same answer for 24 hours, and writes once.",
)
DRY_RUN = OpenApiParameter(
    "dry_run",
    bool,
    description="true: write nothing, and answer what would be done. What would refuse the write refuses this; what "
    "would ask for `confirm` is in the answer.",
)
WRITING = [WAIT, WAIT_FOR, DRY_RUN, IDEMPOTENCY_KEY]
CHANGING = [IF_MATCH, *WRITING]
Q = OpenApiParameter("q", str, description="As in the search box of the panel.")
