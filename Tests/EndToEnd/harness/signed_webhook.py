"""The signature of Stripe's webhooks."""

import hashlib
import hmac
import time


def signed_webhook(body: bytes, secret: str, age_s: int = 0) -> dict[str, str]:
    """Returns the headers of a webhook with this body, signed `age_s` seconds ago as Stripe does."""
    at = int(time.time()) - age_s
    signature = hmac.new(secret.encode(), f"{at}.".encode() + body, hashlib.sha256).hexdigest()
    return {"Stripe-Signature": f"t={at},v1={signature}", "Content-Type": "application/json"}
