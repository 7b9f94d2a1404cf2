import PollerAPI
import PollerHints
import PollerIdentity
import PollerQueue
import SafeNumbers

/// The check of the event sweep, which finds changes without webhooks.
extension ClusterChecks {
    /// The delay beyond its interval after which a sweep counts as late.
    ///
    /// A failed read is retried within a minute.
    private static let delayMax = Duration.seconds(60)
    /// The number of accounts named in the message.
    ///
    /// The rest are counted.
    private static let namedMax = 3

    /// Checks whether the events of every account are read, and how often.
    static func sweep(
        _ store: any SweepStore,
        _ accounts: ConfiguredSweep.Accounts,
        expectsWebhooks: Bool,
        at now: Timestamp = WallClock.now()
    ) async throws(StoreError) -> HealthResult {
        guard !accounts.isEmpty else {
            return .ok("not read: POLLER_STRIPE_SWEEP is off, or no key can list events")
        }
        var swept: [SweptList] = []
        for account in accounts {
            let sweepStatus = try await store.sweepStatus(of: account.leaseID)
            // No read is counted: the request only returns the sum.
            let usage = try await store.addReads(
                ReadUsage(reads: 0, transactions: 0),
                of: account.id
            )
            swept.append(SweptList(account, sweepStatus, usage))
        }
        return result(of: swept, expectsWebhooks: expectsWebhooks, at: now)
    }

    /// One event list of an account, as the check reads it.
    struct SweptList: Sendable {
        let account: AccountID
        let sweepStatus: SweepStatus?
        /// The longest interval that is configured for the list now; `nil` if the read budget alone decides.
        ///
        /// It applies for a day after a payment. With a fixed interval no budget makes the list late.
        let intervalMax: Duration?
        /// The used percentage of the account's read allowance.
        let usedPercent: Int

        init(
            _ account: ConfiguredSweep.Accounts.Element,
            _ sweepStatus: SweepStatus?,
            _ usage: ReadUsage
        ) {
            self.account = account.id
            self.sweepStatus = sweepStatus
            intervalMax = account.interval == nil && usage.isPaid ? account.paidMax : nil
            usedPercent = Int(saturating: usage.used * 100)
        }
    }

    /// Returns the result of the worst list.
    static func result(
        of lists: [SweptList],
        expectsWebhooks: Bool,
        at now: Timestamp
    ) -> HealthResult {
        let late = lists.filter { list in
            guard let sweepStatus = list.sweepStatus else { return false }
            // Without a time of completion, a stored pause is that after a failure.
            guard let delay = sweepStatus.delay(at: now) else { return sweepStatus.pause != nil }
            return delay > delayMax
        }
        if let first = late.first {
            let since = first.sweepStatus?.caughtUpAt.map { "last at \($0)" } ?? "never yet"
            return .warning(
                "the events of \(names(of: late)) are not read in time (\(since)); webhooks "
                    + "and polls continue",
                action: "check that a worker is running and that the key can list events; its log "
                    + "says 'events cannot be read' if not"
            )
        }
        let slow = lists.filter { list in
            list.intervalMax.map { list.pause > $0 * 2 } ?? false
        }
        let pauses = lists.compactMap(\.sweepStatus?.pause)
        let longest = pauses.max() ?? .zero
        if let first = slow.max(by: { $0.pause < $1.pause }), !expectsWebhooks {
            return .warning(
                "a refund or dispute of \(names(of: slow)) may be detected "
                    + "\(text(first.pause)) late: "
                    + "\(first.usedPercent) % of its read allowance is used",
                action: "register Stripe's webhooks (STRIPE_WEBHOOK_SECRET), or set "
                    + "POLLER_STRIPE_SWEEP to a duration"
            )
        }
        guard !pauses.isEmpty else { return .ok("not read yet") }
        return .ok("read every \(text(pauses.min() ?? longest)) to \(text(longest))")
    }

    private static func names(of lists: [SweptList]) -> String {
        var names: [String] = []
        for list in lists where !names.contains("\(list.account)") {
            names.append("\(list.account)")
        }
        let more = names.count - namedMax
        return names.prefix(namedMax).joined(separator: ", ")
            + (more > 0 ? " and \(more) more" : "")
    }

    /// Formats a span for people: `2 s`, `60 s`, `22 min`.
    private static func text(_ span: Duration) -> String {
        span < .seconds(120) ? "\(span.ms / 1000) s" : "\(span.ms / 60_000) min"
    }
}

extension ClusterChecks.SweptList {
    fileprivate var pause: Duration { sweepStatus?.pause ?? .zero }
}
