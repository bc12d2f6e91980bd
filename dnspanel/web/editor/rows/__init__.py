"""Additional information about rows in the editor, such as rights, expiries and warnings."""
