"""Chaos runs: a seeded schedule kills and freezes real processes under load, then a checker judges the result."""
