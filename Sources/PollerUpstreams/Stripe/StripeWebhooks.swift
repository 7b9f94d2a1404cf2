import Foundation
package import Logging
import Metrics
package import PollerHints
package import PollerIdentity
package import PollerOperations
package import PollerQueue
package import PollerWatches
import SafeNumbers
import StripeAPI

/// Stripe's webhooks: signed over the raw bytes, and only used as hints.
///
/// The intake uses the IDs and the type of an event to poll its objects. It stores nothing else of the event, and no
/// other part reaches a payer. A debit that the event announces is read from Stripe (<doc:0027-hints>).
///
/// Events with their object and thin events, which only name it, are handled the same way (``SignedEvent``).
///
/// | delivery | outcome |
/// |---|---|
/// | no, wrong or old signature; signed but not an event | `refused` |
/// | not about a watchable object, such as thin events of v2 objects | `ignored` |
/// | a debit, or an unknown object of a connected account, that Stripe does not know | `refused` |
/// | an account that the secret does not act for | `ignored` |
/// | a debit that no key here can read; the event sweep finds it | `ignored` |
/// | a test event for a live account, or a live event for a test account | `ignored` |
/// | an event, or a change, that is already known | `duplicate` |
/// | an object to watch, in an account that has reached its limit of open watches | `too_many_watches` |
/// | anything else | `accepted`: the watches of its subjects are due now, even if they closed without an answer |
///
/// *Order*: none is assumed, because a hint only causes a poll, and only its response counts.
/// *Latency*: two or three round trips to Redis. A debit, the charge of a dispute or refund, and an unknown object of
/// a connected account each add one request to Stripe. So does the intent of an invoice if unknown objects are
/// watched. If Stripe does not respond, the sender must deliver the event again.
/// *Source*: <doc:StripeFacts>.
package struct StripeWebhooks: WebhookIntake {
    /// The rules for checking the deliveries of one account.
    package struct Account: Sendable {
        let secrets: [String]
        let isLive: Bool?
        let connected: ConnectedAccounts

        /// Creates the rules for an account.
        ///
        /// - Parameters:
        ///   - secrets: the `whsec_…` secrets of its endpoint; several while one is rolled.
        ///   - isLive: whether its events are in live mode; `nil` accepts both modes.
        ///   - connected: the accounts that an event signed with these secrets may name.
        package init(secrets: [String], isLive: Bool?, connected: ConnectedAccounts = .none) {
            self.secrets = secrets
            self.isLive = isLive
            self.connected = connected
        }
    }

    private let accounts: [AccountID: Account]
    let names: Set<AccountID>
    private let tolerance: Duration
    private let hintIntake: HintIntake
    private let watches: any WatchStore
    private let events: (any AccountEvents)?
    private let enqueuer: Enqueuer?
    private let openWatches: OpenWatchLimit?
    private let suspects: PoisonGuard
    private let health: WebhookHealth
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger
    private let counters: [String: Counter]

    /// Creates an intake for `accounts`.
    ///
    /// - Parameters:
    ///   - accounts: the accounts that have a webhook secret.
    ///   - names: every configured name of an account or upstream; no event may name one.
    ///   - tolerance: the maximum age of a signature.
    ///   - watches: the watches that get hints.
    ///   - marks: the events and changes that are already known.
    ///   - events: confirms notices and events at Stripe, and finds the source or intent of a charge.
    ///   - enqueuer: enqueues sources without a watch; `nil` ignores them.
    ///   - openWatches: the limit of open watches per account.
    ///   - suspects: sets aside an event that crashes the processes that handle it.
    ///   - health: records whether signatures are valid.
    ///   - wallClock: the clock for checking signature times.
    ///   - logger: logs a warning for each refused event and each event of a foreign account.
    package init(
        accounts: [AccountID: Account],
        names: Set<AccountID> = [],
        tolerance: Duration,
        watches: any WatchStore,
        marks: any SweepStore,
        events: (any AccountEvents)? = nil,
        enqueuer: Enqueuer?,
        openWatches: OpenWatchLimit? = nil,
        suspects: PoisonGuard = .none,
        health: WebhookHealth = .unknown,
        wallClock: @escaping @Sendable () -> Timestamp,
        logger: Logger
    ) {
        self.accounts = accounts
        self.names = names.union(accounts.keys)
        self.tolerance = tolerance
        hintIntake = HintIntake(watches: watches, marks: marks, events: events)
        self.watches = watches
        self.events = events
        self.enqueuer = enqueuer
        self.openWatches = openWatches
        self.suspects = suspects
        self.health = health
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
        let outcome = try await guarded(body, signature, account)
        counters[outcome.name]?.increment()
        if case .refused(let reason) = outcome {
            logger.warning(
                "stripe webhook refused",
                metadata: ["account": "\(account)", "error": "\(reason)"]
            )
        }
        return outcome
    }

    /// Handles a webhook.
    ///
    /// A correctly signed one passes the poison guard, because the sender repeats an event that crashed a process. One
    /// with an invalid signature skips it, so that an attacker cannot fill the store with counts.
    private func guarded(
        _ body: [UInt8],
        _ signature: String?,
        _ account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        let now = wallClock().ms / 1000
        let isSigned = (accounts[account]?.secrets ?? []).contains { secret in
            // The reason for a failed check is determined again below, where it is reported.
            let verified: Void? = try? WebhookSignature.verify(
                payload: body,
                header: signature ?? "",
                secret: secret,
                tolerance: tolerance,
                now: now
            )
            return verified != nil
        }
        guard isSigned else { return try await outcome(body, signature, account) }
        let partition = suspects.partition(of: account.description)
        let suspect = HintIntake.suspect(webhook: body, of: account, countedIn: partition)
        let outcome = try await suspects.handle(one: suspect) {
            () async throws(StoreError) -> WebhookOutcome in
            #if DEBUG
            FailPoint.check(.hint, suspect.name)
            #endif
            return try await self.outcome(body, signature, account)
        }
        return outcome ?? .setAside
    }

    private func outcome(
        _ body: [UInt8],
        _ signature: String?,
        _ account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        guard let configured = accounts[account], !configured.secrets.isEmpty else {
            return .unknownAccount
        }
        let payload: WebhookPayload
        do throws(WebhookError) {
            payload = try WebhookSignature.constructPayload(
                payload: Data(body),
                header: signature ?? "",
                secrets: configured.secrets,
                tolerance: tolerance,
                now: wallClock().ms / 1000
            )
        } catch {
            await health.refused(account, WebhookRefusal(error), detail: detail(of: error))
            return .refused("\(error)")
        }
        // A signature from the future shows that a clock is wrong, so it does not count as healthy.
        let ahead = WebhookSignature.timestamp(in: signature ?? "")?
            .subtractingSaturating(wallClock().ms / 1000)
        if let ahead {
            if ahead <= tolerance.components.seconds {
                await health.accepted(account)
            } else {
                let detail = "signed \(ahead) s in the future by the clock here"
                await health.refused(account, .ahead, detail: detail)
            }
        }
        return try await outcome(of: SignedEvent(payload), signedBy: account, configured)
    }

    /// Returns the details of a refused delivery, for an operator.
    private func detail(of error: WebhookError) -> String {
        guard case .signature(.tooOld(let timestamp)) = error else { return "\(error)" }
        let age = (wallClock().ms / 1000).subtractingSaturating(timestamp)
        return "signed \(age) s ago by the clock here, and at most \(tolerance.text) are accepted"
    }

    private func outcome(
        of signed: SignedEvent,
        signedBy account: AccountID,
        _ configured: Account
    ) async throws(StoreError) -> WebhookOutcome {
        let claim = signed.claim
        guard Self.isWord(claim.id, 255), Self.isType(claim.type) else {
            return .refused("signed, but its ID or type is not one of Stripe's")
        }
        if let isLive = configured.isLive, let livemode = signed.livemode, isLive != livemode {
            return ignored("livemode is \(livemode), which contradicts the account's key")
        }
        let owner: AccountID
        switch self.owner(of: signed, signedBy: account, configured.connected) {
        case .account(let found): owner = found
        case .foreign(let reason):
            // The response does not reveal which names are configured.
            return ignored(
                "the event names an account that its secret does not act for",
                detail: reason,
                signedBy: account,
                .warning
            )
        }
        let event = try await named(signed, in: owner)
        guard event.isOfPayments else {
            return ignored("\(claim.type) concerns no watched object")
        }
        return try await hint(event, of: owner, signedBy: account)
    }

    /// Returns the event with the intent of its invoice.
    ///
    /// Stripe is requested only if the event does not name the intent and unknown objects are watched.
    private func named(
        _ event: SignedEvent,
        in owner: AccountID
    ) async throws(StoreError) -> SignedEvent {
        guard enqueuer != nil, let events, let invoice = event.invoice else { return event }
        do throws(AccountEventsFailure) {
            return try await events.intent(ofInvoice: invoice, in: owner).map(event.paid) ?? event
        } catch {
            throw .unavailable("the payment of \(invoice) is unknown: \(error)")
        }
    }

    private func hint(
        _ event: SignedEvent,
        of owner: AccountID,
        signedBy account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        var enqueued = 0
        var stopped: WebhookOutcome?
        do throws(StoreError) {
            let result = try await hintIntake.hint(event.claim, of: owner, isWebhook: true) {
                (keys) throws(StoreError) in
                guard let new = try await unwatched(keys, event) else { return }
                stopped = try await refusal(of: new, event.claim, signedBy: account)
                // Nothing is remembered, so the sender's next delivery is handled again.
                if stopped != nil { throw .unavailable("the watch is not accepted") }
                enqueued = try await enqueuer?.enqueue([new]).count ?? 0
            }
            switch result {
            case .hinted(let hinted): return .accepted(hinted: hinted, enqueued: enqueued)
            case .known: return .duplicate
            case .noSuchNotice:
                return .refused("Stripe knows no such mandate notification of account \(owner)")
            case .unreadableNotice:
                return ignored(
                    "this process has no key that can read mandate notifications of account "
                        + "\(owner); "
                        + "the event sweep of the workers delivers them",
                    signedBy: account,
                    .warning
                )
            // No mark is set, so the sender's next delivery is handled again.
            case .unanswered(let reason): throw .unavailable(reason)
            }
        } catch {
            if let stopped { return stopped }
            throw error
        }
    }

    private func ignored(
        _ reason: String,
        detail: String? = nil,
        signedBy account: AccountID? = nil,
        _ level: Logger.Level = .debug
    ) -> WebhookOutcome {
        var metadata: Logger.Metadata = ["reason": "\(detail ?? reason)"]
        if let account { metadata["account"] = "\(account)" }
        logger.log(level: level, "stripe webhook ignored", metadata: metadata)
        return .ignored(reason)
    }

    /// Returns the outcome for an unknown object that cannot be enqueued, or `nil` if it can.
    ///
    /// For a connected account the event is first read from Stripe. A signature proves that the platform sent it, but
    /// not that the account exists or has this object. The limits of the signer apply.
    private func refusal(
        of new: NewWatch,
        _ event: AccountEvent,
        signedBy signer: AccountID
    ) async throws(StoreError) -> WebhookOutcome? {
        let owner = new.key.account
        guard owner != signer else {
            return try await openWatches?.refusal(of: [new]).map { .tooManyWatches($0) }
        }
        let connected = accounts[signer]?.connected ?? .none
        let refusal = try await openWatches?.refusal(of: new, for: signer) { [names] account in
            connected.includes(account) && !names.contains(account)
        }
        if let refusal { return .tooManyWatches(refusal) }
        do throws(AccountEventsFailure) {
            let isKnown = try await events?.hasEvent(event, about: new.key.source, in: owner)
            guard isKnown ?? false else {
                return .refused("Stripe knows no such event of account \(owner)")
            }
            return nil
        } catch {
            throw .unavailable("event \(event.id) cannot be confirmed: \(error)")
        }
    }

    /// Returns the watch to create for an event if its object has never been watched.
    ///
    /// A watch that closed with an answer, or that was cancelled on request, stays closed.
    private func unwatched(
        _ keys: [WatchKey],
        _ event: SignedEvent
    ) async throws(StoreError) -> NewWatch? {
        guard enqueuer != nil, let key = event.watched(among: keys),
            try await watches.snapshot(of: key) == nil
        else { return nil }
        // A valid key without options violates no rule.
        return try? NewWatch(key: key)
    }
}
