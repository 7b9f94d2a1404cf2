import NIOCore
import Poller
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerGateway

@Suite("The position of a subscription")
struct FollowingTests {
    /// The feed's position.
    private var positions = [OutboxPosition](repeating: .start, count: 2)
    private let principal = Principal(name: "all", accounts: .all)

    /// Returns the next entry of a partition, recorded at this ms.
    private mutating func entry(_ partition: Int, _ n: UInt64) -> LiveEvent {
        let event = Samples.event()
        return LiveEvent(
            FeedEvent(
                OutboxReference(
                    id: "\(n)-0",
                    partition: partition,
                    item: event.key.id,
                    lane: nil,
                    seq: 1
                ),
                event
            ),
            at: OutboxPosition(ms: n, n: 0),
            of: &positions
        )
    }

    private func subscription(sources: [String]? = nil) throws -> Subscription {
        try Subscription(
            id: "s1",
            account: nil,
            sources: sources,
            types: nil,
            from: .now,
            principal: principal,
            limits: .standard
        )
    }

    private func at(_ first: UInt64, _ second: UInt64) -> [OutboxPosition] {
        [first, second].map { $0 == 0 ? .start : OutboxPosition(ms: $0, n: 0) }
    }

    /// Returns a subscription that began with the outbox ending at these positions.
    private func begun(at positions: [OutboxPosition]) throws -> Following {
        var following = Following(try subscription())
        let from = following.beginReading()
        #expect(from == nil)
        following.reached(SubscriptionState(positions: positions))
        return following
    }

    private static func expect(_ event: LiveEvent, isNews: Bool, for following: inout Following) {
        let found = following.isNews(event)
        #expect(found == isNews)
    }

    /// Ends a catch-up during which no event arrived.
    private static func goLive(_ following: inout Following) {
        let kept = following.goLive()
        #expect(kept?.isEmpty == true)
    }

    @Test("events that arrive during a catch-up follow it, except those that it has read")
    mutating func keeps() throws {
        var following = try begun(at: at(0, 0))
        let first = entry(0, 5)
        let second = entry(0, 6)
        let third = entry(1, 1)
        for event in [first, second, third] { Self.expect(event, isNews: false, for: &following) }
        // The catch-up has read up to the first event.
        following.reached(SubscriptionState(positions: at(5, 0)))
        let kept = following.goLive() ?? []
        #expect(kept.map(\.position.ms) == [5, 6, 1])
        for (event, isNews) in zip(kept, [false, true, true]) {
            Self.expect(event, isNews: isNews, for: &following)
        }
    }

    @Test("a catch-up with too many kept events is repeated from the position it has reached")
    mutating func overflows() throws {
        var following = try begun(at: at(4, 0))
        for number in 0...Following.keptMax {
            Self.expect(entry(0, UInt64(10 + number)), isNews: false, for: &following)
        }
        let kept = following.goLive()
        #expect(kept == nil)
        #expect(following.isBehind)
        let from = following.beginReading()
        #expect(from?.positions == at(4, 0))
    }

    @Test(
        "a subscription without room falls behind and gets no events until it has read the outbox"
    )
    mutating func fallsBehind() throws {
        var following = try begun(at: at(0, 0))
        Self.goLive(&following)
        let first = entry(0, 5)
        Self.expect(first, isNews: true, for: &following)
        let tellings = following.tell(first)
        #expect(tellings.count == 1)
        let second = entry(1, 7)
        Self.expect(second, isNews: true, for: &following)
        following.fallBehind(at: second.before)
        Self.expect(entry(0, 6), isNews: false, for: &following)
        // Events distributed since then do not count, because they were not sent.
        #expect(following.place(positions).positions == at(5, 0))
        let from = following.beginReading()
        #expect(from?.positions == at(5, 0))
    }

    @Test("a position ahead of the feed is kept until the feed has passed it in every partition")
    mutating func sharesPlaces() throws {
        var following = try begun(at: at(5, 3))
        Self.goLive(&following)
        let old = entry(0, 4)
        Self.expect(old, isNews: false, for: &following)
        let first = entry(0, 6)
        Self.expect(first, isNews: true, for: &following)
        _ = following.tell(first)
        let isFirstShared = following.isShared(first)
        #expect(!isFirstShared)
        #expect(following.place(positions).positions == at(6, 3))
        let second = entry(1, 4)
        Self.expect(second, isNews: true, for: &following)
        _ = following.tell(second)
        let isSecondShared = following.isShared(second)
        #expect(isSecondShared)
        #expect(following.place(positions).positions == at(6, 4))
    }

    @Test("after lost events, a subscription reads on from its last delivered position")
    mutating func misses() throws {
        var following = try begun(at: at(0, 0))
        Self.goLive(&following)
        _ = following.tell(entry(0, 5))
        following.fallBehind(at: positions)
        #expect(following.isBehind)
        let from = following.beginReading()
        #expect(from?.positions == at(5, 0))
        // Falls behind again during the read, so the kept events are incomplete.
        following.fallBehind(at: positions)
        let kept = following.goLive()
        #expect(kept == nil)
    }

    @Test("an event is encoded once for all subscriptions with the same wording")
    mutating func sharesBytes() {
        let event = entry(0, 5)
        let wording = LiveEvent.Wording(sub: "s1", scope: "*", view: .full, isMarked: false)
        let other = LiveEvent.Wording(sub: "s2", scope: "*", view: .full, isMarked: false)
        var made = 0
        let texts = [wording, wording, other, wording].map { wording in
            event.data(wording) {
                made += 1
                return "text \(wording.sub ?? "")"
            }
        }
        #expect(made == 2)
        #expect(texts.map { String(buffer: $0) } == ["text s1", "text s1", "text s2", "text s1"])
    }
}
