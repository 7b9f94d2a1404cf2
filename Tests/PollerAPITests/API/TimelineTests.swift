import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerPayments
import PollerTesting
import PollerWatches
import PollerWire
import Testing

@testable import PollerAPI

@Suite("Timeline of a payment")
struct TimelineTests {
    private let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)

    /// Returns the sentences of the notes for a reader with access to these accounts.
    private func actions(_ notes: [WatchNote], to accounts: AccountSet) async throws -> [String] {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        _ = try await store.enqueue([try NewWatch(key: key)])
        for note in notes { try await store.note(note, of: key) }
        let watch: WatchSnapshot = try #require(try await store.snapshot(of: key))
        let kept = try await store.notes(of: key)
        let timeline = Timeline(
            watch: watch,
            events: [],
            notes: kept,
            recipients: [],
            accounts: accounts
        )
        return timeline.entries.filter { $0.kind.known == .deed }.map(\.text)
    }

    @Test("a reader of one account does not see the names of other accounts' keys")
    func names() async throws {
        let actors = [
            AuditActor(name: "everywhere"),
            AuditActor(name: "two", accounts: .some([.main, AccountID(unchecked: "acme")])),
            AuditActor(name: "ours", accounts: .some([.main])),
        ]
        let notes = actors.map { WatchNote(deed: "pollWatch", by: $0, of: key) }
        #expect(
            try await actions(notes, to: .some([.main])) == [
                "another key requested a poll.", "another key requested a poll.",
                "ours requested a poll.",
            ]
        )
        #expect(
            try await actions(notes, to: .all) == [
                "everywhere requested a poll.", "two requested a poll.", "ours requested a poll.",
            ]
        )
    }

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(ms: seconds * 1000) }

    /// Returns an event with this payment state of a closed watch.
    private func event(_ seq: Int, at seconds: Int64, _ state: PaymentState) -> PollerWatches.Event
    {
        let watch = Watch(
            key: key,
            policy: .interactive,
            createdAt: at(0),
            deadline: at(3600),
            run: 1,
            seq: seq - 1
        )
        return PollerWatches.Event(
            watch,
            of: .payment(state),
            status: SourceStatus(unchecked: "consumed"),
            final: true,
            payment: Payment(state: state),
            polledAt: at(seconds)
        )
    }

    /// Returns the sentences of a watch that was reopened after a minute.
    private func timeline(_ events: [PollerWatches.Event], notes: [StoredNote] = []) -> [String] {
        let watch = Watch(
            key: key,
            policy: .interactive,
            createdAt: at(60),
            deadline: at(3600),
            run: 2,
            seq: events.count,
            reopenedSeq: 1
        )
        let snapshot = WatchSnapshot(watch, closed: .settled, lastEvent: events.last)
        let timeline = Timeline(
            watch: snapshot,
            events: events,
            notes: notes,
            recipients: [],
            accounts: .all
        )
        return timeline.entries.map(\.text)
    }

    @Test("the timeline begins with the shop and says once that polling has stopped")
    func followedAgain() {
        let events = [event(1, at: 10, .paid), event(2, at: 61, .partiallyRefunded)]
        let rows = timeline(events)
        #expect(
            rows == [
                "The shop started watching this payment.", "The money has arrived.",
                "An upstream event reopened the watch.",
                "Part of the payment was returned to the customer. "
                    + "Polling has stopped. Refunds and disputes are still reported.",
            ]
        )
        let partlyLost = PollerPayments.Payment(
            state: .partiallyRefunded,
            amount: 1000,
            amountReceived: 1000,
            amountReturned: 300,
            currency: "eur",
            reason: .disputeLost
        )
        // The sum includes the shop's refunds.
        let sentence = TimelineText.sentence(partlyLost)
        #expect(sentence == "€3.00 was returned to the customer. Reason: dispute lost.")
        let disputed = timeline([event(1, at: 10, .paid), event(2, at: 61, .disputed)])
        #expect(disputed.last == "The customer disputed the payment with their bank.")
    }

    @Test("a hint is listed before the change it triggered")
    func causes() {
        let hint = StoredNote(
            at: Timestamp(ms: 61_500),
            note: WatchNote(.hint, "charge.refunded", by: WatchNote.list)
        )
        let rows = timeline([event(1, at: 10, .paid), event(2, at: 61, .refunded)], notes: [hint])
        #expect(
            rows == [
                "The shop started watching this payment.", "The money has arrived.",
                "The upstream event “charge.refunded” triggered a poll.",
                "The payment was refunded to the customer.",
            ]
        )
    }

    /// Returns the last change of a watch whose deadline has passed.
    private func expired(status: String?, error: String?) throws -> TimelineEntry {
        let status = status.map { SourceStatus(unchecked: $0) }
        let watch = Watch(
            key: key,
            policy: .interactive,
            createdAt: at(0),
            deadline: at(60),
            run: 1,
            seq: 0
        )
        let event = PollerWatches.Event(
            watch,
            status: status,
            final: true,
            closed: .expired,
            polledAt: at(61)
        )
        let snapshot = WatchSnapshot(watch, closed: .expired, lastError: error, lastEvent: event)
        let timeline = Timeline(
            watch: snapshot,
            events: [event],
            notes: [],
            recipients: [],
            accounts: .all
        )
        return try #require(timeline.entries.last { $0.kind.known == .change })
    }

    @Test("only a successful poll reports that the customer did not pay")
    func blind() throws {
        let refused = try expired(
            status: nil,
            error: "credentials refused: no such permission (403)"
        )
        #expect(
            refused.text.hasPrefix(
                "We could not find out whether it was paid: every poll was refused "
                    + "(no such permission (403))."
            ),
            "\(refused.text)"
        )
        #expect(refused.tone?.known == .bad)
        let late = try expired(status: "pending", error: "timeout")
        #expect(late.text.contains("whether it was paid: the last poll failed (timeout)."))
        let seen = try expired(status: "pending", error: nil)
        #expect(seen.text.contains("The customer did not pay in time"), "\(seen.text)")
        #expect(seen.tone?.known != .bad)
    }

    @Test("delayed deliveries are listed at the end")
    func ahead() throws {
        let endpoint = EndpointID(account: .main, url: "https://shop.example/hook")
        let url = try NotifyURL("https://shop.example/hook")
        func last(
            _ queueState: DeliverySnapshot.QueueState,
            isDisabled: Bool
        ) throws -> TimelineEntry? {
            let delivery = Delivery(
                endpoint: endpoint,
                url: nil,
                watch: key,
                state: DeliveryState()
            )
            let recipient = Timeline.Recipient(
                DeliverySnapshot(
                    id: DeliveryID(
                        partition: 0,
                        item: Delivery.id(endpoint: endpoint, watch: key)
                    ),
                    delivery: delivery,
                    queueState: queueState,
                    lastError: nil
                ),
                [],
                Receiver(id: endpoint, name: "Shop", url: url, isDisabled: isDisabled)
            )
            let watch = Watch(
                key: key,
                policy: .interactive,
                createdAt: at(0),
                deadline: at(60),
                run: 1,
                seq: 0
            )
            let snapshot = WatchSnapshot(watch)
            return Timeline(
                watch: snapshot,
                events: [],
                notes: [],
                recipients: [recipient],
                accounts: .all
            ).entries.last { $0.kind.known == .ahead }
        }
        let waits = DeliverySnapshot.QueueState.waiting(due: at(10))
        let held = try #require(try last(waits, isDisabled: true))
        #expect(held.text == "Shop is disabled and receives no events.")
        #expect(held.endpoint == endpoint.description)
        #expect(try last(waits, isDisabled: false) == nil, "a delivery on schedule has no entry")
        #expect(try last(.resting, isDisabled: true) == nil, "no event is pending")
    }

    @Test("a delivery has its event, and the payment state as of that event")
    func statesOfDeliveries() throws {
        let endpoint = EndpointID(account: .main, url: "https://shop.example/hook")
        let events = [event(1, at: 10, .paid), event(2, at: 61, .refunded)]
        let state = DeliveryState(cursor: 2, attempts: 2)
        let delivery = Delivery(endpoint: endpoint, url: nil, watch: key, state: state)
        let attempts = events.map {
            AttemptRecord(at: $0.polledAt, event: $0, number: 1, result: .delivered)
        }
        let recipient = Timeline.Recipient(
            DeliverySnapshot(
                id: DeliveryID(partition: 0, item: Delivery.id(endpoint: endpoint, watch: key)),
                delivery: delivery,
                queueState: .resting,
                lastError: nil
            ),
            attempts,
            Receiver(
                id: endpoint,
                name: "Shop",
                url: try NotifyURL("https://shop.example/hook"),
                isDisabled: false
            )
        )
        let watch = Watch(
            key: key,
            policy: .interactive,
            createdAt: at(0),
            deadline: at(3600),
            run: 1,
            seq: 2
        )
        let snapshot = WatchSnapshot(watch, closed: .settled, lastEvent: events.last)
        let timeline = Timeline(
            watch: snapshot,
            events: events,
            notes: [],
            recipients: [recipient],
            accounts: .all
        )
        let deliveries = timeline.entries.filter { $0.kind.known == .delivery }
        #expect(deliveries.map(\.seq) == [1, 2])
        #expect(deliveries.map { $0.payment?.rawValue } == ["paid", "refunded"])
        #expect(timeline.entries.filter { $0.kind.known != .delivery }.allSatisfy { $0.seq == nil })
    }

    @Test("a note of a later release is ignored")
    func strangers() {
        #expect(WatchNote(json: #"{"kind":"seance","what":"x"}"#) == nil)
        let note = WatchNote(.hint, "a.b", by: WatchNote.list)
        #expect(WatchNote(json: note.json) == note)
    }

    @Test("sentences start with a capital letter, except commands")
    func sentences() {
        #expect(TimelineText.sentence("no answer") == "No answer.")
        #expect(TimelineText.sentence("Done!") == "Done!")
        #expect(TimelineText.sentence("pollerctl lane resume x") == "pollerctl lane resume x.")
        #expect(TimelineText.sentence("") == "")
    }
}
