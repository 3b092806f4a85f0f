"""The operator's console, for whoever runs a study and may not program."""
