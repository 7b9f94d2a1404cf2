extension SandboxState {
    /// Moves a source from any status to any other, as tests need it, records and announces it.
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
        // What nobody charged goes back to the customer.
        let leftover = isOver ? source.receiver?.available ?? 0 : 0
        source.receiver?.returned += leftover
        setEnd(of: &source)
        source.changed()
        sources[id] = source
        note(id, from: previous, to: status)
        // There is no event for pending or consumed.
        if ["chargeable", "failed", "canceled"].contains(status) {
            emit("source.\(status)", sourceJSON(id), account: source.account)
        }
        if leftover > 0 { requestRefundAttributes(id) }
    }

    /// Sets when a source dies in the status it has now.
    mutating func setEnd(of source: inout SandboxSource) {
        let expiry = SourceKind.all[source.type]?.expiry ?? .redirect
        // A code or a payment may be waited for; what is chargeable by itself stays so.
        source.endMs = expiry.endMs(status: source.status, nowMs: nowMs)
        if let endMs = source.endMs { timers.set(.expireSource(source.id), atMs: endMs) }
    }

    /// Cancels a source whose time is up; a timer of an earlier status finds another end and does nothing.
    mutating func expireSource(_ id: String) {
        guard let endMs = sources[id]?.endMs, endMs <= nowMs else { return }
        settleSource(id, to: "canceled")
    }
}
