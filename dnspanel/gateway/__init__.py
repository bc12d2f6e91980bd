"""The DNS interface: UPDATE (RFC 2136), zone transfers, queries and NOTIFY, with limits for unsigned messages.

Changes and access checks are the same as in the other interfaces.
"""
