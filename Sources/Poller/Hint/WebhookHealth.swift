import Metrics
package import PollerIdentity
package import PollerQueue
import SafeNumbers
import Synchronization

/// Why the delivery of a webhook was refused.
package enum WebhookRefusal: String, Hashable, Sendable, CaseIterable {
    /// Signed with our secret, and too long ago by this machine's clock.
    case clock
    /// Signed with our secret and accepted, with a time ahead of this machine's clock.
    case ahead
    /// No secret of the account fits: it is another one, or the sender is not the upstream.
    case secret
    /// There is no signature, or one that is none: nobody who knows the upstream sends that.
    case unsigned
    /// Signed with our secret, and not understood.
    case malformed
}

/// The webhooks of an account that were refused since one was accepted.
package struct RefusedWebhooks: Hashable, Sendable {
    package let account: AccountID
    package var reason: WebhookRefusal
    /// Those that were noted; under load some are left out.
    package var count: Int
    /// When the first one came in, and the last one.
    package let since: Timestamp
    package var last: Timestamp
    /// What was wrong with the last one, one line without secrets.
    package var detail: String

    /// Older refusals say nothing about today: Stripe repeats a delivery after twelve hours at most, for three days.
    package static let span = Duration.seconds(86_400)
    /// Anyone can post what no secret fits: once is no reason to act.
    private static let strangersMax = 2

    /// Describes what was refused.
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

    /// The same with refusals that came later.
    ///
    /// That a secret does not fit hides nothing: others may post beside the upstream, and only who has the secret
    /// makes a signature that is merely old.
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
    package var isTrouble: Bool { reason != .secret || count > Self.strangersMax }

    /// Whether it still says something at `now`.
    package func isRecent(at now: Timestamp) -> Bool { now - last <= Self.span }

    /// What is wrong, one sentence.
    package var message: String {
        let count = count == 1 ? "1 webhook" : "\(count) webhooks"
        let outcome = reason == .ahead ? "from the future" : "refused"
        let rest = reason == .ahead ? "" : " and none accepted"
        return "\(account): \(count) \(outcome) since \(since)\(rest): \(detail)"
    }

    /// What to do.
    package var action: String {
        let setting =
            account == .main
            ? "STRIPE_WEBHOOK_SECRET"
            : "accounts.\(account).webhook_secrets of the configuration file"
        return switch reason {
        case .ahead:
            "compare the clock of the machines of the API with the time (NTP): it is behind"
        case .clock:
            "compare the clock of the machines of the API with the time (NTP); Stripe repeats what was "
                + "refused for three days"
        case .secret:
            "compare \(setting) with the signing secret of the endpoint in Stripe's dashboard; a proxy "
                + "that changes bodies has the same effect"
        case .unsigned, .malformed:
            "is what Stripe posts here an event destination? See the log for what was refused"
        }
    }
}

/// Keeps for the whole cluster which webhooks are refused.
package protocol WebhookHealthStore: Sendable {
    /// Adds refusals to those of their account.
    func add(_ refused: RefusedWebhooks) async throws(StoreError)

    /// Forgets the refusals of an account, because one of its webhooks was accepted.
    func forgetRefused(of account: AccountID) async throws(StoreError)

    /// The refusals of every account that has some.
    func refusedWebhooks() async throws(StoreError) -> [RefusedWebhooks]
}

/// Notes whether the webhooks of each account are signed as they should be, for metrics, the doctor and incidents.
///
/// Anyone may post a bad signature, so the store is written at most once a second for each account; what is refused
/// in between is added to the next write.
///
/// A class, because it remembers what it has not written yet.
package final class WebhookHealth: Sendable {
    /// Notes nothing in a store.
    package static let unknown = WebhookHealth(store: nil) { Timestamp(ms: 0) }

    private static let refusedPause = Duration.seconds(1)
    /// Another process may have noted a refusal: so often it is cleared without asking.
    private static let clearPause = Duration.seconds(5)

    /// What this process remembers of an account.
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

    /// Notes in `store`, at times of `wallClock`.
    package init(
        store: (any WebhookHealthStore)?,
        wallClock: @escaping @Sendable () -> Timestamp
    ) {
        self.store = store
        self.wallClock = wallClock
    }

    /// Notes a refusal of an account that has a secret.
    package func refused(
        _ account: AccountID,
        _ reason: WebhookRefusal,
        detail: String
    ) async {
        count(account, reason.rawValue)
        // Scanners send such; nobody's webhooks fail so.
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
        // The answer is the same without it, and a store that is away is reported by everything else.
        if let due { try? await store.add(due) } else { writeLater(account, store) }
    }

    /// Writes what is left of a burst once the pause is over, though no refusal comes after it.
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

    /// Notes that the signature of a delivery is good.
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

    /// Whether `pause` has passed, also where the clock was set back.
    private static func isDue(_ last: Timestamp?, _ now: Timestamp, _ pause: Duration) -> Bool {
        last.map { now < $0 || now - $0 >= pause } ?? true
    }

    private func count(_ account: AccountID, _ result: String) {
        let dimensions = [("account", account.description), ("result", result)]
        Counter(label: "poller_stripe_signatures_total", dimensions: dimensions).increment()
    }
}
