"""An endpoint for agents that don't have a certificate yet: `POST /enroll/`, with JSON in both directions."""

import json
from dataclasses import asdict
from typing import Any

from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from dnspanel.fleet.errors import BadRequest, CodeRefused
from dnspanel.fleet.nodes import node_lifecycle

# A code and a signing request of an EC key are below 1 KB.
MAX_BODY = 16 * 1024


@csrf_exempt  # no session is read here: the one-time code is the only authority
@require_POST
def enroll_agent(request: HttpRequest) -> JsonResponse:
    """Respond with 200 and the certificate, 202 while approval is pending, or 4xx with `error` and `message`."""
    text = request.read(MAX_BODY + 1)  # limits the body, regardless of the request's Content-Length and encoding
    if len(text) > MAX_BODY:
        return _refusal(413, "too large", f"A request has at most {MAX_BODY} bytes.")
    try:
        body: Any = json.loads(text)
        code, csr_pem = str(body["code"]), str(body["csr"])
    except (ValueError, KeyError, TypeError, RecursionError):  # RecursionError: ten thousand nested brackets
        return _refusal(400, "bad request", "Send a JSON object with `code` and `csr`.")
    try:
        answer = node_lifecycle.submit_request(code=code, csr_pem=csr_pem, now=timezone.now())
    except BadRequest as exc:
        return _refusal(400, "bad request", str(exc))
    except CodeRefused as exc:
        return _refusal(403, "code refused", str(exc))
    if isinstance(answer, node_lifecycle.Waiting):
        waiting = {"fingerprint": answer.fingerprint, "settings": answer.settings.to_json()}
        return JsonResponse({"state": "waiting for approval", **waiting}, status=202)
    return JsonResponse(asdict(answer))


def _refusal(status: int, error: str, message: str) -> JsonResponse:
    return JsonResponse({"error": error, "message": message}, status=status)
