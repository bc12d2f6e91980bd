"""The DNS interface: UPDATE (RFC 2136) and zone transfers with TSIG.

Changes and access checks are the same as in the other interfaces.
"""
