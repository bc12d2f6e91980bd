"""The DNS face: UPDATE (RFC 2136) and zone transfers with TSIG. It uses the same verbs and access checks as other
faces.
"""
