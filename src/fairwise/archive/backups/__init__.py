"""Backups: a study with everything that its participants and operators need to go on, in one file."""
