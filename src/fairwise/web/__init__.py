"""The web app: participants' pages at ``/``, the operators' console at ``/admin``."""

from fairwise.extras import require

require("study", "A study")
