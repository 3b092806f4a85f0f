"""A study with all its answers in one archive: to keep, to hand on, to be checked by someone else."""
