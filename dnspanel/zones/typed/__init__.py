"""Convert rdata to labeled fields and back, with a layout for each record type."""
