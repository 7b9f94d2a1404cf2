import Metrics
package import PollerIdentity
package import PollerQueue
import SafeNumbers
import Synchronization

/// The reason why a webhook was refused.
package enum WebhookRefusal: String, Hashable, Sendable, CaseIterable {
    /// Validly signed, but too old by this machine's clock.
    case clock
    /// Validly signed and accepted, with a time ahead of this machine's clock.
    case ahead
    /// No secret of the account matches: it is outdated, or the sender is not the upstream.
    case secret
    /// The signature is missing or malformed, which the upstream never sends.
    case unsigned
    /// Validly signed, but unreadable.
    case malformed
}

/// The webhooks of an account that were refused since the last accepted one.
package struct RefusedWebhooks: Hashable, Sendable {
    package let account: AccountID
    package var reason: WebhookRefusal
    /// The number of recorded refusals; under load some are left out.
    package var count: Int
    /// The times of the first refusal and of the last.
    package let since: Timestamp
    package var last: Timestamp
    /// The problem of the last one, in one line without secrets.
    package var detail: String

    /// The age limit of refusals: Stripe repeats a delivery after twelve hours at most, for three days.
    package static let span = Duration.seconds(86_400)
    /// The number of unmatched signatures that are ignored, because any client can post one.
    private static let unmatchedMax = 2

    package init(
        account: AccountID,
        reason: WebhookRefusal,
        count: Int = 1,
        since: Timestamp,
        last: Timestamp,
        detail: String
    ) {
        self.account = account
        self.reason = reason
        self.count = count
        self.since = since
        self.last = last
        self.detail = detail
    }

    /// Returns the sum with later refusals.
    ///
    /// An unmatched secret does not hide other reasons: any client can post one, but only the holder of the secret can
    /// create a signature that is merely old.
    package func adding(_ later: RefusedWebhooks) -> RefusedWebhooks {
        var sum = self
        sum.count = count.addingSaturating(later.count)
        sum.last = max(last, later.last)
        guard reason == .secret || later.reason != .secret else { return sum }
        sum.reason = later.reason
        sum.detail = later.detail
        return sum
    }

    /// Whether an operator must act.
    package var needsAttention: Bool { reason != .secret || count > Self.unmatchedMax }

    /// Whether it is still relevant at `now`.
    package func isRecent(at now: Timestamp) -> Bool { now - last <= Self.span }

    /// The problem, in one sentence.
    package var message: String {
        let count = count == 1 ? "1 webhook" : "\(count) webhooks"
        let outcome = reason == .ahead ? "from the future" : "refused"
        let rest = reason == .ahead ? "" : " and none accepted"
        return "\(account): \(count) \(outcome) since \(since)\(rest): \(detail)"
    }

    /// The action for an operator.
    package var action: String {
        let setting =
            account == .main
            ? "STRIPE_WEBHOOK_SECRET"
            : "accounts.\(account).webhook_secrets of the configuration file"
        return switch reason {
        case .ahead:
            "check the clocks of the API's machines (NTP): they are behind"
        case .clock:
            "check the clocks of the API's machines (NTP); Stripe repeats the refused "
                + "webhooks for three days"
        case .secret:
            "compare \(setting) with the signing secret of the endpoint in Stripe's dashboard; "
                + "a proxy "
                + "that changes bodies has the same effect"
        case .unsigned, .malformed:
            "check that Stripe posts here from an event destination; the log lists the refused "
                + "webhooks"
        }
    }
}

/// A cluster-wide store of refused webhooks.
package protocol WebhookHealthStore: Sendable {
    /// Adds refusals to those of their account.
    func add(_ refused: RefusedWebhooks) async throws(StoreError)

    /// Deletes the refusals of an account, because one of its webhooks was accepted.
    func forgetRefused(of account: AccountID) async throws(StoreError)

    /// Returns the refusals of every account with any.
    func refusedWebhooks() async throws(StoreError) -> [RefusedWebhooks]
}

/// Records whether the webhooks of each account are validly signed, for metrics, the doctor and incidents.
///
/// Any client may post a bad signature, so the store is written at most once a second for each account. Refusals in
/// between are added to the next write.
///
/// A class, because it keeps unwritten refusals.
package final class WebhookHealth: Sendable {
    /// A value without a store.
    package static let unknown = WebhookHealth(store: nil) { Timestamp(ms: 0) }

    private static let refusedPause = Duration.seconds(1)
    /// The interval at which refusals are deleted without a check, because another process may have recorded one.
    private static let clearPause = Duration.seconds(5)

    /// The state of an account in this process.
    private struct Account {
        var unwritten: RefusedWebhooks?
        /// Whether a task waits to write it.
        var isWaiting = false
        var writtenAt: Timestamp?
        var clearedAt: Timestamp?
    }

    private let store: (any WebhookHealthStore)?
    private let wallClock: @Sendable () -> Timestamp
    private let accounts = Mutex<[AccountID: Account]>([:])

    /// Creates a recorder that writes to `store`, with times of `wallClock`.
    package init(
        store: (any WebhookHealthStore)?,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.wallClock = wallClock
    }

    /// Records a refusal of an account that has a secret.
    package func refused(
        _ account: AccountID,
        _ reason: WebhookRefusal,
        detail: String
    ) async {
        count(account, reason.rawValue)
        // Scanners send these; an upstream's webhooks never fail this way.
        guard reason != .unsigned, let store else { return }
        let now = wallClock()
        let refused = RefusedWebhooks(
            account: account,
            reason: reason,
            since: now,
            last: now,
            detail: detail
        )
        let due = accounts.withLock { accounts -> RefusedWebhooks? in
            var known = accounts[account] ?? Account()
            let sum = known.unwritten?.adding(refused) ?? refused
            let isDue = Self.isDue(known.writtenAt, now, Self.refusedPause)
            known.unwritten = isDue ? nil : sum
            if isDue { known.writtenAt = now }
            known.clearedAt = nil
            accounts[account] = known
            return isDue ? sum : nil
        }
        // The response does not depend on it, and every other part reports an unavailable store.
        if let due { try? await store.add(due) } else { writeLater(account, store) }
    }

    /// Writes the rest of a burst after the pause, even if no refusal follows.
    private func writeLater(_ account: AccountID, _ store: any WebhookHealthStore) {
        let isFirst = accounts.withLock { accounts in
            let isFirst = accounts[account]?.isWaiting != true
            accounts[account]?.isWaiting = true
            return isFirst
        }
        guard isFirst else { return }
        Task {
            try? await Task.sleep(for: Self.refusedPause)
            let left = accounts.withLock { accounts -> RefusedWebhooks? in
                let left = accounts[account]?.unwritten
                accounts[account]?.unwritten = nil
                accounts[account]?.isWaiting = false
                if left != nil { accounts[account]?.writtenAt = wallClock() }
                return left
            }
            if let left { try? await store.add(left) }
        }
    }

    /// Records a valid signature.
    package func accepted(_ account: AccountID) async {
        count(account, "good")
        guard let store else { return }
        let now = wallClock()
        let isDue = accounts.withLock { accounts -> Bool in
            var known = accounts[account] ?? Account()
            known.unwritten = nil
            let isDue = Self.isDue(known.clearedAt, now, Self.clearPause)
            if isDue { known.clearedAt = now }
            accounts[account] = known
            return isDue
        }
        guard isDue else { return }
        // As above.
        try? await store.forgetRefused(of: account)
    }

    /// Whether `pause` has passed, or the clock was set back.
    private static func isDue(_ last: Timestamp?, _ now: Timestamp, _ pause: Duration) -> Bool {
        last.map { now < $0 || now - $0 >= pause } ?? true
    }

    private func count(_ account: AccountID, _ result: String) {
        let dimensions = [("account", account.description), ("result", result)]
        Counter(label: "poller_stripe_signatures_total", dimensions: dimensions).increment()
    }
}
