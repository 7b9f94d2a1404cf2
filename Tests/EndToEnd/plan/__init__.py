"""Compares the plan of `pollerd simulate` for a traffic with a real cluster under that traffic: see `ops/plan`."""
