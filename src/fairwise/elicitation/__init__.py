"""The study: pairs of people shown to participants, and what they answered. Knows judgments, nothing of learning."""
