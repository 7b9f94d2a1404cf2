import JSONText
import NIOCore

extension SandboxState {
    private static let chargeParameters: Set<String> = [
        "amount", "application_fee", "application_fee_amount", "capture", "currency",
        "customer", "description", "destination", "expand", "metadata", "on_behalf_of",
        "radar_options", "receipt_email", "shipping", "source", "statement_descriptor",
        "statement_descriptor_suffix", "transfer_data", "transfer_group",
    ]

    /// Handles `POST /v1/charges`.
    ///
    /// All rejections happen before a charge is created; a decline creates a failed charge and returns 402. The
    /// Source is consumed in the same step, so the second of two concurrent charges finds it consumed.
    mutating func createCharge(_ call: APICall) throws(APIError) -> APIReply {
        let form = call.form
        try form.allow(Self.chargeParameters)
        guard let amount = try form.positive("amount") else { throw APIError.missing("amount") }
        let currency = try form.required("currency").lowercased()
        let isCaptured = try form.flag("capture") ?? true
        let metadata = try form.updated(metadata: [:])
        var sharing = SandboxSharing()
        try sharing.update(from: call, amount: amount)
        let source = try chargedSource(call)
        try Self.requireChargeable(source, amount: amount, currency: currency)
        if case .refused(let failure) = source.outcome {
            throw APIError.invalid(failure.message, code: failure.code, param: "source")
        }

        var charge = SandboxCharge(
            id: ids.make(source.type == "card" ? "ch_" : "py_"),
            account: call.account,
            amount: amount,
            currency: currency,
            created: nowSeconds,
            methodType: source.type,
            status: "succeeded"
        )
        charge.isCaptured = isCaptured
        charge.customer = form["customer"]
        charge.description = form["description"]
        charge.statementDescriptor = form["statement_descriptor"] ?? source.statementDescriptor
        charge.card = source.card
        charge.billing = BillingDetails(source.owner)
        charge.metadata = metadata
        charge.outcome = source.outcome
        charge.sharing = sharing
        if case .declined(let failure) = source.outcome {
            return try decline(charge, source.id, failure)
        }
        // Such a card is charged by a 3D Secure Source created from it.
        if source.type == "card", source.card?.needsAuthentication == true {
            return try decline(charge, source.id, .authenticationRequired)
        }
        let isAsynchronous =
            SourceKind.all[source.type]?.isAsynchronous == true || source.outcome.takesTime
        if isAsynchronous { charge.status = "pending" }
        consume(source, amount: amount)
        charge.source = .init(id: source.id, json: sourceJSON(source.id))
        hold(&charge)
        charges[charge.id] = charge
        recordStatus(charge.id, from: nil, to: charge.status)
        recordCapture(of: charge.id)
        emit("charge.\(charge.status)", chargeJSON(charge.id), account: call.account)
        if isAsynchronous { awaitBank(charge.id, source.outcome) }
        if source.notifiesManually { notifyMandate(source.id, amount: amount) }
        return APIReply(body: chargeJSON(charge.id))
    }

    /// Stores and announces a declined charge, although the request fails with 402.
    private mutating func decline(
        _ declined: SandboxCharge,
        _ source: String,
        _ failure: PaymentFailure
    ) throws(APIError) -> APIReply {
        var charge = declined
        charge.status = "failed"
        charge.failure = failure
        charge.source = .init(id: source, json: sourceJSON(source))
        charges[charge.id] = charge
        recordStatus(charge.id, from: nil, to: "failed")
        emit("charge.failed", chargeJSON(charge.id), account: charge.account)
        throw APIError.declined(failure, charge: charge.id)
    }

    /// Schedules the bank's decision on a debit; it takes days at Stripe, and the automatic delay or a test here.
    private mutating func awaitBank(_ charge: String, _ outcome: ChargeOutcome) {
        switch outcome {
        case .staysPending: break
        case .failsLater: scheduleAutomatic(.settleCharge(charge, succeeds: false))
        case .succeeds, .declined, .refused, .isDisputed:
            scheduleAutomatic(.settleCharge(charge, succeeds: true))
        }
    }

    /// Consumes a single-use Source, or a reusable Source without a customer.
    private mutating func consume(_ source: SandboxSource, amount: Int) {
        sources[source.id]?.receiver?.charged += amount
        sources[source.id]?.changed()
        // The card of a token is only referenced by its charge.
        if source.isCard { return }
        if !source.isReusable || source.customer == nil { settleSource(source.id, to: "consumed") }
    }

    /// Returns the given Source or the customer's default.
    private mutating func chargedSource(_ call: APICall) throws(APIError) -> SandboxSource {
        let form = call.form
        let customer = try form["customer"].map { id throws(APIError) in
            try resolveCustomer(id, call)
        }
        guard let id = form["source"] ?? customer?.defaultSource else {
            if let customer {
                throw APIError(
                    status: 402,
                    type: "card_error",
                    message: "Cannot charge a customer that has no active card: \(customer.id)",
                    code: "missing"
                )
            }
            throw APIError.missing("source")
        }
        guard let source = sources[try resolveSource(id, call.account)] else {
            throw APIError.noSuch("source", id, param: "source", inPath: false)
        }
        if let owner = source.customer, owner != customer?.id {
            throw APIError.invalid(
                "The source \(id) is attached to a customer. Pass that customer along to charge it.",
                code: "missing",
                param: "customer"
            )
        }
        if customer != nil, source.customer == nil, source.isReusable {
            throw APIError.invalid(
                "Customer \(customer?.id ?? "") does not have a linked source with ID \(id).",
                code: "missing",
                param: "source"
            )
        }
        return source
    }

    /// Checks in this order: status, currency, the received amount of a receiver, the amount.
    private static func requireChargeable(
        _ source: SandboxSource,
        amount: Int,
        currency: String
    ) throws(APIError) {
        guard source.status == "chargeable" else {
            throw APIError.invalid(
                source.status == "consumed"
                    ? "The source you provided has already been consumed and cannot be charged again."
                    : "The source you provided is not in a chargeable state. (Its status is "
                        + "\(source.status).)",
                code: "payment_method_unexpected_state",
                param: "source"
            )
        }
        if let expected = source.currency, expected != currency {
            throw APIError.invalid(
                "The currency provided (\(currency)) does not match the currency of the source "
                    + "(\(expected)).",
                param: "currency"
            )
        }
        if let receiver = source.receiver, amount > receiver.available {
            throw APIError.invalid(
                "The source has received \(receiver.received) \(currency), of which "
                    + "\(receiver.available) can be charged.",
                code: "insufficient_funds",
                param: "amount"
            )
        }
        if !source.isReusable, let limit = source.amount, amount > limit {
            throw APIError.invalid(
                "The amount provided (\(amount)) is greater than the source amount (\(limit)).",
                code: "invalid_charge_amount",
                param: "amount"
            )
        }
    }

    /// Announces a debit, for mandates whose holder notifies the customer.
    private mutating func notifyMandate(_ sourceID: String, amount: Int) {
        guard let source = sources[sourceID] else { return }
        let id = ids.make("srcmn_")
        let sourceJSON = sourceJSON(sourceID)
        let json = ByteBuffer.object { writer in
            writer.field("id", id)
            writer.field("object", "source_mandate_notification")
            writer.field("amount", amount)
            writer.field("created", nowSeconds)
            writer.field("livemode", false)
            writer.field("reason", "debit_initiated")
            if source.type == "sepa_debit" {
                writer.object("sepa_debit") { writer in
                    writer.field("creditor_identifier", "TEST42ZZZ0000424242")
                    writer.field("last4", "3000")
                    writer.field("mandate_reference", "NXDSYREGC9PSMKWY")
                }
            }
            writer.field("source", raw: sourceJSON.readableBytesView)
            writer.field("status", "submitted")
            writer.field("type", source.type)
        }
        notifications[id] = MandateNotification(source: sourceID, json: json)
        emit("source.mandate_notification", json, account: source.account)
    }
}
