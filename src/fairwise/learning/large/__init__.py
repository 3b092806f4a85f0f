"""Tables that are read in passes, for people who do not fit into memory."""
