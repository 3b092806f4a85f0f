"""Every version of the tables, in order."""
