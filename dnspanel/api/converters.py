"""A URL converter for names with slashes (zones of classless reverse delegation, RFC 2317)."""

from replication.dns import names

# The longest name has every octet as `\DDD`, with the backslash as `=5C` as in PowerDNS's zone ids. Without a limit, a
# URL with many `/rrsets/` would be costly to match, and matching happens before authentication.
LONGEST = 6 * names.MAX_WIRE


class NameInPathConverter:
    """The converter for `<name:zone_id>`. It matches one or more path segments and returns them unchanged.

    `%2F` is decoded before the URL is resolved, so a view can't distinguish it from a slash. A URL pattern that ends in
    a name must therefore come after the patterns that continue after the name.
    """

    regex = rf"[\s\S]{{1,{LONGEST}}}"  # line ends too, so that the API itself rejects invalid names

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value
