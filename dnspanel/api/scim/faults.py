"""Errors for SCIM requests (RFC 7644, section 3.12). Pure."""

from dnspanel.api.errors import ApiError


class ScimFault(ApiError):
    """A SCIM error response: a status, a `scimType` (can be empty) and one sentence."""

    def __init__(self, status: int, detail: str, kind: str = "") -> None:
        self.status, self.detail, self.kind = status, detail, kind
        super().__init__(detail)
