"""Consumer catalogs (RFC 9432), which list the zones to transfer from other servers, and producer catalogs."""
