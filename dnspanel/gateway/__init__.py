"""The DNS interface: UPDATE (RFC 2136) and transfers with TSIG, with the verbs and access checks of all interfaces."""
