"""Fairwise inside other libraries."""
