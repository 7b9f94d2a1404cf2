import HTTPTypes
import NIOCore

extension SandboxState {
    /// Handles `POST /v1/sources` and everything under `/v1/sources/{id}`; Sources cannot be listed, as at Stripe.
    mutating func routeSources(_ call: APICall) throws(APIError) -> APIReply {
        if call.method == .post, call.segments.count == 1 { return try createSource(call) }
        guard call.segments.count > 1 else { throw Self.unrecognized(call) }
        let id = call.segment(1)
        guard let source = sources[id], source.account == call.account, !source.isCard else {
            throw APIError.noSuch("source", id)
        }
        switch (call.method, call.segments.count, call.segment(2)) {
        case (.get, 2, _):
            try Self.requireClientSecret(source.clientSecret, call, kind: "source")
            return sourceReply(call, id)
        case (.post, 2, _):
            try Self.requireSecretKey(call)
            return try modifySource(call, source)
        case (.post, 3, "verify"):
            try Self.requireClientSecret(source.clientSecret, call, kind: "source")
            return try verifySource(call, source)
        case (.get, 3, "source_transactions"), (.get, 4, "source_transactions"):
            try Self.requireSecretKey(call)
            return try readTransactions(call, source)
        case (.get, 4, "mandate_notifications"):
            try Self.requireSecretKey(call)
            let name = call.segment(3)
            guard let found = notifications[name], found.source == id else {
                throw APIError.noSuch("mandate notification", name)
            }
            return APIReply(body: found.json)
        default:
            throw Self.unrecognized(call)
        }
    }

    /// Renders a Source for the call's key.
    mutating func sourceReply(_ call: APICall, _ id: String) -> APIReply {
        if call.key.isPublishable, let source = sources[id] {
            return APIReply(body: source.render(withMetadata: false))
        }
        return APIReply(body: sourceJSON(id))
    }

    /// Returns the JSON, cached until the object changes.
    mutating func sourceJSON(_ id: String) -> ByteBuffer {
        sources[id]?.json() ?? ByteBuffer()
    }

    private mutating func modifySource(
        _ call: APICall,
        _ found: SandboxSource
    ) throws(APIError) -> APIReply {
        var source = found
        let form = call.form
        try form.allow([
            "amount", "expand", "mandate", "metadata", "owner", "source_order", source.type,
        ])
        if let amount = try form.positive("amount") {
            guard source.status == "pending" || source.status == "chargeable" else {
                throw APIError.invalid(
                    "The amount of a source that is \(source.status) cannot be changed.",
                    code: "payment_method_unexpected_state",
                    param: "amount"
                )
            }
            source.amount = amount
        }
        source.owner.update(from: form)
        source.metadata = try form.updated(metadata: source.metadata)
        if let order = Self.order(form, source.currency) { source.order = order }
        if let method = form["mandate", "notification_method"] {
            source.notifiesManually = method == "manual"
        }
        // Stripe marks the Source of a revoked mandate as failed, because it can no longer be debited.
        let isRevoked = form["mandate", "acceptance", "status"] == "revoked"
        if !form.texts(source.type).isEmpty, let kind = SourceKind.all[source.type] {
            source.details = kind.details(of: source.type, form: form, card: source.card)
            if source.receiver != nil { source.receiver?.refundStatus = "available" }
        }
        source.changed()
        sources[source.id] = source
        if isRevoked { settleSource(source.id, to: "failed") }
        if source.receiver?.refundStatus == "available" { refundAttributesArrived(source.id) }
        return sourceReply(call, source.id)
    }

    /// Handles `POST /v1/sources/{id}/verify` with `values[]`.
    private mutating func verifySource(
        _ call: APICall,
        _ source: SandboxSource
    ) throws(APIError) -> APIReply {
        try call.form.allow(["client_secret", "expand", "values"])
        guard var verification = source.verification else {
            throw APIError.invalid("This source does not need to be verified.", param: "source")
        }
        guard source.status == "pending" else {
            throw APIError.invalid(
                "This source is \(source.status) and cannot be verified any more.",
                code: "payment_method_unexpected_state"
            )
        }
        let values = call.form.list("values")
        guard !values.isEmpty else { throw APIError.missing("values") }
        let left = verification.attemptsRemaining
        let refusal = Microdeposits.refusal(of: values, left: left)
        if let refusal {
            verification.attemptsRemaining = refusal.left
            if refusal.left == 0 { verification.status = "failed" }
        } else {
            verification.status = "succeeded"
        }
        sources[source.id]?.verification = verification
        sources[source.id]?.changed()
        guard let refusal else {
            settleSource(source.id, to: "chargeable")
            return sourceReply(call, source.id)
        }
        if refusal.left == 0 { settleSource(source.id, to: "failed") }
        throw refusal.error(param: "values")
    }

    private func readTransactions(
        _ call: APICall,
        _ source: SandboxSource
    ) throws(APIError) -> APIReply {
        let all = transactions[source.id] ?? []
        if call.segments.count == 4 {
            let id = call.segment(3)
            guard let found = all.first(where: { $0.id == id }) else {
                throw APIError.noSuch("source_transaction", id)
            }
            return APIReply(body: found.json())
        }
        return try ListPage(call, kind: "source_transaction") { id in
            all.firstIndex { $0.id == id }
        }
        .reply(all.indices) { all[$0].json() }
    }
}

extension SandboxState {
    /// Moves a Source from any status to any other, as tests require; records and announces the change.
    mutating func settleSource(_ id: String, to status: String, failureReason: String? = nil) {
        guard var source = sources[id], source.status != status else { return }
        let previous = source.status
        source.status = status
        switch status {
        case "chargeable":
            source.owner.isVerified = source.flow == "redirect"
            if source.redirect?.status != "not_required" { source.redirect?.status = "succeeded" }
            source.redirect?.failureReason = nil
            source.verification?.status = "succeeded"
            if let receiver = source.receiver, receiver.available < source.amount ?? 0 {
                source.receiver?.received += (source.amount ?? 0) - receiver.available
            }
        case "failed":
            source.redirect?.status = "failed"
            source.redirect?.failureReason = failureReason ?? "declined"
            source.verification?.status = "failed"
            source.verification?.attemptsRemaining = 0
        case "canceled":
            if source.redirect?.status == "pending" {
                source.redirect?.status = "failed"
                source.redirect?.failureReason = failureReason ?? "user_abort"
            }
        case "consumed":
            if let receiver = source.receiver, receiver.charged == 0 {
                source.receiver?.charged = min(source.amount ?? 0, receiver.received)
            }
        default:
            break
        }
        let isOver = ["consumed", "canceled", "failed"].contains(status)
        // Money that was not charged is returned to the customer.
        let leftover = isOver ? source.receiver?.available ?? 0 : 0
        source.receiver?.returned += leftover
        setEnd(of: &source)
        source.changed()
        sources[id] = source
        recordStatus(id, from: previous, to: status)
        // There is no event for pending or consumed.
        if ["chargeable", "failed", "canceled"].contains(status) {
            emit("source.\(status)", sourceJSON(id), account: source.account)
        }
        if leftover > 0 { requestRefundAttributes(id) }
    }

    /// Sets the expiry of the Source's current status.
    mutating func setEnd(of source: inout SandboxSource) {
        let expiry = SourceKind.all[source.type]?.expiry ?? .redirect
        // Sources waiting for a code or a payment expire; Sources that are chargeable without an action do not.
        source.endMs = expiry.endMs(status: source.status, nowMs: nowMs)
        if let endMs = source.endMs { timers.set(.expireSource(source.id), atMs: endMs) }
    }

    /// Cancels an expired Source.
    ///
    /// A timer of an earlier status finds a later expiry and does nothing.
    mutating func expireSource(_ id: String) {
        guard let endMs = sources[id]?.endMs, endMs <= nowMs else { return }
        settleSource(id, to: "canceled")
    }
}

/// The time limits of a Source type, from Stripe's guide of each method.
struct SourceExpiry {
    /// The maximum time in status pending; `nil` for no limit.
    var pendingMs: Int64?
    /// The maximum time in status chargeable; `nil` for no limit.
    var chargeableMs: Int64?
    /// Whether it expires at 23:45 China time at the latest (Alipay, WeChat Pay).
    var endsWithChineseDay = false

    private static let hourMs: Int64 = 3_600_000

    /// The redirect methods: one hour to authorise, six hours to charge.
    static let redirect = SourceExpiry(pendingMs: hourMs, chargeableMs: 6 * hourMs)
    static let chinese = SourceExpiry(
        pendingMs: hourMs,
        chargeableMs: 6 * hourMs,
        endsWithChineseDay: true
    )
    /// Seven days to pay at an ATM or bank.
    static let multibanco = SourceExpiry(pendingMs: 7 * 24 * hourMs, chargeableMs: 6 * hourMs)
    /// Ten days to confirm micro-deposits.
    static let verification = SourceExpiry(pendingMs: 10 * 24 * hourMs)
    static let never = SourceExpiry()

    /// Returns the expiry of a status; `nil` for none.
    func endMs(status: String, nowMs: Int64) -> Int64? {
        switch status {
        case "pending": return pendingMs.map { nowMs + $0 }
        case "chargeable":
            guard let chargeableMs else { return nil }
            let end = nowMs + chargeableMs
            return endsWithChineseDay ? min(end, Self.closingMs(after: nowMs)) : end
        default: return nil
        }
    }

    /// Returns the next 23:45 in China, which is 15:45 UTC all year.
    private static func closingMs(after nowMs: Int64) -> Int64 {
        let dayMs = 24 * hourMs
        let closing = nowMs / dayMs * dayMs + 15 * hourMs + 45 * 60_000
        return closing > nowMs ? closing : closing + dayMs
    }
}
