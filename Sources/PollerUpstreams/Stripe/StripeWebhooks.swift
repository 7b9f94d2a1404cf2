import Foundation
package import Logging
import Metrics
package import Poller
import StripeAPI

/// Stripe's webhooks: signed on the raw bytes, and no more than a hint; but for a debit that is announced.
///
/// | delivery | outcome |
/// |---|---|
/// | no, wrong or old signature; signed but no event | `refused` |
/// | test event at a live account, or the other way round | `ignored` |
/// | an event, or a change, that is known already | `duplicate` |
/// | about what is to be watched, under an account that has as many open watches as it may | `too_many_watches` |
/// | anything else | `accepted`: its subjects' watches are due now, also those that ended without an answer |
///
/// *Order*: none is assumed: a hint makes us look, and what we see is true. A debit that is announced can
/// be seen by no look, so what the signed event says of it is told (``MandateNotice``). *Latency*: two or
/// three round trips to Redis; Stripe is asked only what the charge of a dispute or refund belongs to.
/// *Source*: <doc:StripeFacts>.
package struct StripeWebhooks: WebhookIntake {
    /// How one account's deliveries are checked.
    package struct Account: Sendable {
        let secrets: [String]
        let isLive: Bool?

        /// Describes an account.
        ///
        /// - Parameters:
        ///   - secrets: its endpoint's `whsec_…`; several while one is rolled.
        ///   - isLive: whether its events are about real money; nil takes both.
        package init(secrets: [String], isLive: Bool?) {
            self.secrets = secrets
            self.isLive = isLive
        }
    }

    private let accounts: [AccountID: Account]
    private let tolerance: Duration
    private let hinting: Hinting
    private let watches: any WatchStore
    private let enqueuer: Enqueuer?
    private let openWatches: OpenWatchLimit?
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger
    private let counters: [String: Counter]

    /// An intake for `accounts`.
    ///
    /// `tolerance` is how old a signature may be; `enqueuer` takes sources that nobody watches, nil
    /// leaves them alone, `openWatches` how many an account may have; `events` says what a charge belongs to; `wallClock` is compared with the sender's time.
    package init(
        accounts: [AccountID: Account],
        tolerance: Duration,
        watches: any WatchStore,
        marks: any SweepStore,
        events: (any AccountEvents)? = nil,
        enqueuer: Enqueuer?,
        openWatches: OpenWatchLimit? = nil,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.accounts = accounts
        self.tolerance = tolerance
        hinting = Hinting(watches: watches, marks: marks, events: events)
        self.watches = watches
        self.enqueuer = enqueuer
        self.openWatches = openWatches
        self.wallClock = wallClock
        self.logger = logger
        counters = Dictionary(
            uniqueKeysWithValues: WebhookOutcome.names.map { name in
                let dimensions = [("outcome", name)]
                return (
                    name, Counter(label: "poller_stripe_webhooks_total", dimensions: dimensions)
                )
            }
        )
    }

    package func receive(
        _ body: [UInt8],
        signature: String?,
        account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        let outcome = try await outcome(body, signature, account)
        counters[outcome.name]?.increment()
        switch outcome {
        case .refused(let reason):
            logger.warning(
                "stripe webhook refused",
                metadata: ["account": "\(account)", "error": "\(reason)"]
            )
        case .ignored(let reason):
            logger.debug("stripe webhook ignored", metadata: ["reason": "\(reason)"])
        default: break
        }
        return outcome
    }

    private func outcome(
        _ body: [UInt8],
        _ signature: String?,
        _ account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        guard let configured = accounts[account], !configured.secrets.isEmpty else {
            return .unknownAccount
        }
        let event: StripeEvent
        do throws(WebhookError) {
            event = try WebhookSignature.constructEvent(
                payload: Data(body),
                header: signature ?? "",
                secrets: configured.secrets,
                tolerance: tolerance,
                now: wallClock().ms / 1000
            )
        } catch {
            return .refused("\(error)")
        }
        if let isLive = configured.isLive, isLive != event.livemode {
            return .ignored("livemode is \(event.livemode) and the account's key says otherwise")
        }
        // A platform's endpoint gets the events of its connected accounts too.
        var owner = account
        if let connected = event.account {
            guard let id = try? AccountID(connected) else { return .ignored("no account id") }
            owner = id
        }
        let hint = event.asHint
        guard hint.subjects.contains(where: { SourceKind(inferredFrom: $0) != nil }) else {
            return .ignored("\(event.type) is about nothing that is watched")
        }
        var enqueued = 0
        var refusal: TooManyWatches?
        do throws(StoreError) {
            let hinted = try await hinting.hint(hint, of: owner, isWebhook: true) {
                (keys) throws(StoreError) in
                guard let new = try await unwatched(keys, event) else { return }
                refusal = try await openWatches?.refusal(of: [new])
                // Not to be remembered: it is to come again.
                if refusal != nil { throw .unavailable("the account has too many open watches") }
                enqueued = try await enqueuer?.enqueue([new]).count ?? 0
            }
            guard let hinted else { return .duplicate }
            return .accepted(hinted: hinted, enqueued: enqueued)
        } catch {
            if let refusal { return .tooManyWatches(refusal) }
            throw error
        }
    }

    /// What is to be watched of an event, its own object, when nobody ever has: a watch that ended with an
    /// answer, or by somebody's wish, stays closed.
    private func unwatched(
        _ keys: [WatchKey],
        _ event: StripeEvent
    ) async throws(StoreError) -> NewWatch? {
        guard enqueuer != nil, let id = event.objectID,
            let key = keys.first(where: { $0.source.description == id }), key.kind != .charge,
            try await watches.snapshot(of: key) == nil
        else { return nil }
        // A key of ours and nothing else breaks no rule.
        return try? NewWatch(key: key)
    }
}
