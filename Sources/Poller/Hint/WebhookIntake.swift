/// Takes what an upstream posts about its own events.
package protocol WebhookIntake: Sendable {
    /// Verifies a delivery and makes hints of it: its subjects are looked at, nothing is believed.
    ///
    /// - Parameters:
    ///   - body: exactly as received; the signature is over these bytes.
    ///   - signature: the signature header, nil when there is none.
    ///   - account: whose endpoint it came in at.
    /// - Returns: what became of it.
    /// - Throws: when the store cannot be reached; the sender must send it again.
    func receive(
        _ body: [UInt8],
        signature: String?,
        account: AccountID
    ) async throws(StoreError) -> WebhookOutcome
}

/// What became of a posted event.
package enum WebhookOutcome: Hashable, Sendable {
    /// So many open watches were hinted, and so many unknown sources are watched from now on.
    case accepted(hinted: Int, enqueued: Int)
    /// Seen before, or another event about the same change.
    case duplicate
    /// Properly signed and none of ours: a test event at a live account, or one without a subject.
    case ignored(String)
    /// Not from the upstream, or not understood; the text says what to look at.
    case refused(String)
    /// No webhook secret is configured for the account.
    case unknownAccount

    /// The name of the outcome, for metrics.
    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .duplicate: "duplicate"
        case .ignored: "ignored"
        case .refused: "refused"
        case .unknownAccount: "unknown_account"
        }
    }

    /// Every ``name`` there is.
    package static let names = ["accepted", "duplicate", "ignored", "refused", "unknown_account"]
}
