package import JSONText
package import PollerIdentity
package import PollerPayments

// The facts about a payment, as Stripe's objects show them.
//
// | object | method | received | charge |
// |---|---|---|---|
// | source | `type` | `receiver.amount_received` | not included |
// | payment_intent | of the charge, of the last error, or the only allowed one | `amount_received`, or the amount minus the rest of a bank transfer | expanded `latest_charge`, or the newest of `charges` before 2022-11-15 |
// | setup_intent | of the last error, or the only allowed one | nothing | none |
// | charge | `payment_method_details.type` | – | itself |
//
// *Source*: <https://docs.stripe.com/api/sources/object>, `/payment_intents/object`, `/setup_intents/object`,
// `/charges/object`; <https://docs.stripe.com/upgrades#2022-11-15>.

extension PaymentFacts {
    /// Reads the facts from a Stripe object.
    ///
    /// Never fails: a missing part stays unknown, even if the value is not an object.
    /// - Parameters:
    ///   - kind: the kind of the requested object.
    ///   - object: the response.
    ///   - charge: the charge of the object, if it was read separately.
    ///   - refunds: the list of the charge's refunds, if it was read separately.
    ///   - seenAt: the time of the request, by the store's clock.
    package init(
        _ kind: SourceKind,
        object: RawJSON,
        charge: RawJSON? = nil,
        refunds: RawJSON? = nil,
        seenAt: Timestamp? = nil
    ) {
        self.init(kind: kind)
        let fields = StripeFields(object)
        // A status that cannot be recorded counts as missing.
        status = fields.text("status").flatMap { try? PollerPayments.SourceStatus($0.lowercased()) }
        amount = fields.sum("amount")
        currency = fields.word("currency")
        isLive = fields.flag("livemode")
        created = fields.time("created")
        self.seenAt = seenAt
        presentment = fields.presentment
        self.charge = charge.flatMap { ChargeFacts(charge: $0, refunds: refunds) }
        switch kind {
        case .source: readSource(fields)
        case .paymentIntent: readIntent(fields, refunds, error: "last_payment_error")
        case .setupIntent: readIntent(fields, refunds, error: "last_setup_error")
        case .charge:
            self.charge = self.charge ?? ChargeFacts(fields, refunds: refunds)
            intent = fields.id("payment_intent").flatMap { try? SourceID($0) }
            method = self.charge?.method
            awaitsRefundAccount = Self.awaitsRefundAccount(fields.object("source"))
        case .http, .other: break
        }
    }

    private mutating func readSource(_ fields: StripeFields) {
        method = PaymentMethod(fields.word("type"))
        isAttached = fields.id("customer") != nil
        usage = fields.word("usage").flatMap(Usage.init(rawValue:))
        let receiver = fields.object("receiver")
        received = receiver.sum("amount_received")
        returned = receiver.sum("amount_returned") ?? .zero
        let redirect = fields.object("redirect")
        if let reason = redirect.word("failure_reason") { failure = Failure(code: reason) }
        // A receiver source also has a redirect, but its page only shows where to pay.
        let answers =
            switch fields.word("flow") {
            case "redirect": redirect.word("status")
            case "code_verification": fields.verification.word("status")
            default: nil as String?
            }
        isAnswered = answers == "succeeded" || answers == "not_required"
        step = NextStep(source: fields, method)
        awaitsRefundAccount = Self.awaitsRefundAccount(fields)
    }

    /// Whether money must be returned to a bank account that the customer has not named yet.
    ///
    /// Stripe has requested the account, or will request it, because the received money cannot be charged any more.
    ///
    /// *Source*: <https://docs.stripe.com/sources>, receiver sources: `refund_attributes_status` is `missing`,
    /// `requested` or `available`, and `refund_attributes_method` is `none` if no refund is possible.
    private static func awaitsRefundAccount(_ source: StripeFields) -> Bool {
        let receiver = source.object("receiver")
        guard receiver.word("refund_attributes_method") != "none" else { return false }
        switch receiver.word("refund_attributes_status") {
        case "requested": return true
        case "missing":
            let isOver = ["canceled", "failed", "consumed"].contains(source.word("status"))
            let used =
                (receiver.sum("amount_charged") ?? .zero)
                + (receiver.sum("amount_returned") ?? .zero)
            return isOver && (receiver.sum("amount_received") ?? .zero) > used
        default: return false
        }
    }

    private mutating func readIntent(_ fields: StripeFields, _ refunds: RawJSON?, error: String) {
        let last = fields.object(error)
        if !last.isEmpty {
            failure = Failure(
                code: last.word("code") ?? last.word("type"),
                decline: last.word("decline_code")
            )
        }
        cancellation = fields.word("cancellation_reason")
        let expanded = fields.object("latest_charge")
        // Lists are newest first.
        let newest = expanded.isEmpty ? fields.list("charges").first : expanded
        charge = charge ?? newest.flatMap { ChargeFacts($0, refunds: refunds) }
        if let newest { leaveEarlierAttempt(newest, error: last) }
        received = fields.sum("amount_received")
        if kind == .paymentIntent { joinCharge() }
        if let missing = fields.missing, let amount {
            received = max(received ?? .zero, amount - missing)
        }
        hasUnreadableSum = amount == nil && received == nil && charge?.amount == nil
        method = PaymentMethod(fields.method(failed: last)) ?? charge?.method
        step = NextStep(intent: fields)
    }

    /// Removes the reason and the method of a failed charge if the intent has had another attempt since.
    ///
    /// An attempt without a charge, such as a refused authentication or an unpaid voucher, leaves the charge of the
    /// earlier one as the latest. The error of an attempt with a charge names it, except that the error of a debit may
    /// name only the method; its reason is in the charge.
    private mutating func leaveEarlierAttempt(_ charge: StripeFields, error: StripeFields) {
        guard self.charge?.status == .failed else { return }
        switch status?.description {
        case "requires_payment_method", "requires_source":
            let tried = error.object("payment_method").text("id")
            let charged = charge.id("payment_method")
            let isOther = tried != nil && charged != nil && tried != charged
            let reason = PaymentReason(code: failure?.code, decline: failure?.decline)
            guard error.id("charge") == nil, isOther || reason != .declined else { return }
            self.charge?.failure = failure
        case "requires_confirmation", "requires_action", "requires_source_action": break
        default: return
        }
        self.charge?.method = nil
    }

    /// Reconciles the statements of an intent and its charge about the same money.
    ///
    /// | intent | charge | result |
    /// |---|---|---|
    /// | `requires_capture` | captured less than the amount | an authorisation of which more may be captured |
    /// | `succeeded`, `canceled` | captured | the charge's amounts |
    /// | any other status: no money received | captured or authorised | pending, until both agree |
    private mutating func joinCharge() {
        guard var charge, charge.status == .succeeded, let status = status?.description else {
            return
        }
        switch status {
        case "requires_capture":
            let whole = amount ?? charge.amount
            charge.mayCaptureMore =
                charge.captured > 0 && whole.map { charge.captured < $0 } ?? true
        case "succeeded", "canceled": charge.mayCaptureMore = false
        default:
            charge.status = .pending
            charge.captured = .zero
            charge.refunded = .zero
            charge.mayCaptureMore = false
        }
        self.charge = charge
    }

    /// Whether the intent has succeeded while its charge is pending; then nothing is final.
    var isContradictory: Bool {
        status?.description == "succeeded" && charge?.status == .pending
    }
}

extension StripeFields {
    /// The code verification of a source, which SDKs name differently from the API.
    var verification: StripeFields {
        let own = object("code_verification")
        return own.isEmpty ? object("verification") : own
    }

    /// The amount that the customer still has to transfer for an intent; `nil` if no transfer is requested.
    var missing: Amount? {
        object("next_action").object("display_bank_transfer_instructions").sum("amount_remaining")
    }

    /// Returns the payment method of an intent: the chosen one, the last attempted one, or the only allowed one.
    fileprivate func method(failed error: StripeFields) -> String? {
        let chosen = object("payment_method").word("type")
        let tried = error.object("payment_method").word("type") ?? error.word("payment_method_type")
        let types = texts("payment_method_types")
        return chosen ?? object("processing").word("type") ?? tried
            ?? (types.count == 1 ? types.first : nil)
    }
}
