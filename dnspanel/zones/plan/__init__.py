"""Plan a publication before anything is written: merge, checks, guards and quotas."""
