package import PollerIdentity
package import PollerPayments
package import PollerWatches

/// Captures and cancels payments before their deadlines, if configured.
package protocol Settler: Sendable {
    /// Returns the default actions for watches of this account.
    func defaults(for account: AccountID) -> DeadlineActs

    /// Performs the action on an object that was just read, with `DeadlineAct.idempotencyKey(of:)`.
    ///
    /// It never throws: every failure is a result. The next poll reads the state of the payment.
    func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult
}

extension DeadlineAct {
    /// Returns the idempotency key of this action: from the watch, its run, and the number of recorded polls.
    ///
    /// A process that takes over after a crash has the same number, and sends the same key. After a recorded answer the
    /// next attempt has another key, because the upstream would repeat a stored failure. The action happens once even
    /// without a key: a captured or cancelled payment is in a status that does not allow it again. The key has 40 of
    /// 255 allowed characters.
    package func idempotencyKey(of watch: Watch) -> String {
        let named = [
            "\(watch.key.account)", watch.key.kind.rawValue, "\(watch.key.source)",
            "\(watch.run)", "\(watch.state.attempts)", rawValue,
        ]
        return "poller-deadline:\(Digest.base64url(of: named, bytes: 18))"
    }
}
