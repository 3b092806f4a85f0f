"""The game between a learner and the judgments, and what comes out of it."""
