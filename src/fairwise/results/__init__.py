"""Results of fits, audits and comparisons: plain classes that know their numbers, their words and their JSON."""
