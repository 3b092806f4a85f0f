"""A fitted model: the mixture, what is proved about it, what judgments cost, simpler forms of it, and its file."""
