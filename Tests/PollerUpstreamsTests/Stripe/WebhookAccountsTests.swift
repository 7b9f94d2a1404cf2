import Foundation
import PollerHints
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerQueue
import PollerRedis
import PollerWatches
import StripeAPI
import Synchronization
import Testing

@testable import PollerUpstreams

/// Tests that each secret acts only for its own account and for those connected to it.
@Suite("Accounts of Stripe's webhooks", .serialized)
struct WebhookAccountsTests {
    private static let now = Timestamp(ms: 1_795_000_000_000)
    private static let types = StripeEvents.types + StripeEvents.moneyTypes

    static let platform = AccountID.main
    private static let shopA = AccountID(unchecked: "shopa")
    private static let shopB = AccountID(unchecked: "shopb")
    /// An account with its own key, configured under its Stripe ID.
    private static let own = AccountID(unchecked: "acct_own")
    private static let secrets: [AccountID: String] = [
        platform: "whsec_platform", shopA: "whsec_a", shopB: "whsec_b", own: "whsec_own",
    ]
    /// The accounts with an open watch, so that a hint to the wrong account is detected.
    static let watched = [
        "default", "shopa", "shopb", "acct_7", "acct_8", "acct_own", "acct_bank", "bank", "nobody",
    ].map { AccountID(unchecked: $0) }
    /// The values of an event's account, as JSON; `nil` omits the member.
    static let claims: [String?] = [
        nil, "null", #""acct_7""#, #""acct_8""#, #""acct_own""#, #""acct_bank""#, #""shopa""#,
        #""shopb""#, #""default""#, #""bank""#, #""nobody""#, #""""#, #""acct_""#, #""acct_7 ""#,
        #""ACCT_7""#, #""acct_7/../shopb""#, #""acct_7~connected""#,
        "\"acct_\(String(repeating: "1", count: 60))\"",
    ]

    /// A Stripe that has every notice and event of its accounts, and none of others.
    struct StripeOf: StubAccountEvents {
        let accounts: Set<AccountID>

        func notice(
            _ id: String,
            of source: SourceID,
            in account: AccountID
        ) async throws(AccountEventsFailure) -> NoticeLookup {
            guard accounts.contains(account) else { return .unknown }
            var notice = MandateNotice(id: id)
            notice.creditor = "TRUE"
            return .found(notice)
        }

        func hasEvent(
            _ event: AccountEvent,
            about object: SourceID,
            in account: AccountID
        ) async throws(AccountEventsFailure) -> Bool {
            accounts.contains(account)
        }
    }

    func intake(
        _ rig: AccountRig,
        connected: ConnectedAccounts = .listed([AccountID(unchecked: "acct_7")]),
        events: (any AccountEvents)?,
        enqueues: Bool = false,
        limits: AccountLimits = .none
    ) -> StripeWebhooks {
        StripeWebhooks(
            accounts: Self.secrets.reduce(into: [:]) { accounts, secret in
                accounts[secret.key] = StripeWebhooks.Account(
                    secrets: [secret.value],
                    isLive: nil,
                    connected: secret.key == Self.platform ? connected : .none
                )
            },
            names: Set(["acct_own", "acct_bank", "bank"].map { AccountID(unchecked: $0) }),
            tolerance: .seconds(300),
            watches: rig.watches,
            marks: rig.store,
            events: events,
            enqueuer: enqueues ? Enqueuer(watches: rig.watches, deliveries: rig.deliveries) : nil,
            openWatches: OpenWatchLimit(
                { limits },
                accountCounts: rig.accountCounts,
                elapsed: { .zero },
                logger: AccountRig.quiet
            ),
            wallClock: { Self.now },
            logger: AccountRig.quiet
        )
    }

    func receive(
        _ intake: StripeWebhooks,
        _ body: String,
        at account: AccountID = .main,
        secretOf signer: AccountID? = nil
    ) async throws(StoreError) -> WebhookOutcome {
        let header = WebhookSignature.header(
            payload: Data(body.utf8),
            secret: Self.secrets[signer ?? account] ?? "",
            timestamp: Self.now.ms / 1000
        )
        return try await intake.receive(Array(body.utf8), signature: header, account: account)
    }

    static func event(
        _ id: String,
        _ type: String,
        account: String?,
        object: String
    ) -> String {
        #"{"id":"\#(id)","type":"\#(type)","livemode":false,"#
            + (account.map { #""account":\#($0),"# } ?? "") + #""data":{"object":\#(object)}}"#
    }

    /// An object of the event type that belongs to a source and has false contents.
    private static func object(_ type: String, of source: String) -> String {
        guard !type.hasPrefix("source.") || type == "source.mandate_notification" else {
            return #"{"id":"\#(source)","status":"chargeable","amount":99900}"#
        }
        return #"{"id":"srcmn_\#(source)","source":{"id":"\#(source)","currency":"usd"},"#
            + #""type":"sepa_debit","amount":99900,"sepa_debit":{"creditor_identifier":"EVIL"}}"#
    }

    static func key(_ account: AccountID, _ source: String) -> WatchKey {
        WatchKey(account: account, source: SourceID(unchecked: source), kind: .source)
    }

    @Test(
        "a secret hints and announces only in its own account and those connected to it",
        arguments: secrets.keys.sorted { $0.description < $1.description }
    )
    func matrix(signer: AccountID) async throws {
        try await AccountRig.run { rig in
            let intake = intake(rig, events: StripeOf(accounts: Set(Self.watched)))
            var cases: [(source: String, type: String, claim: String?)] = []
            for type in Self.types {
                for claim in Self.claims { cases.append(("src_\(cases.count)", type, claim)) }
            }
            for each in cases {
                _ = try await rig.watches.enqueue(
                    Self.watched.map { try NewWatch(key: Self.key($0, each.source)) }
                )
            }
            for each in cases {
                let owner: AccountID? =
                    switch each.claim {
                    case nil, "null": signer
                    case #""acct_own""# where signer == Self.own: signer
                    case #""acct_7""# where signer == Self.platform: AccountID(unchecked: "acct_7")
                    default: nil
                    }
                let body = Self.event(
                    "evt_\(each.source)",
                    each.type,
                    account: each.claim,
                    object: Self.object(each.type, of: each.source)
                )
                let outcome = try await receive(intake, body, at: signer)
                let place = "\(signer), \(each.type), account \(each.claim ?? "absent")"
                #expect(outcome.name == (owner == nil ? "ignored" : "accepted"), "\(place)")
                if case .ignored(let reason) = outcome {
                    #expect(reason == "the event names an account that its secret does not act for")
                }
                let announces = each.type == "source.mandate_notification"
                for account in Self.watched {
                    let key = Self.key(account, each.source)
                    let watch = try await rig.watches.snapshot(of: key)?.watch
                    let isMeant = account == owner
                    let found = (isHinted: watch?.hintedAt != nil, events: watch?.seq ?? 0)
                    #expect(found.isHinted == (isMeant && !announces), "\(place): \(account)")
                    #expect(found.events == (isMeant && announces ? 1 : 0), "\(place): \(account)")
                    guard found.events > 0 else { continue }
                    let events = try await rig.watches.events(of: key, after: 0, limit: 10)
                    #expect(events.map { $0.mandate?.creditor } == ["TRUE"], "\(place)")
                }
            }
        }
    }

    @Test("a secret of one account is refused at the address of another")
    func addresses() async throws {
        try await AccountRig.run { rig in
            let intake = intake(rig, events: StripeOf(accounts: []))
            let body = Self.event(
                "evt_1",
                "source.failed",
                account: nil,
                object: #"{"id":"src_1"}"#
            )
            for account in Self.secrets.keys {
                for signer in Self.secrets.keys where signer != account {
                    let outcome = try await receive(intake, body, at: account, secretOf: signer)
                    #expect(outcome.name == "refused", "\(signer) at \(account)")
                }
            }
        }
    }

    @Test("invented account IDs create no lane, with or without a platform's secret")
    func invented() async throws {
        try await AccountRig.run { rig in
            let stripe = StripeEvents(accounts: rig.accounts)
            for connected in [ConnectedAccounts.all, .none] {
                let intake = intake(rig, connected: connected, events: stripe, enqueues: true)
                for number in 0..<300 {
                    let body = Self.event(
                        "evt_\(number)",
                        "source.chargeable",
                        account: "\"acct_\(number)\"",
                        object: #"{"id":"src_1"}"#
                    )
                    let outcome = try await receive(intake, body)
                    #expect(outcome.name == (connected == .all ? "refused" : "ignored"))
                }
            }
            #expect(try await rig.accountCounts.accounts(limit: 500, cursor: nil).items.isEmpty)
        }
    }

    @Test("a connected account's unknown source is enqueued once Stripe has confirmed its event")
    func confirmed() async throws {
        struct Made: Decodable { let id: String }
        try await AccountRig.run { rig in
            let account = AccountID(unchecked: "acct_5")
            let connected = rig.sandbox.acting(for: account.description)
            let source = try await connected.post(
                "/v1/sources",
                form: [("type", "card")]
            ).decode(Made.self).id
            let event = try #require(
                try await connected.listEvents(limit: 100).data.first { $0.objectID == source }
            )
            let intake = intake(
                rig,
                connected: .all,
                events: StripeEvents(accounts: rig.accounts),
                enqueues: true
            )
            func body(_ id: String, _ object: String) -> String {
                Self.event(
                    id,
                    event.type,
                    account: "\"\(account)\"",
                    object: #"{"id":"\#(object)"}"#
                )
            }
            // The ID of a true event does not confirm another object.
            let other = try await receive(intake, body(event.id, "src_other"))
            #expect(other.name == "refused", "\(other)")
            let outcome = try await receive(intake, body(event.id, source))
            #expect(outcome == .accepted(hinted: 0, enqueued: 1))
            #expect(try await rig.watches.snapshot(of: Self.key(account, source)) != nil)
        }
    }

    @Test("the watches that a platform's secret enqueues count towards the platform's limit")
    func limits() async throws {
        try await AccountRig.run { rig in
            let accounts = (0..<6).map { AccountID(unchecked: "acct_\($0)") }
            let limits = AccountLimits(
                standard: .none,
                individual: [.main: AccountLimit(watches: 3, endpoints: 0)]
            )
            let stripe = StripeOf(accounts: Set(accounts))
            let intake = intake(
                rig,
                connected: .all,
                events: stripe,
                enqueues: true,
                limits: limits
            )
            // This account does not belong to the platform, because it has its own secret.
            _ = try await rig.watches.enqueue([
                try NewWatch(key: Self.key(AccountID(unchecked: "acct_own"), "src_1"))
            ])
            try await rig.watch("src_0")
            var names: [String] = []
            for account in accounts {
                let body = Self.event(
                    "evt_\(account)",
                    "source.chargeable",
                    account: "\"\(account)\"",
                    object: #"{"id":"src_1"}"#
                )
                let outcome = try await receive(intake, body)
                names.append(outcome.name)
                if case .tooManyWatches(let refusal) = outcome {
                    #expect(refusal.account == .main && refusal.most == 3)
                }
            }
            #expect(
                names == ["accepted", "accepted"] + Array(repeating: "too_many_watches", count: 4)
            )
        }
    }
}
