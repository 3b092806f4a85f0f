"""The web app: what participants see and send."""
