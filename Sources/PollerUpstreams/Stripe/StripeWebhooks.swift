import Foundation
package import Logging
import Metrics
package import Poller
import StripeAPI

/// Stripe's webhooks: signed on the raw bytes, and no more than a hint.
///
/// The intake uses the ids and the type of an event, to poll its objects. It records nothing else of the event, and
/// nothing else reaches a payer; a debit that the event announces is read from Stripe (<doc:WebhooksActForTheirSigner>).
///
/// | delivery | outcome |
/// |---|---|
/// | no, wrong or old signature; signed but no event | `refused` |
/// | a debit, or an unknown object of a connected account, that Stripe does not know | `refused` |
/// | an account that the secret does not act for | `ignored` |
/// | a debit that no key here may read; the event sweep finds it | `ignored` |
/// | test event at a live account, or the other way round | `ignored` |
/// | an event, or a change, that is known already | `duplicate` |
/// | about what is to be watched, under an account that has as many open watches as it may | `too_many_watches` |
/// | anything else | `accepted`: its subjects' watches are due now, also those that ended without an answer |
///
/// *Order*: none is assumed: a hint makes us poll, and the answer is true. *Latency*: two or three round trips to
/// Redis, and one request to Stripe for a debit, for the charge of a dispute or refund, and for an unknown object of a
/// connected account. Where Stripe does not answer, the sender must deliver the event again.
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

    /// Longer than any type of Stripe's; it is kept in the timeline of a watch.
    private static let typeBytesMax = 100

    private let accounts: [AccountID: Account]
    private let names: Set<AccountID>
    private let tolerance: Duration
    private let hinting: Hinting
    private let watches: any WatchStore
    private let events: (any AccountEvents)?
    private let enqueuer: Enqueuer?
    private let openWatches: OpenWatchLimit?
    private let suspects: PoisonGuard
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
        guard Self.isWord(event.id, 255), Self.isWord(event.type, Self.typeBytesMax) else {
            return .refused("signed, but its id or type is none of Stripe's")
        }
        if let isLive = configured.isLive, isLive != event.livemode {
            return ignored("livemode is \(event.livemode) and the account's key says otherwise")
        }
        let owner: AccountID
        switch self.owner(of: event, signedBy: account, configured.connected) {
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
        let hint = event.asClaim
        guard hint.subjects.contains(where: { SourceKind(inferredFrom: $0) != nil }) else {
            return ignored("\(event.type) is about nothing that is watched")
        }
        var enqueued = 0
        var stopped: WebhookOutcome?
        do throws(StoreError) {
            let result = try await hinting.hint(hint, of: owner, isWebhook: true) {
                (keys) throws(StoreError) in
                guard let new = try await unwatched(keys, event) else { return }
                stopped = try await refusal(of: new, event, signedBy: account)
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

    /// The account of an event's objects.
    private enum Owner {
        case account(AccountID)
        /// It names one that its signer does not act for.
        case foreign(String)
    }

    private func owner(
        of event: StripeEvent,
        signedBy signer: AccountID,
        _ connected: ConnectedAccounts
    ) -> Owner {
        guard let name = Self.accountName(in: event) else { return .account(signer) }
        // The text is the sender's, and may be anything.
        guard let account = ConnectedAccounts.account(named: name) else {
            return .foreign("it names an account that is no acct_… id")
        }
        guard account != signer else { return .account(signer) }
        guard !names.contains(account) else {
            return .foreign(
                "it names account \(account), which is configured and has its own secret"
            )
        }
        guard connected.includes(account) else {
            return .foreign(
                "it names account \(account), and the secret of \(signer) does not act for that: list "
                    + "it under accounts.\(signer).connected if it is connected to this platform"
            )
        }
        return .account(account)
    }

    /// The account that an event names; nil for an event of the signer's own account.
    ///
    /// Endpoints for connected accounts get it as `account`. Endpoints of an organisation get it as `context`,
    /// and old versions of the API as `user_id`: neither is read, because no secret can be configured as an
    /// organisation's.
    private static func accountName(in event: StripeEvent) -> String? { event.account }

    /// Whether a text may be an id or a type of Stripe's: it goes into keys of the store and into timelines.
    private static func isWord(_ text: String, _ bytesMax: Int) -> Bool {
        (1...bytesMax).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte)
                    || (0x61...0x7A).contains(byte) || byte == UInt8(ascii: "_")
                    || byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-")
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
        _ event: StripeEvent,
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
            let isKnown = try await events?.hasEvent(event.id, about: new.key.source, in: owner)
            guard isKnown ?? false else {
                return .refused("Stripe knows no such event of account \(owner)")
            }
            return nil
        } catch {
            throw .unavailable("event \(event.id) cannot be confirmed: \(error)")
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
