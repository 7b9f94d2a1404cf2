import PollerIdentity
import Testing

@testable import PollerPayments

extension PaymentTests {
    /// Facts without money or with a part of it, and the resulting payment state.
    static let noMoney: [Row] = [
        Row("nothing seen", facts(nil), "unknown"),
        Row("a new word", facts("levitating"), "unknown"),
        Row("another service", facts("succeeded", of: .http), "unknown"),
        Row("used up, settles late", facts("consumed"), "processing"),
        Row(
            "used up, and its charge was refused",
            facts("consumed") {
                $0.method = PaymentMethod("ideal")
                $0.isRefused = true
            },
            "failed declined"
        ),
        Row(
            "used up by a charge that is pending",
            facts("consumed", charge: charge(.pending)) { $0.method = PaymentMethod("ideal") },
            "processing"
        ),
        Row(
            "taken from its customer",
            facts("consumed") {
                $0.usage = .reusable
                $0.isAttached = true
            },
            "unknown detached"
        ),
        Row(
            "reusable, of no customer, used up by a charge nobody has seen",
            facts("consumed") { $0.usage = .reusable },
            "processing"
        ),
        Row(
            "a first capture, the rest is held",
            facts(
                "requires_capture",
                of: .paymentIntent,
                charge: charge(captured: 400) { $0.mayCaptureMore = true }
            ),
            "partially_paid held",
            400
        ),
        Row(
            "a first capture that was refunded, the rest is held",
            facts(
                "requires_capture",
                of: .paymentIntent,
                charge: charge(captured: 400, refunded: 400) { $0.mayCaptureMore = true }
            ),
            "partially_paid held",
            400,
            400
        ),
        Row(
            "a first capture that only the intent shows",
            facts("requires_capture", of: .paymentIntent) { $0.received = 400 },
            "partially_paid held",
            400
        ),
        Row(
            "an intent that has succeeded while its charge is pending",
            facts("succeeded", of: .paymentIntent, charge: charge(.pending)) {
                $0.received = 1000
            },
            "processing"
        ),
        Row(
            "a hold on a charge whose end has passed",
            facts(
                "succeeded",
                of: .charge,
                charge: charge { $0.captureBefore = Timestamp(ms: 5_000) }
            ) { $0.seenAt = Timestamp(ms: 6_000) },
            "expired authorisation_expired"
        ),
        Row(
            "a hold on a charge whose end is to come",
            facts(
                "succeeded",
                of: .charge,
                charge: charge { $0.captureBefore = Timestamp(ms: 90_000) }
            ) { $0.seenAt = Timestamp(ms: 6_000) },
            "authorised"
        ),
        Row(
            "authorisation over, an intent, by its reason since 2025-03-31.basil",
            facts("canceled", of: .paymentIntent, charge: charge()) {
                $0.cancellation = "expired"
            },
            "expired authorisation_expired"
        ),
        Row(
            "authorisation over, an intent whose charge nobody may read",
            facts("canceled", of: .paymentIntent) { $0.cancellation = "expired" },
            "expired authorisation_expired"
        ),
        Row(
            "a try that has failed, and its time is over",
            facts("canceled", of: .paymentIntent, charge: charge(.failed)) {
                $0.cancellation = "expired"
            },
            "expired unused"
        ),
        Row(
            "an intent over nothing",
            facts("succeeded", of: .paymentIntent) { $0.received = 0 },
            "unknown"
        ),
        Row(
            "authorised",
            facts("requires_capture", of: .paymentIntent, charge: charge()),
            "authorised"
        ),
        Row(
            "authorisation given up",
            facts("consumed", charge: charge(refunded: 1000) { $0.isReleased = true }),
            "cancelled released"
        ),
        Row(
            "authorisation over",
            facts(
                "consumed",
                charge: charge {
                    $0.isReleased = true
                    $0.hasLapsed = true
                }
            ),
            "expired authorisation_expired"
        ),
        Row(
            "authorisation over, an intent",
            facts("canceled", of: .paymentIntent, charge: charge()) {
                $0.cancellation = "automatic"
            },
            "expired authorisation_expired"
        ),
        Row(
            "called off",
            facts("canceled", of: .paymentIntent, charge: charge(.failed)) {
                $0.cancellation = "requested_by_customer"
            },
            "cancelled requested"
        ),
        Row("pending", facts("pending"), "awaiting_customer"),
        Row("answered", facts("pending") { $0.isAnswered = true }, "processing"),
        Row("part of it there", facts("pending") { $0.received = 300 }, "partially_paid", 300),
        Row("all of it there", facts("pending") { $0.received = 1000 }, "processing", 1000),
        Row("to be charged", facts("chargeable"), "authorised"),
        Row("a saved card", facts("chargeable") { $0.usage = .reusable }, "authorised saved"),
        Row(
            "charged, the bank at work",
            facts("chargeable", charge: charge(.pending)),
            "processing"
        ),
        Row(
            "charged in vain, may be charged again",
            facts(
                "chargeable",
                charge: charge(.failed) {
                    $0.failure = PaymentFacts.Failure(
                        code: "card_declined",
                        decline: "insufficient_funds"
                    )
                }
            ),
            "failed insufficient_funds"
        ),
        Row("never used", facts("canceled"), "expired unused"),
        Row(
            "not charged in time",
            facts("canceled") { $0.isAnswered = true },
            "expired not_charged_in_time"
        ),
        Row(
            "customer went back",
            facts("failed") { $0.failure = PaymentFacts.Failure(code: "user_abort") },
            "failed customer_aborted"
        ),
        Row(
            "a failed try",
            facts("requires_payment_method", of: .paymentIntent, charge: charge(.failed)),
            "failed declined"
        ),
        Row(
            "a new try after a failed one",
            facts("requires_action", of: .paymentIntent, charge: charge(.failed)),
            "awaiting_customer"
        ),
        Row(
            "a voucher nobody paid",
            facts("requires_payment_method", of: .paymentIntent) {
                $0.failure = PaymentFacts.Failure(code: "payment_intent_payment_attempt_expired")
            },
            "expired unused"
        ),
        Row(
            "a transfer that came short",
            facts("requires_action", of: .paymentIntent) { $0.received = 400 },
            "partially_paid",
            400
        ),
        Row("a method kept", facts("succeeded", of: .setupIntent), "authorised saved"),
    ]
}
