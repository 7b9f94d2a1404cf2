"""Shared parts of the end-to-end tests and the demo: real processes, independent peers, a checker."""
