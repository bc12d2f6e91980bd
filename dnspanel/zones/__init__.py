"""Edit and publish zones: RRsets, drafts, revisions and the log. This package doesn't depend on LMDB."""
