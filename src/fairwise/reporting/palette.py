"""The colours of figures: each has a role, and the page gives the role another value in the dark."""

INK = "#1f2933"
MUTED = "#52606d"
RULE = "#d5dbe1"
SOFT = "#76828f"
ACCENT = "#1d5a96"
WARM = "#a6410a"
PAPER = "#ffffff"

ROLES = {INK: "ink", MUTED: "muted", RULE: "rule", SOFT: "soft", ACCENT: "accent", WARM: "warm", PAPER: "paper"}
