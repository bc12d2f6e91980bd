"""The plan of a publication: merge, checks, guards and quotas, before anything is written."""
