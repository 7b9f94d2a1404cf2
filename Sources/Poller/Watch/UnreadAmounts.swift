package import Logging
package import PollerIdentity
package import PollerQueue

/// An amount of an upstream that its configuration does not explain, so that payments are reported without it.
package struct UnreadAmount: Hashable, Sendable {
    /// An older one is not reported: the upstream, or its configuration, has changed since.
    package static let kept = Duration.seconds(86_400)
    private static let textMax = 40

    /// The upstream, by the name in the configuration.
    package let upstream: AccountID
    /// The amount as the upstream wrote it: printable characters, 40 at most.
    package let text: String
    /// When it was seen last.
    package let last: Timestamp

    /// An amount that was seen then.
    package init(_ upstream: AccountID, _ text: String, last: Timestamp) {
        self.upstream = upstream
        let printable = text.unicodeScalars.filter { $0.value >= 0x20 && $0.value != 0x7F }
        self.text = String(String(String.UnicodeScalarView(printable)).prefix(Self.textMax))
        self.last = last
    }

    /// Whether operators should still look at it.
    package func isRecent(at now: Timestamp) -> Bool { now - last <= Self.kept }

    /// What is wrong, for a log or the doctor.
    package var message: String {
        "the amount “\(text)” of upstream \(upstream) is not understood; its payments have no amount"
    }

    /// What an operator can do about it.
    package static let action =
        "say in upstreams: of the configuration where the amount is and how it is written: amount, amount_format, "
        + "currency"
}

/// Keeps for the whole cluster which amounts are not understood.
package protocol UnreadAmountStore: Sendable {
    /// Notes an amount; the last one of an upstream counts.
    func note(_ amount: UnreadAmount) async throws(StoreError)

    /// The amounts noted within ``UnreadAmount/kept``, one for each upstream.
    func unreadAmounts() async throws(StoreError) -> [UnreadAmount]
}

/// Reports amounts that are not understood: in the log and, through a store, to the doctor.
///
/// Once a minute for an upstream at most, whatever its polls see.
package actor UnreadAmountReporter {
    private static let pause = Duration.seconds(60)

    private let store: any UnreadAmountStore
    private let logger: Logger
    private var reported: [AccountID: Timestamp] = [:]

    /// Reports to `store` and `logger`.
    package init(store: any UnreadAmountStore, logger: Logger) {
        self.store = store
        self.logger = logger
    }

    /// Reports an amount that was seen now.
    package func report(_ amount: UnreadAmount) async {
        if let last = reported[amount.upstream], amount.last - last < Self.pause { return }
        reported[amount.upstream] = amount.last
        logger.warning("\(amount.message)", metadata: ["upstream": "\(amount.upstream)"])
        // The log has it; without the store the doctor learns it a minute later.
        try? await store.note(amount)
    }
}
