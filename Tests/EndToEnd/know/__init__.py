"""How soon a shop knows what has become of a payment, and how many questions to Stripe that took: see `ops/know`."""
