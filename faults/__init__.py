"""Faults on purpose: a study is answered by many while everything that can go wrong does, and nothing may be lost."""
