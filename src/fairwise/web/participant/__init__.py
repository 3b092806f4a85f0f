"""The pages of participants."""
