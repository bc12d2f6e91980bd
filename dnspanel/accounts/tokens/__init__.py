"""API tokens and TSIG keys, and the service accounts that have them."""
