import JSONText
import Poller
import PollerDeliveries
import PollerHints
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerUpstreams
import PollerWatches
import Synchronization

/// The parts of a node that depend on its configuration, built from it as a whole.
///
/// It is an immutable class. A reader holds one reference and finishes with the configuration it started with.
final class ConfiguredParts: Sendable {
    let settings: Settings
    let accounts: StripeAccounts
    let sources: ConfiguredSources
    let settler: StripeSettler
    let payers: StripePayers
    let events: StripeEvents
    let disputes: StripeDisputes
    /// The branding for customers, by account or upstream.
    let branding: [AccountID: Branding]
    /// The handler of polled watches, or `nil` if this process does not poll.
    let polls: PollHandler<PolledUpstream>?
    /// The intake of Stripe's webhooks, or `nil` if this process receives none or none is expected.
    let webhooks: StripeWebhooks?
    /// The endpoints of the file, or `nil` if it has no such section or this process is no notifier.
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
            defaults: settings.sections.accounts.mapValues(\.acts)
        )
        payers = StripePayers(accounts: accounts)
        events = StripeEvents(accounts: accounts)
        disputes = StripeDisputes(accounts: accounts)
        // An account overrides an upstream of the same name.
        branding = settings.sections.upstreamBranding.merging(
            settings.sections.accounts.compactMapValues(\.branding)
        ) { $1 }
        self.polls = polls
        self.webhooks = webhooks
        self.endpoints = endpoints
    }
}

/// The configuration now in effect, from which all roles of a node read.
///
/// Each operation takes its parts at the start and keeps them. A poll that started with a key ends with that key, and
/// so does the charge that follows it. The configuration is exchanged in one step, so no reader sees half a change.
final class LiveConfiguration: Sendable {
    private let held: Mutex<ConfiguredParts>
    private let refused = Mutex(false)

    init(_ configured: ConfiguredParts) {
        held = Mutex(configured)
    }

    /// The configuration now in effect.
    var now: ConfiguredParts { held.withLock { $0 } }

    /// Whether the store has refused endpoints of the file at the start.
    var lacksEndpoints: Bool { refused.withLock { $0 } }

    /// Replaces the configuration in effect.
    func replace(with configured: ConfiguredParts) {
        held.withLock { $0 = configured }
    }

    /// Notes that the store has refused endpoints of the file at the start.
    func endpointsWereRefused() { refused.withLock { $0 = true } }
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

    func submit(
        _ account: RefundAccount,
        for watch: Watch,
        paidBy method: PaymentMethod,
        timeout: Duration
    ) async -> RefundAccountResult {
        await now.payers.submit(account, for: watch, paidBy: method, timeout: timeout)
    }
}

extension LiveConfiguration: Settler {
    func defaults(for account: AccountID) -> DeadlineActs {
        now.settler.defaults(for: account)
    }

    func settle(_ watch: Watch, by act: DeadlineAct, timeout: Duration) async -> SettleResult {
        await now.settler.settle(watch, by: act, timeout: timeout)
    }
}

extension LiveConfiguration: DisputeReader {
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
