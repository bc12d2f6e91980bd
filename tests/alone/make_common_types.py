"""Creates RRsets of common types. Exits with status 1 if that loads dnspython."""

import sys

from replication.dns import rrset

for type, text in ((1, "192.0.2.1"), (15, "10 mail"), (16, "v=spf1 -all"), (6, "ns hm 1 2 3 4 5"), (33, "0 0 1 a")):
    rrset.make("www", type, 300, [text], origin="example.test.")
sys.exit(any(name == "dns" or name.startswith("dns.") for name in sys.modules))
