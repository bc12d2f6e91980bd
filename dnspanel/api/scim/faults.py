"""The errors of SCIM requests (RFC 7644, section 3.12). Pure."""

from dnspanel.api.errors import ApiError


class ScimFault(ApiError):
    """The request is answered with this status, this kind of fault (`scimType`, may be empty) and a sentence."""

    def __init__(self, status: int, detail: str, kind: str = "") -> None:
        self.status, self.detail, self.kind = status, detail, kind
        super().__init__(detail)
