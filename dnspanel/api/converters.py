"""The URL converter of names, which may have slashes: zones of classless reverse delegation (RFC 2317) do."""

from replication.dns import names

# Every octet as `\DDD`, the backslash as `=5C` as PowerDNS has it in zone ids. Two names in one URL would otherwise be
# tried at each `/rrsets/` of it, before anybody has signed in.
LONGEST = 6 * names.MAX_WIRE


class NameInPathConverter:
    """`<name:zone_id>`: one part of a path or several, given to the view as they stand.

    A client that writes a slash as `%2F` sends the same as one that leaves it: it is decoded before the URL is looked
    up. So a URL that ends in a name must stand behind those that have something after it.
    """

    regex = rf"[\s\S]{{1,{LONGEST}}}"  # a line end too: whatever is no name is refused by the API, in its own form

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
