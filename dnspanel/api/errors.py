"""What the APIs refuse, as one tree of its own; errors of zones, accounts and others are translated in the views.

ApiError
├── Refusal               (v1.view) an answer with a status in PowerDNS's words
├── Problem               (v2.http.problems) an answer as problem details
├── ScimFault             (scim.faults) an answer in SCIM's shape
├── NotAnAddress          (dyndns) an address parameter holds something else
├── NotObeyed             (v1.acting_metadata) a zone's metadata would have no effect here
├── TooMuchMetadata       (v1.kept_metadata) a zone's metadata would be too large
└── TooGeneral            (v1.search_query) a search would compare too much
"""


class ApiError(Exception):
    """A request that an API does not carry out in this form."""
