"""Measures the delay from a change at Stripe to the shop's webhook, and the requests it costs: see `ops/know`."""
