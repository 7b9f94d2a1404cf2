import JSONText
import NIOCore

/// Money that was only reserved at first, and what became of that.
///
/// | what happens | the charge | the intent | events |
/// |---|---|---|---|
/// | a capture, of all or of less | `captured`, `amount_captured` | `succeeded` | `charge.captured`, `payment_intent.succeeded` |
/// | a capture with `final_capture=false` | `amount_captured` grows, `captured` stays false | stays `requires_capture` | `charge.updated`, `payment_intent.amount_capturable_updated` |
/// | nobody captures it in time | shows nothing of that | `canceled`, `expired` | `charge.expired`, `payment_intent.canceled` |
/// | nobody captures the rest in time | `captured` | `succeeded` | `charge.captured`, `payment_intent.succeeded` |
/// | the intent is cancelled | shows nothing of that | `canceled` | `payment_intent.canceled` |
///
/// None of it makes a refund. A request with a version before 2025-03-31.basil still does: then what a capture leaves,
/// and what a cancellation lets go, counts as refunded. Of an intent that was captured in part nobody documents a
/// cancellation; the sandbox refuses it, and takes a last capture of 0.
/// *Source*: <https://docs.stripe.com/payments/multicapture>,
/// <https://docs.stripe.com/changelog/basil/2025-03-31/remove-refund-from-partial-capture-and-payment-cancellation-flow>.
struct SandboxHold: Codable {
    /// How long an authorisation can be captured, by method; a week of those that are not here.
    ///
    /// Only charges of cards say so themselves (`capture_before`).
    /// *Source*: <https://docs.stripe.com/payments/place-a-hold-on-a-payment-method>; of Klarna and Afterpay
    /// their own documentation.
    static let lifeDays: [String: Int64] = [
        "card": 7, "card_present": 2, "klarna": 28, "afterpay_clearpay": 13,
    ]
    /// Captures of one intent.
    static let capturesMax = 50

    /// Whether several captures were asked for, and the method allows them.
    var mayBeCapturedAgain = false
    var captures = 0
    /// It was cancelled or has expired.
    var isReleased = false
    /// What the capture gave back of the rest, by a version before 2025-03-31.basil.
    var refundedRest = 0
}

extension SandboxState {
    /// Whether the request at hand has a version in which a hold that ends is refunded.
    private var refundsHolds: Bool {
        (cause.version ?? Self.apiVersion).prefix(10) < "2025-03-31"
    }

    /// Makes a charge one whose money is only reserved, and sets when it is let go.
    mutating func hold(_ charge: inout SandboxCharge, mayBeCapturedAgain: Bool = false) {
        guard charge.status == "succeeded", !charge.isCaptured else { return }
        charge.hold = SandboxHold(mayBeCapturedAgain: mayBeCapturedAgain)
        let endMs = nowMs + (SandboxHold.lifeDays[charge.methodType] ?? 7) * 24 * 3_600_000
        charge.captureBefore = Int(clamping: endMs / 1000)
        timers.set(.expireCharge(charge.id), atMs: endMs)
    }

    /// Takes reserved money, all that is left or a part; after the last capture the rest is let go.
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
        // The older versions book the whole sum, and the rest as a refund.
        recordCapture(of: id, amount: captured + hold.refundedRest)
        if isOld { refundHold(id, hold.refundedRest) }
        if isLast {
            emit("charge.captured", chargeJSON(id), account: charge.account)
        } else {
            let previous = JSONWriter.object { $0.field("amount_captured", before) }
            emit("charge.updated", chargeJSON(id), account: charge.account, previous: previous)
        }
    }

    /// Lets reserved money go that nobody captured in time, and ends the intent it was reserved for.
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

    /// Lets the reserved money of an intent go that is cancelled.
    mutating func releaseHold(_ id: String) {
        guard let charge = charges[id], charge.isHeld else { return }
        charges[id]?.hold = charge.hold ?? SandboxHold()
        charges[id]?.hold?.isReleased = true
        charges[id]?.changed()
        guard refundsHolds else { return }
        refundHold(id, charge.amount)
        emit("charge.refunded", chargeJSON(id), account: charge.account)
    }

    /// Shows what was let go of as a refund, as versions before 2025-03-31.basil do.
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
