import Foundation
import JSONText
import Logging
import PollerIdentity
import PollerLocalization
import PollerTesting
import PollerWire
import StripeAPI
import Synchronization
import Testing

@testable import Poller
@testable import PollerAPI
@testable import PollerChannels
@testable import PollerDeliveries
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerUpstreams
@testable import PollerWatches

/// All processing of an upstream's response: facts, decision, events, search, order, mail, return page and timeline.
///
/// The results must only be recordable and readable. A trap would crash the process.
struct PaymentRun {
    /// A response as the worker has parsed it.
    struct Answer {
        let kind: SourceKind
        let observation: Observation
        /// The upstream's list of disputes, if there is one.
        var disputes: RawJSON?
    }

    private static let now = Timestamp(ms: 1_795_000_000_000)
    private static let account = AccountID.main

    /// The reader of payments, as in the worker.
    let payments: any PaymentReader
    /// The languages of mails and pages.
    var languages: [PayerLanguage] = PayerLanguage.allCases
    /// Whether the Stripe library decodes the object as well.
    var decodes = false
    /// The events with texts that were already rendered.
    var followed = Followed()

    /// The events that were already followed, because thousands of documents have the same texts.
    ///
    /// A class, because the runs of a test share it.
    final class Followed: Sendable {
        private let keys = Mutex<Set<[String]>>([])

        /// Adds an event and returns whether it is new.
        func insert(_ event: PollerWatches.Event, _ languages: [PayerLanguage]) -> Bool {
            let key = [
                event.type, event.payment?.wire.json ?? "", event.nextStep.wire.json,
                event.mandate?.wire.json ?? "", "\(event.seq) \(event.run)",
                "\(UpstreamObject(event))",
                "\(languages.count) \(languages.count == 1 ? 0 : 1)",
            ]
            return keys.withLock { $0.insert(key).inserted }
        }
    }

    /// Parses a response like the Stripe upstream; returns `nil` if it is rejected.
    static func answer(_ kind: SourceKind, _ bytes: [UInt8]) -> Answer? {
        guard let facts = try? ObjectFacts(scanning: bytes),
            let text = String(validating: bytes, as: UTF8.self),
            let status = try? PollerPayments.SourceStatus(facts.status ?? "")
        else { return nil }
        let observation = Observation(
            status: status,
            rank: StripeStatuses.rank(status, of: kind, usage: facts.usage),
            object: RawJSON(unchecked: text),
            detail: facts.detail.text,
            digest: BodyDigest.text(of: bytes),
            expiresAt: SourceExpiry.documented.expiresAt(facts, of: kind, now: now),
            upstreamTime: now
        )
        return Answer(kind: kind, observation: observation.converted(at: now))
    }

    /// Runs all processing of a response.
    func follow(_ answer: Answer) throws {
        let key = WatchKey(
            account: Self.account,
            source: SourceID(unchecked: "src_1"),
            kind: answer.kind
        )
        let fresh = watch(key)
        var observation = answer.observation
        observation.lists.disputes = answer.disputes
        let first = decide(fresh, observation)
        try follow(first.change, of: fresh)
        // A second run uses the stored state: with the same response, and with its charge.
        let known = fresh.after(first.change)
        let second = decide(known, observation)
        try follow(second.change, of: known)
        let charge = ObservedCharge(
            id: ChargeID(unchecked: "ch_1"),
            status: .succeeded,
            object: observation.object
        )
        var generator = SeededGenerator(seed: 1)
        let made = PollDecider().decide(
            context(known),
            .charged(observation, .made(charge)),
            using: &generator
        )
        try follow(made.change, of: known)
        if decodes { decode(observation, of: answer.kind) }
    }

    private func watch(_ key: WatchKey) -> PollerWatches.Watch {
        let acts =
            key.kind.isIntent
            ? DeadlineActs(
                authorisation: key.kind == .paymentIntent ? .capture : nil,
                abandoned: .cancel
            )
            : .unset
        return PollerWatches.Watch(
            key: key,
            policy: .auto,
            createdAt: Self.now,
            deadline: Self.now + .seconds(3600),
            run: 1,
            seq: 0,
            clientSecret: PollerWatches.ClientSecret(unchecked: "src_client_secret_1"),
            charge: key.kind == .source ? .whole : nil,
            acts: acts,
            order: OrderID(unchecked: "A77")
        )
    }

    private func context(_ watch: PollerWatches.Watch) -> PollContext {
        PollContext(watch, at: Self.now, payments: payments)
    }

    private func decide(
        _ watch: PollerWatches.Watch,
        _ observation: Observation
    ) -> Decision<WatchChange> {
        var generator = SeededGenerator(seed: 1)
        return PollDecider().decide(
            context(watch),
            .answer(.observed(observation)),
            using: &generator
        )
    }

    private func follow(_ change: WatchChange, of watch: PollerWatches.Watch) throws {
        if let memory = change.payment {
            #expect(PaymentMemory(packed: memory.packed).packed == memory.packed)
        }
        for term in SearchEntries(after: change).terms {
            #expect(term.description.utf8.count == SearchTerm.length)
        }
        for event in change.events { try follow(event, of: watch.after(change)) }
    }

    /// Runs everything that reads an event of a watch.
    func follow(_ event: PollerWatches.Event, of watch: PollerWatches.Watch) throws {
        let copy = PollerWatches.Event(json: event.json)
        let read = try #require(copy)
        #expect(read.payment == event.payment && read.nextStep == event.nextStep)
        #expect(read.seq == event.seq && read.mandate == event.mandate)
        #expect(
            PollerWatches.Event(summary: event.shortSummary, of: event.key)?.payment
                == event.payment
        )
        _ = (event.thinJSON, event.withoutBody, Settlement(of: event))
        guard followed.insert(event, languages) else { return }
        for (place, language) in languages.enumerated() {
            let metadata =
                #"{"locale":"\#(language.rawValue)","order":"A77","amount":9223372036854775807}"#
            let ends: [PollerIdentity.ClosedReason?] = [nil, .settled, .expired]
            let snapshot = WatchSnapshot(
                watch: watch,
                closed: ends[(place + event.seq) % ends.count],
                nextPollAt: nil,
                lastError: nil,
                notify: [],
                metadata: metadata,
                lastEvent: event.carrying(metadata: metadata)
            )
            try follow(snapshot, event, in: language)
        }
        try order(event)
    }

    private func follow(
        _ snapshot: WatchSnapshot,
        _ event: PollerWatches.Event,
        in language: PayerLanguage
    ) throws {
        if let rendered = PaymentMail(event, of: snapshot, publicURL: "https://pay.example") {
            let mail = MailTemplates.standard.content(rendered, branding: nil, unsubscribe: nil)
            #expect(!mail.subject.isEmpty)
        }
        for isFirst in [true, false] {
            let rendered = PollerAPI.ReturnUpdate(
                snapshot,
                isFirst: isFirst,
                in: PayerWords.in(language)
            )
            #expect(!rendered.payerMessage.title.isEmpty)
            _ = rendered.step.codeText
        }
        guard language == languages.first else { return }
        let entries = SearchEntries(of: snapshot, keys: .standard)
        #expect(entries.terms.count <= SearchTerm.countMax)
        #expect(
            entries.words.allSatisfy {
                (1...IndexedWord.bytesMax).contains($0.description.utf8.count)
            }
        )
        for query in [
            "amount>=9007199254740991", "amount=0.5 created>2d", "amount!=1", "€0.50", "1,50",
        ] {
            _ = try SearchQuery(query, keys: .standard, now: Self.now).matches(snapshot)
        }
        let timeline = Timeline(
            watch: snapshot,
            events: [event],
            notes: [],
            recipients: [],
            accounts: .all
        )
        #expect(!timeline.entries.isEmpty)
        _ = DeadlineForecast(settler: NoSettler(), payments: payments).sentences(of: snapshot)
        _ = (PollerWire.Watch(snapshot).json, PollerWatches.Mandate(snapshot))
        let memory = WatchMemory(of: snapshot.watch)
        #expect(WatchMemory(packed: memory.packed).packed == memory.packed)
    }

    /// Processes an order with two watches that have the payment of the event.
    private func order(_ event: PollerWatches.Event) throws {
        guard let payment = event.payment else { return }
        let key = OrderKey(account: Self.account, order: OrderID(unchecked: "A77"))
        var order = PollerWatches.Order(key: key)
        for name in ["src_1", "src_2"] {
            let member = WatchKey(
                account: Self.account,
                source: SourceID(unchecked: name),
                kind: event.key.kind
            )
            _ = order.note(member, seq: event.seq, payment)
        }
        let summary = order.summary.payment
        #expect(summary.amountReceived <= .max && summary.amountReturned <= .max)
        let kept = PollerWatches.Order(stored: order.stored, key: key, createdAt: Self.now, seq: 2)
        #expect(kept?.summary == order.summary)
    }

    /// Decodes the object with the Stripe library.
    private func decode(_ observation: Observation, of kind: SourceKind) {
        let bytes = Array((observation.object?.description ?? "").utf8)
        switch kind {
        case .source:
            guard let source = try? StripeJSON.decode(StripeAPI.Source.self, from: bytes) else {
                return
            }
            _ = ChargeInstruction.whole.sum(of: source)
        case .paymentIntent: _ = try? StripeJSON.decode(StripeAPI.PaymentIntent.self, from: bytes)
        case .setupIntent: _ = try? StripeJSON.decode(StripeAPI.SetupIntent.self, from: bytes)
        case .charge:
            if let charge = try? StripeJSON.decode(StripeAPI.Charge.self, from: bytes) {
                _ = StripeCharger.made(charge)
            }
        case .http, .other: break
        }
    }
}

/// A settler that changes nothing.
private struct NoSettler: Settler {
    func defaults(for account: AccountID) -> DeadlineActs { .unset }

    func settle(
        _ watch: PollerWatches.Watch,
        by act: DeadlineAct,
        timeout: Duration
    ) async -> SettleResult {
        .superseded("")
    }
}

extension PollerWatches.Watch {
    /// Returns the watch as a store keeps it after a change.
    fileprivate func after(_ change: WatchChange) -> PollerWatches.Watch {
        PollerWatches.Watch(
            key: key,
            policy: policy,
            createdAt: createdAt,
            deadline: deadline,
            run: run,
            seq: change.event?.seq ?? seq,
            clientSecret: clientSecret,
            charge: charge,
            acts: acts,
            order: order,
            state: change.state,
            payment: change.payment ?? payment
        )
    }
}
