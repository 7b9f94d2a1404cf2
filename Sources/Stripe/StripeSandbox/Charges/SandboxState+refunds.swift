import HTTPTypes
import NIOCore

/// Refunds of charges.
extension SandboxState {
    private static let refundParameters: Set<String> = [
        "amount", "charge", "currency", "customer", "expand", "instructions_email", "metadata",
        "origin", "payment_intent", "reason", "refund_application_fee", "reverse_transfer",
    ]

    /// `/v1/refunds`, `/v1/refunds/{id}` and `…/cancel`.
    mutating func routeRefunds(_ call: APICall) throws(APIError) -> APIReply {
        try Self.requireSecretKey(call)
        switch (call.method, call.segments.count) {
        case (.post, 1):
            let id = call.form["payment_intent"].flatMap { intents[$0]?.latestCharge }
            guard let name = call.form["charge"] ?? id else { throw APIError.missing("charge") }
            guard let charge = charges[name], charge.account == call.account else {
                throw APIError.noSuch("charge", name, param: "charge", inPath: false)
            }
            return APIReply(body: try refund(call, charge).json())
        case (.get, 1): return try listRefunds(call, charge: call.form["charge"])
        default: break
        }
        var refund = try refunds.found(call)
        let id = refund.id
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _): return APIReply(body: refund.json())
        case (.post, 2, _):
            try call.form.allow(["expand", "metadata"])
            refund.metadata = try call.form.updated(metadata: refund.metadata)
            refunds[id] = refund
            return APIReply(body: refund.json())
        case (.post, 3, "cancel"):
            guard refund.status == "requires_action" else {
                throw APIError.invalid("Refund \(id) is \(refund.status): it cannot be canceled.")
            }
            endRefund(id, as: "canceled")
            return APIReply(body: refunds[id]?.json() ?? ByteBuffer())
        default: throw Self.unrecognized(call)
        }
    }

    /// Lists the refunds, optionally of one charge or intent.
    func listRefunds(_ call: APICall, charge: String?) throws(APIError) -> APIReply {
        try refunds.list(call, by: ["payment_intent": { $0.paymentIntent }], isStrict: false) {
            charge == nil || $0.charge == charge
        } json: {
            $0.json()
        }
    }

    /// Refunds all or part of a charge.
    mutating func refund(_ call: APICall, _ found: SandboxCharge) throws(APIError) -> SandboxRefund
    {
        let form = call.form
        try form.allow(Self.refundParameters)
        let reason = try form.choice(
            "reason",
            ["duplicate", "fraudulent", "requested_by_customer"]
        )
        let metadata = try form.updated(metadata: [:])
        let reversesTransfer = try Self.reversesTransfer(form, of: found)
        try checkRefundable(found)
        let amount = try Self.refundAmount(form, of: found)
        var charge = found
        let sourceWithoutAccount = sourceWithoutRefundAccount(charge)
        let isLater: Bool = if case .succeedsLater = charge.card?.refund { true } else { false }
        let start = nextRefund
        nextRefund = nil
        let isSent = sourceWithoutAccount == nil && !isLater && start == nil
        var refund = SandboxRefund(
            id: ids.make("re_"),
            account: charge.account,
            charge: charge.id,
            paymentIntent: charge.paymentIntent,
            amount: amount,
            currency: charge.currency,
            created: nowSeconds,
            reason: reason,
            waitsForSource: sourceWithoutAccount,
            metadata: metadata,
            status: isSent ? "succeeded" : start?.status ?? "pending"
        )
        refund.instructionsEmail = form["instructions_email"]
        if reversesTransfer { refund.transferReversal = ids.make("trr_") }
        refund.presentment = charge.presentment?.share(amount, of: charge.amount)
        if refund.status == "pending" {
            refund.pendingReason = start?.pendingReason ?? "processing"
        }
        if isSent, charge.isTaken {
            refund.balanceTransaction = recordTransaction(
                .refund,
                amount,
                about: refund.id,
                of: charge,
                id: "txn_\(refund.id.dropFirst(3))"
            )
        }
        refunds[refund.id] = refund
        charge.refundedAmount += amount
        charge.refunds.append(refund.id)
        charge.changed()
        charges[charge.id] = charge
        emit("refund.created", refund.json(), account: charge.account)
        emit("charge.refunded", chargeJSON(charge.id), account: charge.account)
        if let sourceWithoutAccount { requestRefundAttributes(sourceWithoutAccount) }
        if case .failsLater = charge.card?.refund { scheduleAutomatic(.failRefund(refund.id)) }
        if isLater { scheduleAutomatic(.settleRefund(refund.id)) }
        closeInquiries(of: charge.id)
        return refund
    }

    /// Returns whether a refund also reverses the transfer of its charge.
    ///
    /// - Throws: if the charge has no transfer or no application fee to return.
    private static func reversesTransfer(
        _ form: Form,
        of charge: SandboxCharge
    ) throws(APIError) -> Bool {
        let reversesTransfer = try form.flag("reverse_transfer") ?? false
        let returnsFee = try form.flag("refund_application_fee") ?? false
        guard !reversesTransfer || charge.sharing.destination != nil else {
            throw APIError.invalid(
                "Charge \(charge.id) has no transfer that can be reversed.",
                param: "reverse_transfer"
            )
        }
        guard !returnsFee || charge.sharing.feeAmount != nil else {
            throw APIError.invalid(
                "Charge \(charge.id) has no application fee that can be refunded.",
                param: "refund_application_fee"
            )
        }
        return reversesTransfer
    }

    /// Throws if a charge has not succeeded, or a dispute holds its money.
    private func checkRefundable(_ charge: SandboxCharge) throws(APIError) {
        guard charge.status == "succeeded" else {
            throw APIError.invalid(
                "Charge \(charge.id) is \(charge.status) and cannot be refunded.",
                code: "charge_not_refundable"
            )
        }
        let isBeingDisputed = disputes.all.contains { number in
            let dispute = disputes[number]
            return dispute.charge == charge.id && !dispute.isInquiry && dispute.status != "won"
        }
        guard !charge.isDisputed || !isBeingDisputed else {
            throw APIError.invalid(
                "Charge \(charge.id) has been charged back; cannot issue a refund.",
                code: "charge_disputed"
            )
        }
    }

    /// Returns the amount of a refund, by default the rest of the charge.
    private static func refundAmount(
        _ form: Form,
        of charge: SandboxCharge
    ) throws(APIError) -> Int {
        let left = charge.refundable - charge.refundedAmount
        let amount = try form.positive("amount") ?? left
        guard left > 0 else {
            throw APIError.invalid(
                "Charge \(charge.id) has already been refunded.",
                code: "charge_already_refunded"
            )
        }
        guard amount <= left else {
            throw APIError.invalid(
                "Refund amount (\(amount)) is greater than unrefunded amount on charge (\(left)).",
                code: "amount_too_large",
                param: "amount"
            )
        }
        return amount
    }

    /// Returns the source of a charge that was paid by a bank transfer, if the customer must name an account first.
    ///
    /// A bank transfer cannot be reversed.
    private func sourceWithoutRefundAccount(_ charge: SandboxCharge) -> String? {
        guard let source = charge.source.flatMap({ sources[$0.id] }),
            let receiver = source.receiver, receiver.refundStatus != "available"
        else { return nil }
        return source.id
    }

    /// Closes the inquiries of a fully refunded charge.
    private mutating func closeInquiries(of charge: String) {
        guard charges[charge]?.isRefunded == true, charges[charge]?.isDisputed == true else {
            return
        }
        for number in disputes.all where disputes[number].charge == charge {
            let dispute = disputes[number]
            if dispute.isInquiry, !dispute.isClosed {
                moveDispute(dispute.id, to: "warning_closed")
            }
        }
    }
}
