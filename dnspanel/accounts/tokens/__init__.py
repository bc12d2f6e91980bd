"""API tokens and TSIG keys, and the service accounts that own some of them."""
