"""The web app: participants' pages at ``/``, the operators' console at ``/admin``."""

from fairwise.loading import require

require("study", "A study")
