"""Add information to rows in the editor, such as rights, expiries and warnings."""
