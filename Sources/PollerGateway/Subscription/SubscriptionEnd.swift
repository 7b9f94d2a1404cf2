import Synchronization

/// Whether a subscription has ended, for its catch-up outside the event loop.
final class SubscriptionEnd: Sendable {
    private let flag = Atomic(false)

    /// Whether the subscription has ended.
    var isReached: Bool { flag.load(ordering: .relaxed) }

    /// Marks the subscription as ended.
    func markReached() { flag.store(true, ordering: .relaxed) }
}
