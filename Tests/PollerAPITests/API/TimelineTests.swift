import Poller
import PollerTesting
import PollerWire
import Testing

@testable import PollerAPI

@Suite("the story of a payment")
struct TimelineTests {
    private let key = WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source)

    /// What is told of notes to somebody who may see some accounts.
    private func told(_ notes: [WatchNote], to accounts: AccountSet) async throws -> [String] {
        let store = MemoryStore(time: ClockTime(ContinuousClock()))
        _ = try await store.enqueue([try NewWatch(key: key)])
        for note in notes { try await store.note(note, of: key) }
        let watch: WatchSnapshot = try #require(try await store.snapshot(of: key))
        let kept = try await store.notes(of: key)
        let story = Timeline(watch: watch, events: [], notes: kept, told: [], accounts: accounts)
        return story.entries.filter { $0.kind.known == .deed }.map(\.text)
    }

    @Test("who may see one account is told no name of a key of others")
    func names() async throws {
        let actors = [
            AuditActor(name: "everywhere"),
            AuditActor(name: "two", accounts: .some([.main, AccountID(unchecked: "acme")])),
            AuditActor(name: "ours", accounts: .some([.main])),
        ]
        let notes = actors.map { WatchNote(deed: "pollWatch", by: $0, of: key) }
        #expect(
            try await told(notes, to: .some([.main])) == [
                "another key asked for a look.", "another key asked for a look.",
                "ours asked for a look.",
            ]
        )
        #expect(
            try await told(notes, to: .all) == [
                "everywhere asked for a look.", "two asked for a look.", "ours asked for a look.",
            ]
        )
    }

    private func at(_ seconds: Int64) -> Timestamp { Timestamp(ms: seconds * 1000) }

    /// What one look of a watch that is closed has seen of the money.
    private func event(_ seq: Int, at seconds: Int64, _ state: PaymentState) -> Poller.Event {
        let watch = Watch(
            key: key,
            policy: .interactive,
            createdAt: at(0),
            deadline: at(3600),
            run: 1,
            seq: seq - 1
        )
        return Poller.Event(
            watch,
            of: .payment(state),
            status: SourceStatus(unchecked: "consumed"),
            final: true,
            payment: Payment(state: state),
            polledAt: at(seconds)
        )
    }

    /// The story of a watch that was followed again after a minute.
    private func story(_ events: [Poller.Event], notes: [KeptNote] = []) -> [String] {
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
        let story = Timeline(
            watch: snapshot,
            events: events,
            notes: notes,
            told: [],
            accounts: .all
        )
        return story.entries.map(\.text)
    }

    @Test("the story begins with the shop, and says once that nothing more is looked at")
    func followedAgain() {
        let events = [event(1, at: 10, .paid), event(2, at: 61, .partiallyRefunded)]
        let told = story(events)
        #expect(
            told == [
                "The shop asked for this payment to be watched.", "The money has arrived.",
                "It is followed again, because the upstream told of something.",
                "A part of the money has gone back to the customer. "
                    + "It is not polled any more; refunds and disputes are still told.",
            ]
        )
        let disputed = story([event(1, at: 10, .paid), event(2, at: 61, .disputed)])
        #expect(disputed.last == "The customer disputes the payment at the bank.")
    }

    @Test("what the upstream has told stands before what it has caused")
    func causes() {
        let hint = KeptNote(
            at: Timestamp(ms: 61_500),
            note: WatchNote(.hint, "charge.refunded", by: WatchNote.list)
        )
        let told = story([event(1, at: 10, .paid), event(2, at: 61, .refunded)], notes: [hint])
        #expect(
            told == [
                "The shop asked for this payment to be watched.", "The money has arrived.",
                "The upstream told of “charge.refunded”, so it was looked at.",
                "The money has gone back to the customer.",
            ]
        )
    }

    /// The story of a watch whose deadline has passed.
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
        let event = Poller.Event(
            watch,
            status: status,
            final: true,
            closed: .expired,
            polledAt: at(61)
        )
        let snapshot = WatchSnapshot(watch, closed: .expired, lastError: error, lastEvent: event)
        let story = Timeline(
            watch: snapshot,
            events: [event],
            notes: [],
            told: [],
            accounts: .all
        )
        return try #require(story.entries.last { $0.kind.known == .change })
    }

    @Test("that nobody has paid is said only of what could be seen")
    func blind() throws {
        let refused = try expired(
            status: nil,
            error: "credentials refused: no such permission (403)"
        )
        #expect(
            refused.text.hasPrefix(
                "We could not find out whether it was paid: every look was refused "
                    + "(no such permission (403))."
            ),
            "\(refused.text)"
        )
        #expect(refused.tone?.known == .bad)
        let late = try expired(status: "pending", error: "timeout")
        #expect(late.text.contains("whether it was paid: the last look failed (timeout)."))
        let seen = try expired(status: "pending", error: nil)
        #expect(seen.text.contains("Nobody has paid in time"), "\(seen.text)")
        #expect(seen.tone?.known != .bad)
    }

    @Test("who is still to be told and is held up stands at the end")
    func ahead() throws {
        let endpoint = EndpointID(account: .main, url: "https://shop.example/hook")
        let url = try NotifyURL("https://shop.example/hook")
        func last(_ place: DeliverySnapshot.Place, isDisabled: Bool) throws -> TimelineEntry? {
            let delivery = Delivery(
                endpoint: endpoint,
                url: nil,
                watch: key,
                state: DeliveryState()
            )
            let told = Timeline.Told(
                DeliverySnapshot(
                    id: DeliveryID(
                        partition: 0,
                        item: Delivery.id(endpoint: endpoint, watch: key)
                    ),
                    delivery: delivery,
                    place: place,
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
                told: [told],
                accounts: .all
            ).entries.last { $0.kind.known == .ahead }
        }
        let waits = DeliverySnapshot.Place.waiting(due: at(10))
        let held = try #require(try last(waits, isDisabled: true))
        #expect(held.text == "Shop is disabled and told nothing.")
        #expect(held.endpoint == endpoint.description)
        #expect(try last(waits, isDisabled: false) == nil, "what goes its way needs no word")
        #expect(try last(.resting, isDisabled: true) == nil, "nothing is left to tell")
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
        let told = Timeline.Told(
            DeliverySnapshot(
                id: DeliveryID(partition: 0, item: Delivery.id(endpoint: endpoint, watch: key)),
                delivery: delivery,
                place: .resting,
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
        let story = Timeline(
            watch: snapshot,
            events: events,
            notes: [],
            told: [told],
            accounts: .all
        )
        let deliveries = story.entries.filter { $0.kind.known == .delivery }
        #expect(deliveries.map(\.seq) == [1, 2])
        #expect(deliveries.map { $0.payment?.rawValue } == ["paid", "refunded"])
        #expect(story.entries.filter { $0.kind.known != .delivery }.allSatisfy { $0.seq == nil })
    }

    @Test("a note of a later release is passed over")
    func strangers() {
        #expect(WatchNote(json: #"{"kind":"seance","what":"x"}"#) == nil)
        let note = WatchNote(.hint, "a.b", by: WatchNote.list)
        #expect(WatchNote(json: note.json) == note)
    }

    @Test("words make sentences, and commands stay commands")
    func sentences() {
        #expect(StoryWords.sentence("no answer") == "No answer.")
        #expect(StoryWords.sentence("Done!") == "Done!")
        #expect(StoryWords.sentence("pollerctl lane resume x") == "pollerctl lane resume x.")
        #expect(StoryWords.sentence("") == "")
    }
}
