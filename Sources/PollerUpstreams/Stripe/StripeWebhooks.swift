import Foundation
package import Logging
import Metrics
package import Poller
package import PollerIdentity
package import PollerQueue
import SafeNumbers
import StripeAPI

/// Stripe's webhooks: signed on the raw bytes, and no more than a hint.
///
/// The intake uses the ids and the type of an event, to poll its objects. It records nothing else of the event, and
/// nothing else reaches a payer; a debit that the event announces is read from Stripe (<doc:0027-hints>).
///
/// An event with its object and a thin event, which only names it, are handled alike (``SignedEvent``).
///
/// | delivery | outcome |
/// |---|---|
/// | no, wrong or old signature; signed but no event | `refused` |
/// | about nothing that is watched, as thin events of v2 objects are | `ignored` |
/// | a debit, or an unknown object of a connected account, that Stripe does not know | `refused` |
/// | an account that the secret does not act for | `ignored` |
/// | a debit that no key here may read; the event sweep finds it | `ignored` |
/// | test event at a live account, or the other way round | `ignored` |
/// | an event, or a change, that is known already | `duplicate` |
/// | about what is to be watched, under an account that has as many open watches as it may | `too_many_watches` |
/// | anything else | `accepted`: its subjects' watches are due now, also those that ended without an answer |
///
/// *Order*: none is assumed: a hint makes us poll, and the answer is true. *Latency*: two or three round trips to
/// Redis, and one request to Stripe for a debit, for the charge of a dispute or refund, for an unknown object of a
/// connected account, and for the intent of an invoice where unknown objects are watched. Where Stripe does not answer, the sender must deliver the event again.
/// *Source*: <doc:StripeFacts>.
package struct StripeWebhooks: WebhookIntake {
    /// How one account's deliveries are checked.
    package struct Account: Sendable {
        let secrets: [String]
        let isLive: Bool?
        let connected: ConnectedAccounts

        /// Describes an account.
        ///
        /// - Parameters:
        ///   - secrets: its endpoint's `whsec_…`; several while one is rolled.
        ///   - isLive: whether its events are about real money; nil takes both.
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
    private let hinting: Hinting
    private let watches: any WatchStore
    private let events: (any AccountEvents)?
    private let enqueuer: Enqueuer?
    private let openWatches: OpenWatchLimit?
    private let suspects: PoisonGuard
    private let health: WebhookHealth
    private let wallClock: @Sendable () -> Timestamp
    private let logger: Logger
    private let counters: [String: Counter]

    /// An intake for `accounts`.
    ///
    /// - Parameters:
    ///   - accounts: the accounts that have a webhook secret.
    ///   - names: every name that the configuration gives to an account or upstream; no event may name one.
    ///   - tolerance: how old a signature may be.
    ///   - watches: the watches to hint.
    ///   - marks: the events and changes that are known already.
    ///   - events: confirms notices and events at Stripe, and finds the source or intent of a charge.
    ///   - enqueuer: enqueues sources that have no watch yet; nil leaves them alone.
    ///   - openWatches: how many open watches an account may have.
    ///   - suspects: sets aside an event that ends its processes.
    ///   - health: notes whether signatures are good.
    ///   - wallClock: compared with the sender's time.
    ///   - logger: gets a warning for each refused event and each event of a foreign account.
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
        hinting = Hinting(watches: watches, marks: marks, events: events)
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

    /// Handles an event that is signed properly under the guard: the sender repeats one that has ended a process.
    ///
    /// Nothing is counted for a body whose signature does not hold, or anyone could fill the store.
    private func guarded(
        _ body: [UInt8],
        _ signature: String?,
        _ account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        let now = wallClock().ms / 1000
        let isSigned = (accounts[account]?.secrets ?? []).contains { secret in
            // Why it does not hold is found out again below, where it is answered.
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
        let home = suspects.home(of: account.description)
        let suspect = Hinting.suspect(webhook: body, of: account, countedIn: home)
        let outcome = try await suspects.handle(one: suspect) {
            () async throws(StoreError) -> WebhookOutcome in
            #if DEBUG
            PlantedTrap.check(.hint, suspect.name)
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
        // What is signed in the future shows that a clock is off, and not that all is well.
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

    /// What was wrong with a delivery, for an operator.
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
            return .refused("signed, but its id or type is none of Stripe's")
        }
        if let isLive = configured.isLive, let livemode = signed.livemode, isLive != livemode {
            return ignored("livemode is \(livemode) and the account's key says otherwise")
        }
        let owner: AccountID
        switch self.owner(of: signed, signedBy: account, configured.connected) {
        case .account(let found): owner = found
        case .foreign(let reason):
            // The answer does not reveal which names are configured.
            return ignored(
                "the event names an account that its secret does not act for",
                detail: reason,
                signedBy: account,
                .warning
            )
        }
        let event = try await named(signed, in: owner)
        guard event.isOfPayments else {
            return ignored("\(claim.type) is about nothing that is watched")
        }
        return try await hint(event, of: owner, signedBy: account)
    }

    /// The event with the intent of its invoice, where Stripe must be asked for it and it would be watched.
    private func named(
        _ event: SignedEvent,
        in owner: AccountID
    ) async throws(StoreError) -> SignedEvent {
        guard enqueuer != nil, let events, let invoice = event.invoice else { return event }
        do throws(AccountEventsFailure) {
            return try await events.intent(ofInvoice: invoice, in: owner).map(event.paid) ?? event
        } catch {
            throw .unavailable("what \(invoice) is paid by is not known: \(error)")
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
            let result = try await hinting.hint(event.claim, of: owner, isWebhook: true) {
                (keys) throws(StoreError) in
                guard let new = try await unwatched(keys, event) else { return }
                stopped = try await refusal(of: new, event.claim, signedBy: account)
                // Remembers nothing: the sender delivers the event again.
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
                    "no key here may read mandate notifications of account \(owner); "
                        + "the event sweep of the workers delivers them",
                    signedBy: account,
                    .warning
                )
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

    /// The outcome for an unknown object that may not be enqueued; nil when it may.
    ///
    /// In a connected account Stripe is asked for the event first: a signature proves that the platform has sent it,
    /// not that there is such an account, or such an object in it. Limits count for the signer.
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

    /// What is to be watched of an event when nobody ever has: a watch that ended with an answer, or by
    /// somebody's wish, stays closed.
    private func unwatched(
        _ keys: [WatchKey],
        _ event: SignedEvent
    ) async throws(StoreError) -> NewWatch? {
        guard enqueuer != nil, let key = event.watched(among: keys),
            try await watches.snapshot(of: key) == nil
        else { return nil }
        // A key of ours and nothing else breaks no rule.
        return try? NewWatch(key: key)
    }
}
