"""A program with the library dns-lexicon. Prints the result as JSON.

    with_lexicon.py URL KEY ZONE METHOD ARGUMENTS-AS-JSON

lexicon's command-line program cannot be used: it asks the system's resolver for each zone, and that resolver doesn't
have the tests' zones.
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
