import JSONText
import NIOCore
import SafeNumbers

extension SandboxState {
    /// Methods whose disputes are final: the bank reverses the debit and evidence is not accepted.
    ///
    /// *Source*: <https://docs.stripe.com/payments/sepa-debit#disputed-payments>.
    private static let finalTypes: Set<String> = [
        "sepa_debit", "bacs_debit", "au_becs_debit", "acss_debit", "us_bank_account", "ach_debit",
    ]

    /// Opens a dispute of a charge.
    ///
    /// - Parameters:
    ///   - id: A captured charge.
    ///   - amount: The disputed amount; by default everything that was captured.
    ///   - reason: Stripe's reason code; by default that of the method.
    ///   - status: The first status; by default that of the method.
    /// - Returns: The dispute's ID; `nil` when the charge has not captured this amount.
    mutating func dispute(
        _ id: String,
        amount: Int? = nil,
        reason: String? = nil,
        status: String? = nil
    ) -> String? {
        guard let charge = charges[id], charge.isTaken,
            amount ?? 0 <= charge.taken
        else { return nil }
        let isFinal = Self.finalTypes.contains(charge.methodType)
        let isCard = charge.id.hasPrefix("ch_")
        let first = status ?? (isFinal ? "lost" : "needs_response")
        var dispute = SandboxDispute(
            id: ids.make("dp_"),
            account: charge.account,
            charge: id,
            paymentIntent: charge.paymentIntent,
            amount: amount ?? charge.taken,
            currency: charge.currency,
            created: nowSeconds,
            reason: reason
                ?? (isFinal ? "debit_not_authorized" : isCard ? "fraudulent" : "general"),
            brand: isCard ? charge.card?.network ?? "visa" : nil,
            status: first,
            due: SandboxDispute.due(from: nowSeconds, isInquiry: first.hasPrefix("warning_"))
        )
        let hasTaken = !dispute.isInquiry
        if hasTaken {
            dispute.transactions = [
                recordTransaction(.dispute, dispute.amount, about: dispute.id, of: charge)
            ]
        }
        disputes[dispute.id] = dispute
        charges[id]?.isDisputed = true
        charges[id]?.changed()
        recordStatus(dispute.id, from: nil, to: dispute.status)
        announce(dispute.id, "created")
        if hasTaken { announce(dispute.id, "funds_withdrawn") }
        if dispute.status == "won" { reinstateFunds(dispute.id) }
        if dispute.isClosed { announce(dispute.id, "closed") }
        setEnd(of: dispute)
        return dispute.id
    }

    /// Opens the dispute of a test number.
    mutating func disputeAutomatically(_ id: String) {
        guard case .isDisputed(let reason, let isInquiry) = charges[id]?.outcome else { return }
        _ = dispute(id, reason: reason, status: isInquiry ? "warning_needs_response" : nil)
    }

    /// Moves a dispute from any status to any other, as tests require, including the money.
    mutating func moveDispute(_ id: String, to status: String) {
        guard var dispute = disputes[id], dispute.status != status,
            let charge = charges[dispute.charge]
        else { return }
        let previous = dispute.status
        let wasInquiry = dispute.isInquiry
        let wasWon = previous == "won"
        dispute.status = status
        // Money is withdrawn when an inquiry becomes a dispute, and again when a won dispute is lost after all.
        let isTaken = !dispute.isInquiry && status != "won" && (wasInquiry || wasWon)
        if isTaken {
            dispute.transactions.append(
                recordTransaction(.dispute, dispute.amount, about: id, of: charge)
            )
        }
        if wasInquiry, !dispute.isInquiry {
            dispute.due = SandboxDispute.due(from: nowSeconds, isInquiry: false)
        }
        disputes[id] = dispute
        recordStatus(id, from: previous, to: status)
        if isTaken { announce(id, "funds_withdrawn") }
        if status == "won", !wasInquiry { reinstateFunds(id) }
        let before = JSONWriter.object { $0.field("status", previous) }
        announce(id, dispute.isClosed ? "closed" : "updated", previous: before)
        if wasInquiry, !dispute.isInquiry { setEnd(of: dispute) }
    }

    /// Ends an unanswered dispute: a dispute is lost, an inquiry is closed.
    mutating func endDispute(_ id: String) {
        guard let dispute = disputes[id], !dispute.isClosed,
            nowSeconds >= dispute.due.end
        else { return }
        if dispute.isInquiry { return moveDispute(id, to: "warning_closed") }
        // The network or the test decides about submitted evidence.
        guard dispute.status == "needs_response" else { return }
        disputes[id]?.isPastDue = true
        moveDispute(id, to: "lost")
    }

    /// Fails a succeeded charge, as can happen with a debit: the money is returned without a dispute.
    mutating func bounceCharge(_ id: String) {
        guard var charge = charges[id], charge.status == "succeeded" else { return }
        if charge.isTaken {
            let left = max(0, charge.refundable - charge.refundedAmount)
            if left > 0 { recordTransaction(.chargeFailure, left, about: id, of: charge) }
        }
        charge.status = "failed"
        charge.failure = .bankDeclined
        charge.changed()
        charges[id] = charge
        recordStatus(id, from: "succeeded", to: "failed")
        emit("charge.failed", chargeJSON(id), account: charge.account)
    }

    private mutating func setEnd(of dispute: SandboxDispute) {
        guard !dispute.isClosed else { return }
        timers.set(
            .endDispute(dispute.id),
            atMs: Int64(clamping: dispute.due.end).multipliedSaturating(by: 1000)
        )
    }

    /// Returns the money of a won dispute.
    private mutating func reinstateFunds(_ id: String) {
        guard let dispute = disputes[id], let charge = charges[dispute.charge] else { return }
        let line = recordTransaction(.disputeReversal, dispute.amount, about: id, of: charge)
        disputes[id]?.transactions.append(line)
        announce(id, "funds_reinstated")
    }

    private mutating func announce(_ id: String, _ what: String, previous: [UInt8]? = nil) {
        emit(
            "charge.dispute.\(what)",
            disputeJSON(id),
            account: disputes[id]?.account,
            previous: what == "updated" ? previous : nil
        )
    }
}
