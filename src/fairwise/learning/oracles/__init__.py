"""One file per oracle: what answers "which classifier is cheapest for these costs?"."""
