import JSONText
import PollerIdentity
import PollerLocalization
import PollerTesting
import PollerWire
import Testing

@testable import Poller
@testable import PollerAPI
@testable import PollerDeliveries
@testable import PollerOperations
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerUpstreams
@testable import PollerWatches

/// API documents, generated from the schemas of the API description, and everything that reads them.
struct WireDocuments {
    private static let now = Timestamp(ms: 1_795_000_000_000)

    let event: JSONTree
    let watch: JSONTree
    let order: JSONTree
    let request: JSONTree
    /// A request with a fee.
    let split: JSONTree

    /// Creates one document of each kind.
    init() throws {
        let components = try #require(JSONTree(Schemas.all(withPages: true).text))
        let schemas = SchemaDocument(components: components)
        var event = try #require(schemas.document("Event")).with("kind", "source")
            .with("type", "payment.paid").with("account", "default").with("source", "src_1")
        event["seq"] = .raw("1")
        event["run"] = .raw("1")
        // Mails also read an amount from such an object.
        event["object"] = JSONTree(#"{"amount":1099,"currency":"eur","livemode":true}"#)
        self.event = event
        var watch = try #require(schemas.document("Watch"))
        for (name, text) in [
            ("kind", "source"), ("source", "src_1"), ("account", "default"), ("state", "closed"),
            ("closed_reason", "settled"), ("policy", "auto"), ("until", "settled"),
            ("order", "A77"), ("status", "consumed"),
            ("memory", "||9d2k1a|k3f9a2||1y2p0ij32e8e7|2gosa7pa2gw|o|-1|zzzzzzzzzzzzz||zzz"),
        ] {
            watch[name] = .text(text)
        }
        watch["seq"] = .raw("1")
        watch["run"] = .raw("1")
        watch["notify"] = .array([])
        self.watch = watch
        order = try #require(schemas.document("Order"))
        var request = try #require(schemas.document("NewWatch")).with("source", "src_1")
            .with("kind", "source").with("account", "default").with("policy", "auto")
            .with("until", "settled").with("order", "A77")
        for name in ["url", "authorisation", "abandoned"] { request[name] = nil }
        request["notify"] = .array([])
        request["charge"]?["on_behalf_of"] = .text("acct_1")
        request["charge"]?["transfer_data"]?["destination"] = .text("acct_1")
        var split = request
        // A fee and the amount of a transfer exclude each other.
        request["charge"]?["application_fee_amount"] = nil
        split["charge"]?["transfer_data"] = nil
        self.request = request
        self.split = split
    }

    /// Returns every number of every document, set to every limit.
    func changes() -> [(name: String, reader: Reader, document: JSONTree)] {
        let all: [(Reader, JSONTree)] = [
            (.event, event), (.order, order), (.request, request), (.request, split),
            (.archive, archive(watch, [event])),
        ]
        return all.flatMap { reader, document in
            (HostileNumbers.changes(of: document) + HostileNumbers.numbersForTexts(in: document))
                .map {
                    (name: "\(reader): \($0.name)", reader: reader, document: $0.document)
                }
        }
    }

    /// Returns a line of an archive.
    func archive(_ watch: JSONTree, _ events: [JSONTree]) -> JSONTree {
        .object([(name: "watch", value: watch), (name: "events", value: .array(events))])
    }

    /// The kinds of readers.
    enum Reader: CaseIterable {
        case event, order, request, archive
    }

    /// Reads a document and runs all processing that follows.
    func follow(_ bytes: [UInt8], _ reader: Reader, _ languages: [PayerLanguage]) throws {
        let text = String(decoding: bytes, as: UTF8.self)
        switch reader {
        case .event:
            guard let event = PollerWatches.Event(json: text) else { return }
            try follow(event, languages)
        case .order:
            let key = OrderKey(account: .main, order: OrderID(unchecked: "A77"))
            for version in ["1", "9223372036854775807"] {
                let stored = "\(version) \(text)"
                guard
                    var order = PollerWatches.Order(
                        stored: stored,
                        key: key,
                        createdAt: Self.now,
                        seq: .max
                    )
                else { continue }
                let member = WatchKey(
                    account: .main,
                    source: SourceID(unchecked: "src_9"),
                    kind: .source
                )
                _ = order.note(
                    member,
                    seq: 1,
                    PollerPayments.Payment(state: .paid, amountReceived: .max)
                )
                _ = order.take(member, seq: 1)
                #expect(order.summary.payment.amountReceived <= .max)
                _ = order.stored
            }
        case .request:
            guard let json = try? Problem.checkedJSON(bytes),
                let request = try? Problem.reading(WatchRequest.self, json),
                let watch = try? NewWatch(request, for: .local, locator: nil)
            else { return }
            _ = SearchEntries(of: watch, keys: .standard).stored
            #expect(watch.charge.map { ChargeInstruction(json: $0.json) == $0 } ?? true)
        case .archive:
            guard let json = try? Problem.checkedJSON(bytes),
                let archived = try? Self.restored(json)
            else { return }
            for event in archived.events { try follow(event, languages) }
            try followHint(archived)
        }
    }

    /// Returns the watch of a trusted archive line.
    private static func restored(_ line: RawJSON) throws -> ArchivedWatch? {
        let endpoints = EndpointBackend(
            store: MemoryEndpointStore(time: VirtualTime()),
            probe: EndpointProbe(channels: []),
            standardLimit: LaneLimit(ratePerSecond: 0, burst: 1, inFlightMax: 16),
            inline: nil
        )
        return try RestoredLine(
            line,
            for: .local,
            by: .ephemeral,
            isTrusted: true,
            endpoints: endpoints
        ).watch
    }

    private func follow(_ event: PollerWatches.Event, _ languages: [PayerLanguage]) throws {
        let watch = PollerWatches.Watch(
            key: event.key,
            policy: .auto,
            createdAt: Self.now,
            deadline: Self.now,
            run: event.run,
            seq: event.seq
        )
        try PaymentRun(payments: StripePayments(), languages: languages).follow(event, of: watch)
    }

    /// Processes a hint that reopens the watch, and the poll that follows.
    private func followHint(_ archived: ArchivedWatch) throws {
        let watch = archived.watch
        let opened = PollerWatches.Watch(
            key: watch.key,
            policy: watch.policy,
            createdAt: watch.createdAt,
            deadline: watch.deadline,
            run: watch.run + 1,
            seq: watch.seq,
            reopenedSeq: watch.seq,
            endedAs: archived.closed,
            pendingHint: .money,
            hintedAt: Self.now,
            state: watch.state,
            payment: watch.payment
        )
        let object = RawJSON(
            unchecked: #"{"id":"src_1","object":"source","status":"consumed","amount":1}"#
        )
        guard let answer = PaymentRun.answer(watch.key.kind, Array(object.description.utf8)) else {
            return
        }
        var generator = SeededGenerator(seed: 1)
        let context = PollContext(
            opened,
            due: watch.deadline,
            polledAt: Self.now,
            now: Self.now,
            payments: StripePayments()
        )
        let decision = PollDecider().decide(
            context,
            .answer(.observed(answer.observation)),
            using: &generator
        )
        #expect(SearchEntries(after: decision.change).terms.count <= SearchTerm.countMax)
        _ = PollDecider().decide(
            context,
            .answer(.unavailable("", retryAfter: .seconds(Int64.max))),
            using: &generator
        )
        _ = (opened.end, opened.reportedPayment, PollerWire.Watch(archived.snapshot).json)
    }
}

extension WireDocuments {
    /// Returns the unchanged document of a reader.
    func document(_ reader: Reader) -> JSONTree {
        switch reader {
        case .event: event
        case .order: order
        case .request: request
        case .archive: archive(watch, [event])
        }
    }

    /// Whether a reader accepts its unchanged document.
    func isRead(_ reader: Reader) throws -> Bool {
        let text = document(reader).json
        let key = OrderKey(account: .main, order: OrderID(unchecked: "A77"))
        switch reader {
        case .event: return PollerWatches.Event(json: text) != nil
        case .order:
            return PollerWatches.Order(stored: "1 \(text)", key: key, createdAt: Self.now, seq: 1)
                != nil
        case .request:
            let json = try Problem.checkedJSON(Array(text.utf8))
            _ = try NewWatch(
                try Problem.reading(WatchRequest.self, json),
                for: .local,
                locator: nil
            )
            return true
        case .archive:
            let json = try Problem.checkedJSON(Array(text.utf8))
            return try Self.restored(json) != nil
        }
    }
}
