"""The web app: participants' pages at ``/``, the operators' console at ``/admin``."""
