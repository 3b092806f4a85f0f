"""Modules that the pages of participants and of operators share."""
