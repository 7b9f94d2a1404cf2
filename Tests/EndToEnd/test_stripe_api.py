"""Tests the sandbox's API with Stripe's official client: keys, accounts, idempotency, limits and errors."""

import threading

import pytest
import stripe

from harness.stripe_lab import DAY, SECRET_KEY, StripeLab, eventually
from harness.waiting import wait_until


@pytest.fixture(scope="module")
def lab():
    with StripeLab() as lab:
        yield lab


CARD = {"type": "card"}


def code_of(raised) -> str:
    """Returns the error's code. The SDK's own attribute is empty for some of its classes."""
    return raised.value.json_body["error"]["code"]


# Idempotency.


def test_a_key_replays_the_first_response_and_rejects_other_parameters(lab):
    options = {"idempotency_key": "one"}
    first = lab.v1.sources.create(CARD, options)
    assert "Idempotent-Replayed" not in first.last_response.headers
    replay = lab.v1.sources.create(CARD, options)
    headers = replay.last_response.headers
    assert replay.last_response.body == first.last_response.body
    assert replay == first and headers["Idempotent-Replayed"] == "true"
    assert headers["Original-Request"] == first.last_response.headers["Request-Id"] != headers["Request-Id"]
    assert headers["Idempotency-Key"] == "one"
    with pytest.raises(stripe.IdempotencyError) as other:
        lab.v1.sources.create(CARD | {"usage": "single_use"}, options)
    assert other.value.http_status == 400
    # Another operation counts as different parameters too.
    with pytest.raises(stripe.IdempotencyError):
        lab.v1.customers.create({}, options)
    # Another account has separate idempotency keys.
    elsewhere = lab.v1.sources.create(CARD, options | {"stripe_account": "acct_1"})
    assert elsewhere.id != first.id


def test_a_key_expires_after_a_day(lab):
    options = {"idempotency_key": "day"}
    first = lab.v1.sources.create(CARD, options)
    lab.advance(DAY - 60)
    assert lab.v1.sources.create(CARD, options).id == first.id
    lab.advance(120)
    assert lab.v1.sources.create(CARD, options).id != first.id


def test_a_failed_validation_is_not_stored_and_a_decline_is(lab):
    options = {"idempotency_key": "pending"}
    source = lab.source()
    params = {"amount": 1099, "currency": "eur", "source": source.id}
    with pytest.raises(stripe.InvalidRequestError) as early:
        lab.v1.charges.create(params, options)
    assert early.value.http_status == 400
    lab.press(source, "authorize")
    made = lab.v1.charges.create(params, options)
    assert made.paid and lab.v1.charges.create(params, options).id == made.id
    card = lab.v1.sources.create({"type": "card", "card": {"number": "4000000000000002"}})
    params = {"amount": 5, "currency": "usd", "source": card.id}
    charges = []
    for _ in range(2):
        with pytest.raises(stripe.CardError) as declined:
            lab.v1.charges.create(params, {"idempotency_key": "declined"})
        charges.append(declined.value.error.charge)
    assert charges[0] == charges[1]
    assert declined.value.headers["Idempotent-Replayed"] == "true"


def test_a_stored_500_stays_a_500_though_the_charge_was_made(lab):
    source = lab.source()
    lab.press(source, "authorize")
    params = {"amount": 1099, "currency": "eur", "source": source.id}
    lab.fault("status", "/v1/charges", method="POST", status=500, times=1, after=True, store=True)
    for _ in range(2):
        with pytest.raises(stripe.APIError) as lost:
            lab.v1.charges.create(params, {"idempotency_key": "five-hundred"})
    assert lost.value.http_status == 500 and lost.value.headers["Idempotent-Replayed"] == "true"
    assert lab.again(source).status == "consumed"
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.charges.create(params, {"idempotency_key": "a-new-one"})


def test_a_key_in_use_is_a_conflict(lab):
    fault = lab.fault("hang", "/v1/sources", method="POST", times=1)
    made = []
    thread = threading.Thread(
        target=lambda: made.append(lab.client_for(SECRET_KEY).v1.sources.create(CARD, {"idempotency_key": "busy"}))
    )
    thread.start()
    eventually(lambda: lab.control("requests?path=/v1/sources", method="GET")["data"][-1]["status"] is None)
    with pytest.raises(stripe.APIError) as busy:
        lab.v1.sources.create(CARD, {"idempotency_key": "busy"})
    assert (busy.value.http_status, code_of(busy)) == (409, "idempotency_key_in_use")
    assert busy.value.headers["Stripe-Should-Retry"] == "true"
    lab.control(f"faults/{fault}", method="DELETE")
    thread.join(timeout=60)
    assert lab.v1.sources.create(CARD, {"idempotency_key": "busy"}).id == made[0].id


# Keys and accounts.


def test_a_restricted_key_can_only_read_by_default(lab):
    source = lab.source()
    reader = lab.client_for("rk_test_reader").v1
    assert reader.sources.retrieve(source.id).id == source.id
    with pytest.raises(stripe.PermissionError) as refused:
        reader.sources.create(CARD)
    assert refused.value.http_status == 403
    lab.control("keys", {"key": "rk_test_charger", "permissions": {"charges": "write", "sources": "read"}})
    charger = lab.client_for("rk_test_charger").v1
    lab.press(source, "authorize")
    charge = charger.charges.create({"amount": 1099, "currency": "eur", "source": source.id})
    assert charger.refunds.create({"charge": charge.id}).status == "succeeded"
    with pytest.raises(stripe.PermissionError):
        charger.events.list()


def test_expired_and_unknown_keys_are_rejected(lab):
    lab.control("keys", {"key": "sk_test_rolled", "expired": True})
    for key, code in [("sk_test_rolled", "api_key_expired"), ("sk_live_0123", "api_key_invalid")]:
        with pytest.raises(stripe.AuthenticationError) as refused:
            lab.client_for(key).v1.events.list()
        assert (refused.value.http_status, code_of(refused)) == (401, code)
    lab.control("keys/sk_test_rolled", method="DELETE")
    lab.client_for("sk_test_rolled").v1.events.list()


def test_a_publishable_key_needs_the_client_secret(lab):
    made = lab.source()
    public = lab.client_for("pk_test_0123456789").v1
    seen = public.sources.retrieve(made.id, {"client_secret": made.client_secret})
    assert seen.id == made.id and "metadata" not in seen
    for params in ({}, {"client_secret": "wrong"}):
        with pytest.raises(stripe.InvalidRequestError) as refused:
            public.sources.retrieve(made.id, params)
        assert refused.value.http_status == 400
    with pytest.raises(stripe.PermissionError) as forbidden:
        public.events.list()
    assert forbidden.value.http_status == 403
    assert public.sources.create(CARD).status == "chargeable"


def test_accounts_do_not_see_each_other(lab):
    connected = {"stripe_account": "acct_2"}
    made = lab.v1.sources.create(CARD, connected)
    assert lab.v1.sources.retrieve(made.id, {}, connected).id == made.id
    assert made.last_response.headers["Stripe-Account"] == "acct_2"
    for options in ({}, {"stripe_account": "acct_3"}):
        with pytest.raises(stripe.InvalidRequestError) as unknown:
            lab.v1.sources.retrieve(made.id, {}, options)
        assert unknown.value.http_status == 404
    lab.control("keys", {"key": "sk_test_second", "account": "acct_2"})
    assert lab.client_for("sk_test_second").v1.sources.retrieve(made.id).id == made.id
    with pytest.raises(stripe.PermissionError):
        lab.v1.sources.retrieve(made.id, {}, {"stripe_account": "nobody"})


# Limits.


@pytest.fixture
def limits(lab):
    yield lambda **values: lab.control("limits", values)
    lab.control("limits", method="DELETE")


@pytest.mark.parametrize("limit, reason", [("global_rate", "global-rate"), ("endpoint_rate", "endpoint-rate")])
def test_too_many_requests_get_a_reason(lab, limits, limit, reason):
    source = lab.source()
    limits(**{limit: 0.01})
    assert lab.again(source).id
    # The limit counts every ID of the same operation.
    with pytest.raises(stripe.RateLimitError) as limited:
        lab.v1.sources.retrieve("src_another")
    assert (limited.value.http_status, code_of(limited)) == (429, "rate_limit")
    assert limited.value.headers["Stripe-Rate-Limited-Reason"] == reason
    assert "Stripe-Should-Retry" not in limited.value.headers
    if limit == "endpoint_rate":
        assert lab.v1.events.list() is not None
        assert lab.v1.sources.create(CARD).id
    # Another account has a separate limit.
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.sources.retrieve(source.id, {}, {"stripe_account": f"acct_{limit}"})


@pytest.mark.parametrize(
    "limit, reason",
    [("global_concurrency", "global-concurrency"), ("endpoint_concurrency", "endpoint-concurrency")],
)
def test_too_many_concurrent_requests_get_a_reason(lab, limits, limit, reason):
    source = lab.source()
    limits(**{limit: 1})
    fault = lab.fault("hang", f"/v1/sources/{source.id}", times=1)
    thread = threading.Thread(target=lambda: lab.client_for(SECRET_KEY).v1.sources.retrieve(source.id))
    thread.start()
    path = f"requests?path=/v1/sources/{source.id}"
    eventually(lambda: lab.control(path, method="GET")["data"])
    with pytest.raises(stripe.RateLimitError) as limited:
        lab.again(source)
    assert limited.value.headers["Stripe-Rate-Limited-Reason"] == reason
    lab.control(f"faults/{fault}", method="DELETE")
    thread.join(timeout=60)
    assert lab.again(source).id == source.id


def test_writes_to_one_intent_are_limited(lab, limits):
    intent = lab.v1.payment_intents.create({"amount": 5, "currency": "usd"})
    limits(intent_updates_per_hour=2)
    for _ in range(2):
        lab.v1.payment_intents.update(intent.id, {"amount": 6})
    with pytest.raises(stripe.RateLimitError) as limited:
        lab.v1.payment_intents.update(intent.id, {"amount": 7})
    assert limited.value.headers["Stripe-Rate-Limited-Reason"] == "resource-specific"


def test_a_lock_timeout_is_a_429_that_the_sdk_retries(lab):
    intent = lab.v1.payment_intents.create({"amount": 5, "currency": "usd"})
    lab.control("locks", {"id": intent.id})
    with pytest.raises(stripe.RateLimitError) as locked:
        lab.v1.payment_intents.update(intent.id, {"amount": 6})
    assert code_of(locked) == "lock_timeout"
    assert locked.value.headers["Stripe-Should-Retry"] == "true"
    assert "Stripe-Rate-Limited-Reason" not in locked.value.headers
    assert lab.again(intent).amount == 5
    assert lab.control(f"locks/{intent.id}", method="DELETE") == {"deleted": 1}
    lab.control("locks", {"id": intent.id, "ms": 300})
    patient = lab.client_for(SECRET_KEY, max_network_retries=3).v1
    assert patient.payment_intents.update(intent.id, {"amount": 6}).amount == 6


def test_a_sandbox_can_be_as_slow_as_stripe():
    with StripeLab("--limits", "test") as lab:
        path = f"{lab.url}/v1/sources/{lab.source().id}"

        def reason() -> str | None:
            # Not the official client, which is too slow on a busy machine: more than 25 requests a second are refused.
            return lab.http.get(path, auth=(SECRET_KEY, ""), timeout=30).headers.get("Stripe-Rate-Limited-Reason")

        assert wait_until(reason, 60, "a request is refused", pause_s=0) == "global-rate"


# Errors and other details.


def test_errors_raise_the_exceptions_of_the_sdk(lab):
    with pytest.raises(stripe.InvalidRequestError) as missing:
        lab.v1.sources.retrieve("src_nobody")
    error = missing.value
    assert (error.http_status, error.code, error.param) == (404, "resource_missing", "id")
    assert error.request_id.startswith("req_")
    with pytest.raises(stripe.InvalidRequestError) as bad:
        lab.source(amount="ten")
    assert bad.value.param == "amount"
    with pytest.raises(stripe.InvalidRequestError) as unknown:
        lab.client.raw_request("get", "/v1/nothing")
    assert unknown.value.http_status == 404


@pytest.mark.parametrize(
    "fault, exception",
    [
        ({"mode": "status", "status": 429}, stripe.RateLimitError),
        ({"mode": "status", "status": 500}, stripe.APIError),
        ({"mode": "reset"}, stripe.APIConnectionError),
        ({"mode": "truncated"}, stripe.APIConnectionError),
        ({"mode": "html"}, stripe.APIError),
    ],
)
def test_a_fault_occurs_once(lab, fault, exception):
    source = lab.source()
    lab.fault(match=f"/v1/sources/{source.id}", times=1, **fault)
    with pytest.raises(exception) as failed:
        lab.again(source)
    if fault["mode"] == "status":
        assert failed.value.request_id.startswith("req_")
    assert lab.again(source).id == source.id


def test_the_sdk_retries_after_a_lost_response(lab):
    retrying = lab.client_for(SECRET_KEY, max_network_retries=2).v1
    lab.fault("reset", "/v1/sources", method="POST", after=True, times=1)
    made = retrying.sources.create(CARD)
    assert made.last_response.headers["Idempotent-Replayed"] == "true"


def test_the_version_is_echoed_and_checked(lab):
    made = lab.v1.sources.create(CARD, {"stripe_version": "2023-08-16"})
    assert made.last_response.headers["Stripe-Version"] == "2023-08-16"
    assert lab.v1.sources.create(CARD).last_response.headers["Stripe-Version"] == stripe.api_version
    with pytest.raises(stripe.InvalidRequestError) as wrong:
        lab.v1.sources.create(CARD, {"stripe_version": "yesterday"})
    assert "API version" in str(wrong.value)


def test_metadata_is_merged_and_limited(lab):
    made = lab.source()
    changed = lab.v1.sources.update(made.id, {"metadata": {"order": "", "a": "b"}})
    assert changed.metadata.to_dict() == {"a": "b"}
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.sources.update(made.id, {"metadata": {"k" * 41: "v"}})


def test_customers_are_created_and_deleted(lab):
    customer = lab.v1.customers.create({"name": "A", "metadata": {"a": "b"}})
    card, other = lab.v1.sources.create(CARD), lab.v1.sources.create(CARD)
    for source in (card, other):
        assert lab.v1.customers.payment_sources.create(customer.id, {"source": source.id}).customer == customer.id
    listed = lab.v1.customers.payment_sources.list(customer.id).data
    assert [source.id for source in listed] == [other.id, card.id]
    assert lab.v1.customers.update(customer.id, {"default_source": other.id}).default_source == other.id
    with pytest.raises(stripe.InvalidRequestError):
        lab.v1.customers.update(customer.id, {"default_source": "src_none"})
    assert lab.v1.customers.delete(customer.id).deleted
    assert lab.again(card).status == "consumed"
    assert lab.v1.customers.retrieve(customer.id).deleted
