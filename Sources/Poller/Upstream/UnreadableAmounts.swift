package import Logging
package import PollerIdentity
package import PollerQueue

/// An upstream amount that the configuration does not explain, so payments are reported without it.
package struct UnreadableAmount: Hashable, Sendable {
    /// The age limit for reports.
    ///
    /// After it the upstream or its configuration is assumed to have changed.
    package static let kept = Duration.seconds(86_400)
    private static let textMax = 40

    /// The name of the upstream in the configuration.
    package let upstream: AccountID
    /// The amount as the upstream wrote it: printable characters, 40 at most.
    package let text: String
    /// The last time it was observed.
    package let last: Timestamp

    /// Creates an amount that was last observed at `last`.
    package init(_ upstream: AccountID, _ text: String, last: Timestamp) {
        self.upstream = upstream
        let printable = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        self.text = String(String(String.UnicodeScalarView(printable)).prefix(Self.textMax))
        self.last = last
    }

    /// Whether operators should still check it.
    package func isRecent(at now: Timestamp) -> Bool { now - last <= Self.kept }

    /// The problem, as text for a log or `pollerctl doctor`.
    package var message: String {
        "the amount “\(text)” of upstream \(upstream) cannot be read; its payments have no amount"
    }

    /// The action for an operator.
    package static let action =
        "set the position and format of the amount under upstreams in the configuration: "
        + "amount, amount_format, "
        + "currency"
}

/// A cluster-wide store of unreadable amounts.
package protocol UnreadableAmountStore: Sendable {
    /// Stores an amount, which replaces the last one of its upstream.
    func note(_ amount: UnreadableAmount) async throws(StoreError)

    /// Returns the amounts noted within ``UnreadableAmount/kept``, one for each upstream.
    func unreadableAmounts() async throws(StoreError) -> [UnreadableAmount]
}

/// Reports unreadable amounts in the log and, through a store, to `pollerctl doctor`.
///
/// It reports at most once a minute for each upstream.
package actor UnreadableAmountReporter {
    private static let pause = Duration.seconds(60)

    private let store: any UnreadableAmountStore
    private let logger: Logger
    private var reported: [AccountID: Timestamp] = [:]

    package init(store: any UnreadableAmountStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Reports an amount that was just observed.
    package func report(_ amount: UnreadableAmount) async {
        if let last = reported[amount.upstream], amount.last - last < Self.pause { return }
        reported[amount.upstream] = amount.last
        logger.warning("\(amount.message)", metadata: ["upstream": "\(amount.upstream)"])
        // The log already has it. If the store fails, the doctor shows it a minute later.
        try? await store.note(amount)
    }
}
