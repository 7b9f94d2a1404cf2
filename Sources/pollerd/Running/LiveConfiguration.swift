import JSONText
import Poller
import PollerIdentity
import PollerQueue
import PollerUpstreams
import Synchronization

/// What a node does by its configuration as long as that holds, made of it whole.
///
/// A class without anything that changes: who reads it holds one reference, and ends by it what was begun by it.
final class Configured: Sendable {
    let settings: Settings
    let accounts: StripeAccounts
    let sources: ConfiguredSources
    let settler: StripeSettler
    let payers: StripePayers
    let events: StripeEvents
    let disputes: StripeDisputes
    /// What customers see, by account or upstream.
    let branding: [AccountID: Branding]
    /// What a worker does with a watch; nil where nothing is polled.
    let polls: PollHandler<PolledUpstream>?
    /// Takes Stripe's webhooks; nil where none come in, or none is expected.
    let webhooks: StripeWebhooks?
    /// The endpoints of the file; nil where it says nothing of them, or nobody here tells them.
    let endpoints: FileEndpoints?

    init(
        _ settings: Settings,
        _ accounts: StripeAccounts,
        polls: PollHandler<PolledUpstream>? = nil,
        webhooks: StripeWebhooks? = nil,
        endpoints: FileEndpoints? = nil
    ) {
        self.settings = settings
        self.accounts = accounts
        sources = ConfiguredSources(settings.sections.upstreams, accounts: accounts)
        settler = StripeSettler(
            accounts: accounts,
            standing: settings.sections.accounts.mapValues(\.acts)
        )
        payers = StripePayers(accounts: accounts)
        events = StripeEvents(accounts: accounts)
        disputes = StripeDisputes(accounts: accounts)
        // An account of the same name has the say.
        branding = settings.sections.upstreamBranding.merging(
            settings.sections.accounts.compactMapValues(\.branding)
        ) { $1 }
        self.polls = polls
        self.webhooks = webhooks
        self.endpoints = endpoints
    }
}

/// The configuration that holds now, at the one place from which the roles of a node read it.
///
/// Each seam takes what it needs at its beginning and keeps to it: a poll that has begun with a key ends with that key,
/// and so does the charge that follows from it. What holds is exchanged at once, so nobody sees half of a change.
///
/// A class, because all roles of a process share it.
final class LiveConfiguration: Sendable {
    private let held: Mutex<Configured>

    init(_ configured: Configured) {
        held = Mutex(configured)
    }

    /// What holds now.
    var now: Configured { held.withLock { $0 } }

    /// From now on this holds.
    func replace(with configured: Configured) {
        held.withLock { $0 = configured }
    }
}

extension LiveConfiguration: ItemHandler {
    func handle(_ leased: LeasedItem<Watch>) async -> Decision<WatchChange>? {
        await now.polls?.handle(leased)
    }
}

extension LiveConfiguration: SourceLocator {
    func key(
        of url: String,
        account: AccountID?,
        among accounts: AccountSet
    ) throws(InvalidInput) -> WatchKey {
        try now.sources.key(of: url, account: account, among: accounts)
    }

    func check(_ key: WatchKey, among accounts: AccountSet) throws(InvalidInput) {
        try now.sources.check(key, among: accounts)
    }
}

extension LiveConfiguration: WebhookIntake {
    func receive(
        _ body: [UInt8],
        signature: String?,
        account: AccountID
    ) async throws(StoreError) -> WebhookOutcome {
        guard let webhooks = now.webhooks else { return .unknownAccount }
        return try await webhooks.receive(body, signature: signature, account: account)
    }
}

extension LiveConfiguration: PayerUpstream {
    func verify(
        _ watch: Watch,
        with values: VerificationValues,
        timeout: Duration
    ) async -> VerificationResult {
        await now.payers.verify(watch, with: values, timeout: timeout)
    }

    func give(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult {
        await now.payers.give(account, for: watch, paidBy: method, timeout: timeout)
    }
}

extension LiveConfiguration: Settler {
    func standing(for account: AccountID) -> DeadlineActs {
        now.settler.standing(for: account)
    }

    func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult {
        await now.settler.settle(watch, by: act, timeout: timeout)
    }
}

extension LiveConfiguration: DisputeBook {
    var disputedAccounts: [AccountID] { now.disputes.disputedAccounts }

    func disputes(of account: AccountID) async throws(DisputeReadFailure) -> [AccountDispute] {
        try await now.disputes.disputes(of: account)
    }
}

extension LiveConfiguration: AccountEvents {
    func events(
        of account: AccountID,
        _ list: EventList,
        _ range: EventRange
    ) async throws(AccountEventsFailure) -> AccountEventsPage {
        try await now.events.events(of: account, list, range)
    }

    func subject(
        ofCharge charge: ChargeID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        try await now.events.subject(ofCharge: charge, in: account)
    }

    func notice(
        _ id: String,
        of source: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> NoticeLookup {
        try await now.events.notice(id, of: source, in: account)
    }

    func hasEvent(
        _ event: AccountEvent,
        about object: SourceID,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> Bool {
        try await now.events.hasEvent(event, about: object, in: account)
    }

    func intent(
        ofInvoice invoice: String,
        in account: AccountID
    ) async throws(AccountEventsFailure) -> SourceID? {
        try await now.events.intent(ofInvoice: invoice, in: account)
    }
}
