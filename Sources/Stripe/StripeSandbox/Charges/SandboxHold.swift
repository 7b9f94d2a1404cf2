import JSONText
import NIOCore

/// An authorisation (a hold) and its captures.
///
/// | event | charge | intent | webhook events |
/// |---|---|---|---|
/// | a full or partial capture | `captured`, `amount_captured` | `succeeded` | `charge.captured`, `payment_intent.succeeded` |
/// | a capture with `final_capture=false` | `amount_captured` grows, `captured` stays false | stays `requires_capture` | `charge.updated`, `payment_intent.amount_capturable_updated` |
/// | the hold expires without a capture | unchanged | `canceled`, `expired` | `charge.expired`, `payment_intent.canceled` |
/// | the hold expires after a partial capture | `captured` | `succeeded` | `charge.captured`, `payment_intent.succeeded` |
/// | the intent is cancelled | unchanged | `canceled` | `payment_intent.canceled` |
///
/// None of these creates a refund. Requests with a version before 2025-03-31.basil still create one for the amount
/// that a capture leaves or a cancellation releases. Cancelling a partially captured intent is not documented; the
/// sandbox rejects it and accepts a final capture of 0.
/// *Source*: <https://docs.stripe.com/payments/multicapture>,
/// <https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow>.
struct SandboxHold: Codable {
    /// The life of an authorisation in days, by method; seven days for methods not listed.
    ///
    /// Only card charges include it (`capture_before`).
    /// *Source*: <https://docs.stripe.com/payments/place-a-hold-on-a-payment-method>; for Klarna and Afterpay their
    /// own documentation.
    static let lifeDays: [String: Int64] = [
        "card": 7, "card_present": 2, "klarna": 28, "afterpay_clearpay": 13,
    ]
    /// The maximum number of captures of one intent.
    static let capturesMax = 50

    /// Whether several captures were requested and the method supports them.
    var mayBeCapturedAgain = false
    var captures = 0
    /// Whether the hold was cancelled or has expired.
    var isReleased = false
    /// The amount refunded by a capture, in versions before 2025-03-31.basil.
    var refundedRest = 0
}

extension SandboxState {
    /// Whether the version of the current request refunds a released hold.
    private var refundsHolds: Bool {
        (cause.version ?? Self.apiVersion).prefix(10) < "2025-03-31"
    }

    /// Marks a charge as authorised only, and schedules the expiry of the hold.
    mutating func hold(_ charge: inout SandboxCharge, mayBeCapturedAgain: Bool = false) {
        guard charge.status == "succeeded", !charge.isCaptured else { return }
        charge.hold = SandboxHold(mayBeCapturedAgain: mayBeCapturedAgain)
        let endMs = nowMs + (SandboxHold.lifeDays[charge.methodType] ?? 7) * 24 * 3_600_000
        charge.captureBefore = Int(clamping: endMs / 1000)
        timers.set(.expireCharge(charge.id), atMs: endMs)
    }

    /// Captures all or part of a hold; after the last capture the rest is released.
    mutating func capture(_ id: String, amount: Int?, isLast: Bool = true) throws(APIError) {
        guard var charge = charges[id] else { return }
        let (before, left) = (charge.taken, charge.amount - charge.taken)
        guard amount ?? left <= left else {
            throw APIError.invalid(
                "You cannot capture a charge for an amount larger than it already has.",
                code: "amount_too_large",
                param: "amount"
            )
        }
        var hold = charge.hold ?? SandboxHold()
        let captured = amount ?? left
        hold.captures += 1
        charge.capturedAmount = before + captured
        charge.isCaptured = isLast
        let isOld = isLast && refundsHolds
        hold.refundedRest = isOld ? left - captured : 0
        charge.hold = hold
        charge.changed()
        charges[id] = charge
        // Older versions record the whole amount, and the rest as a refund.
        recordCapture(of: id, amount: captured + hold.refundedRest)
        if isOld { refundHold(id, hold.refundedRest) }
        if isLast {
            emit("charge.captured", chargeJSON(id), account: charge.account)
        } else {
            let previous = JSONWriter.object { $0.field("amount_captured", before) }
            emit("charge.updated", chargeJSON(id), account: charge.account, previous: previous)
        }
    }

    /// Expires a hold that was not captured in time, and ends its intent.
    mutating func expireCharge(_ id: String) {
        guard let charge = charges[id], charge.isHeld else { return }
        let intent = charge.paymentIntent.flatMap { intents[$0] }
        let open = intent.flatMap { $0.status == "requires_capture" ? $0.id : nil }
        if charge.isTaken {
            charges[id]?.isCaptured = true
            charges[id]?.changed()
            emit("charge.captured", chargeJSON(id), account: charge.account)
            if let open { settle(\.intents, open, to: "succeeded") }
            return
        }
        charges[id]?.hold = charge.hold ?? SandboxHold()
        charges[id]?.hold?.isReleased = true
        charges[id]?.changed()
        emit("charge.expired", chargeJSON(id), account: charge.account)
        guard let open else { return }
        intents[open]?.cancellationReason = "expired"
        settle(\.intents, open, to: "canceled")
    }

    /// Releases the hold of a cancelled intent.
    mutating func releaseHold(_ id: String) {
        guard let charge = charges[id], charge.isHeld else { return }
        charges[id]?.hold = charge.hold ?? SandboxHold()
        charges[id]?.hold?.isReleased = true
        charges[id]?.changed()
        guard refundsHolds else { return }
        refundHold(id, charge.amount)
        emit("charge.refunded", chargeJSON(id), account: charge.account)
    }

    /// Records the released amount as a refund, as versions before 2025-03-31.basil do.
    private mutating func refundHold(_ id: String, _ amount: Int) {
        guard var charge = charges[id], amount > 0 else { return }
        let refund = SandboxRefund(
            id: ids.make("re_"),
            account: charge.account,
            charge: id,
            paymentIntent: charge.paymentIntent,
            amount: amount,
            currency: charge.currency,
            created: nowSeconds,
            reason: nil,
            waitsForSource: nil,
            metadata: [:],
            status: "succeeded",
            balanceTransaction: charge.isTaken
                ? recordTransaction(.refund, amount, about: id, of: charge) : nil
        )
        refunds[refund.id] = refund
        charge.refundedAmount += amount
        charge.refunds.append(refund.id)
        charge.changed()
        charges[id] = charge
    }
}
