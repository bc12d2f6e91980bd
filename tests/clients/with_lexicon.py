"""A user's program that works with the library dns-lexicon; prints as JSON what it answered.

with_lexicon.py URL KEY ZONE METHOD ARGUMENTS-AS-JSON

Not its command line: that one asks the machine's resolver for every zone, which
knows nothing of zones made for a test.
"""

import json
import sys

from lexicon.client import Client
from lexicon.config import ConfigResolver

TTL = 60


def main() -> None:
    url, key, zone, method, arguments = sys.argv[1:]
    options = {"provider_name": "powerdns", "action": "list", "type": "TXT", "domain": zone, "delegated": zone}
    config = ConfigResolver().with_dict({**options, "ttl": TTL, "powerdns": {"pdns_server": url, "auth_token": key}})
    with Client(config) as operations:
        sys.stdout.write(json.dumps(getattr(operations, method)(**json.loads(arguments))) + "\n")


if __name__ == "__main__":
    main()
