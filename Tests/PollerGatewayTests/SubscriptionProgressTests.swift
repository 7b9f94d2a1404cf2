import NIOCore
import PollerDeliveries
import PollerIdentity
import PollerTesting
import Testing

@testable import PollerGateway
@testable import PollerWatches

@Suite("The position of a subscription")
struct SubscriptionProgressTests {
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
    private func begun(at positions: [OutboxPosition]) throws -> SubscriptionProgress {
        var progress = SubscriptionProgress(try subscription())
        let from = progress.beginReading()
        #expect(from == nil)
        progress.reached(SubscriptionState(positions: positions))
        return progress
    }

    private static func expect(
        _ event: LiveEvent,
        shouldSendNow: Bool,
        for progress: inout SubscriptionProgress
    ) {
        let found = progress.shouldSendNow(event)
        #expect(found == shouldSendNow)
    }

    /// Ends a catch-up during which no event arrived.
    private static func goLive(_ progress: inout SubscriptionProgress) {
        let kept = progress.goLive()
        #expect(kept?.isEmpty == true)
    }

    @Test("events that arrive during a catch-up follow it, except those that it has read")
    mutating func keeps() throws {
        var progress = try begun(at: at(0, 0))
        let first = entry(0, 5)
        let second = entry(0, 6)
        let third = entry(1, 1)
        for event in [first, second, third] {
            Self.expect(event, shouldSendNow: false, for: &progress)
        }
        // The catch-up has read up to the first event.
        progress.reached(SubscriptionState(positions: at(5, 0)))
        let kept = progress.goLive() ?? []
        #expect(kept.map(\.position.ms) == [5, 6, 1])
        for (event, shouldSendNow) in zip(kept, [false, true, true]) {
            Self.expect(event, shouldSendNow: shouldSendNow, for: &progress)
        }
    }

    @Test("a catch-up with too many kept events is repeated from the position it has reached")
    mutating func overflows() throws {
        var progress = try begun(at: at(4, 0))
        for number in 0...SubscriptionProgress.keptMax {
            Self.expect(entry(0, UInt64(10 + number)), shouldSendNow: false, for: &progress)
        }
        let kept = progress.goLive()
        #expect(kept == nil)
        #expect(progress.isBehind)
        let from = progress.beginReading()
        #expect(from?.positions == at(4, 0))
    }

    @Test(
        "a subscription without room falls behind and gets no events until it has read the outbox"
    )
    mutating func fallsBehind() throws {
        var progress = try begun(at: at(0, 0))
        Self.goLive(&progress)
        let first = entry(0, 5)
        Self.expect(first, shouldSendNow: true, for: &progress)
        let messages = progress.record(first)
        #expect(messages.count == 1)
        let second = entry(1, 7)
        Self.expect(second, shouldSendNow: true, for: &progress)
        progress.fallBehind(at: second.before)
        Self.expect(entry(0, 6), shouldSendNow: false, for: &progress)
        // Events distributed since then do not count, because they were not sent.
        #expect(progress.resumeCursor(positions).positions == at(5, 0))
        let from = progress.beginReading()
        #expect(from?.positions == at(5, 0))
    }

    @Test("a position ahead of the feed is kept until the feed has passed it in every partition")
    mutating func sharesPlaces() throws {
        var progress = try begun(at: at(5, 3))
        Self.goLive(&progress)
        let old = entry(0, 4)
        Self.expect(old, shouldSendNow: false, for: &progress)
        let first = entry(0, 6)
        Self.expect(first, shouldSendNow: true, for: &progress)
        _ = progress.record(first)
        let isFirstShared = progress.isAtFeedPosition(first)
        #expect(!isFirstShared)
        #expect(progress.resumeCursor(positions).positions == at(6, 3))
        let second = entry(1, 4)
        Self.expect(second, shouldSendNow: true, for: &progress)
        _ = progress.record(second)
        let isSecondShared = progress.isAtFeedPosition(second)
        #expect(isSecondShared)
        #expect(progress.resumeCursor(positions).positions == at(6, 4))
    }

    @Test("after lost events, a subscription reads on from its last delivered position")
    mutating func misses() throws {
        var progress = try begun(at: at(0, 0))
        Self.goLive(&progress)
        _ = progress.record(entry(0, 5))
        progress.fallBehind(at: positions)
        #expect(progress.isBehind)
        let from = progress.beginReading()
        #expect(from?.positions == at(5, 0))
        // Falls behind again during the read, so the kept events are incomplete.
        progress.fallBehind(at: positions)
        let kept = progress.goLive()
        #expect(kept == nil)
    }

    @Test("a subscription to every source does not keep the names of ended sources")
    func keepsNoEnds() throws {
        let all = try subscription()
        let named = try subscription(sources: ["src_1", "src_2"])
        var (ofAll, ofNamed) = (SentEvents(), SentEvents())
        for source in ["src_1", "src_2"] {
            let event = Samples.event(source, "consumed", final: true, closed: .settled)
            let messages = ofAll.take(event, all)
            #expect(messages.shouldSend && messages.isSettled)
            _ = ofNamed.take(event, named)
        }
        #expect(ofAll.settled.isEmpty)
        #expect(ofNamed.settled.count == 2)
    }

    @Test("an event is encoded once for all subscriptions with the same variant")
    mutating func sharesBytes() {
        let event = entry(0, 5)
        let variant = LiveEvent.MessageVariant(sub: "s1", scope: "*", view: .full, isMarked: false)
        let other = LiveEvent.MessageVariant(sub: "s2", scope: "*", view: .full, isMarked: false)
        var made = 0
        let texts = [variant, variant, other, variant].map { variant in
            event.data(variant) {
                made += 1
                return "text \(variant.sub ?? "")"
            }
        }
        #expect(made == 2)
        #expect(texts.map { String(buffer: $0) } == ["text s1", "text s1", "text s2", "text s1"])
    }
}
