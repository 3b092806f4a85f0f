"""Figures and the report: pictures and prose, no numbers of their own."""
