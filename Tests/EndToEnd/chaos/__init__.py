"""Chaos runs: real processes under load, killed and frozen by a seeded schedule, then judged."""
