"""Section 5 of the paper, done again: with a simulated panel, or with real answers."""
