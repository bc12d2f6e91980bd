"""The URL converter for names, which can contain slashes (zones of classless reverse delegation, RFC 2317)."""

from replication.dns import names

# Every octet as `\DDD`, the backslash as `=5C` as PowerDNS has it in zone ids. Two names in one URL would otherwise be
# tried at each `/rrsets/` of it, before anybody has signed in.
LONGEST = 6 * names.MAX_WIRE


class NameInPathConverter:
    """The converter `<name:zone_id>`, which matches one or more path parts and passes them to the view unchanged.

    `%2F` is decoded before the URL is resolved, so a view can't distinguish it from a slash. Therefore a URL pattern
    that ends in a name must come after the patterns that continue after the name.
    """

    regex = rf"[\s\S]{{1,{LONGEST}}}"  # a line end too: whatever is no name is refused by the API, in its own form

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
