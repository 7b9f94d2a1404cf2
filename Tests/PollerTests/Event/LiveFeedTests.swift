import PollerDeliveries
import PollerIdentity
import PollerTesting
import PollerWatches
import Testing

@Suite("LiveFeed", .timeLimit(.minutes(5)))
struct LiveFeedTests {
    let clock = ManualClock()
    let store: MemoryStore
    let feed: LiveFeed<MemoryStore, ManualClock>

    init() {
        store = MemoryStore(time: ClockTime(clock))
        feed = LiveFeed(outbox: store, clock: clock, logger: Sample.quiet)
    }

    /// Records events of a source, each by a restart and a cancellation.
    func record(_ source: String, times: Int = 1) async throws {
        let key = Sample.key(source)
        for _ in 0..<times {
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await store.cancel(key)
        }
    }

    func seqs(_ items: [FeedItem]) -> [Int] {
        items.compactMap { if case .event(let found) = $0 { found.event.seq } else { nil } }
    }

    @Test("the feed delivers new events in order, without a delay")
    func order() async throws {
        try await record("src_1", times: 3)
        let stream = feed.listen(bufferMax: 1000, to: .everything)
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            try await record("src_1", times: 200)
            var items: [FeedItem] = []
            for await item in stream {
                items.append(item)
                if items.count == 200 { break }
            }
            #expect(seqs(items) == Array(4...203))
        }
        #expect(clock.now == .init(offset: .zero))
    }

    @Test("each subscriber receives the events that match its interest")
    func matching() async throws {
        let one = feed.listen(bufferMax: 10, to: Interest(in: .watch(Sample.key("src_1"))))
        let two = feed.listen(bufferMax: 10, to: Interest(in: .watch(Sample.key("src_2"))))
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            for source in ["src_2", "src_1", "src_2", "src_1"] { try await record(source) }
            for (stream, source) in [(one, "src_1"), (two, "src_2")] {
                var items: [FeedEvent] = []
                for await case .event(let found) in stream {
                    items.append(found)
                    if items.count == 2 { break }
                }
                #expect(items.map(\.event.key) == [Sample.key(source), Sample.key(source)])
                #expect(items.map(\.event.seq) == [1, 2])
            }
        }
    }

    @Test("events without a subscriber are not read, and others arrive in order")
    func unheard() async throws {
        let stream = feed.listen(bufferMax: 10, to: Interest(in: .watch(Sample.key("src_1"))))
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            try await record("src_1")
            for number in 2...50 { try await record("src_\(number)") }
            try await record("src_1")
            var items: [FeedItem] = []
            for await item in stream {
                items.append(item)
                if items.count == 2 { break }
            }
            #expect(seqs(items) == [1, 2])
            #expect(store.eventsRead == 2)
        }
    }

    @Test("events that arrive during the feed's pause are read with one request after it")
    func rests() async throws {
        let rest = Duration.milliseconds(5)
        let feed = LiveFeed(outbox: store, clock: clock, rest: rest, logger: Sample.quiet)
        let follower = Follower()
        feed.follow(follower)
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            let before = store.looksTaken
            try await record("src_1")
            try await eventually("the first is told at once") { follower.seqs.value == [1] }
            for number in 2...9 { try await record("src_\(number)") }
            #expect(store.looksTaken == before + 1)
            try await eventually("the others are told") {
                clock.advance(by: rest)
                return follower.seqs.value.count == 9
            }
            #expect(store.looksTaken == before + 2)
        }
    }

    @Test("a subscriber that leaves has no entries")
    func leaves() async throws {
        for number in 1...50 {
            let watch = Interest(in: .watch(Sample.key("src_\(number)")))
            let streams = [watch, .everything].map { feed.listen(bufferMax: 1, to: $0) }
            #expect(feed.listening.count == 2)
            withExtendedLifetime(streams) {}
        }
        #expect(feed.listening == (0, 0))
    }

    @Test("a slow subscriber is notified of its overflow, and other subscribers miss nothing")
    func overflow() async throws {
        let slow = feed.listen(bufferMax: 5, to: .everything)
        let fast = feed.listen(bufferMax: 100, to: .everything)
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            try await record("src_1", times: 20)
            var all: [FeedItem] = []
            for await item in fast {
                all.append(item)
                if all.count == 20 { break }
            }
            #expect(seqs(all) == Array(1...20))
            var items: [FeedItem] = []
            for await item in slow { items.append(item) }
            #expect(seqs(items) == [1, 2, 3, 4, 5])
            #expect(items.last == .overflowed)
        }
    }

    @Test("every stream ends with the feed, and later subscriptions end at once")
    func ends() async throws {
        let early = feed.listen(bufferMax: 5, to: .everything)
        try await running(feed.run) { await clock.waitForSleepers(1) }
        for await item in early { Issue.record("\(item)") }
        let late = feed.listen(bufferMax: 5, to: .everything)
        for await item in late { Issue.record("\(item)") }
    }

    @Test("a follower receives the feed's position, all later events, and the end")
    func follows() async throws {
        try await record("src_1", times: 2)
        let bounds = try await store.bounds().map(\.newest)
        let (early, late) = (Follower(), Follower())
        feed.follow(early)
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            #expect(early.begun.value == [bounds])
            try await record("src_1", times: 3)
            try await eventually("the first has all") { early.seqs.value == [3, 4, 5] }
            feed.follow(late)
            let now = try await store.bounds().map(\.newest)
            #expect(late.begun.value == [now])
            try await record("src_1")
            try await eventually("both have the last") {
                early.seqs.value == [3, 4, 5, 6] && late.seqs.value == [6]
            }
        }
        let afterwards = Follower()
        feed.follow(afterwards)
        #expect([early, late, afterwards].map(\.ends.value) == [1, 1, 1])
    }

    @Test(
        "unavailable or lagging partitions do not delay events of the others",
        arguments: [false, true]
    )
    func unavailable(isAnswering: Bool) async throws {
        let available = Sample.key("src_1", account: "acct_1")
        let partition = store.partition(of: available.lane)
        let others = (2...).lazy.map { Sample.key("src_1", account: "acct_\($0)") }
        let unavailable = try #require(
            others.first { store.partition(of: $0.lane) != partition }
        )
        let follower = Follower()
        feed.follow(follower)
        func record(_ key: WatchKey) async throws {
            _ = try await store.enqueue([try NewWatch(key: key)])
            _ = try await store.cancel(key)
        }
        func interrupt(_ partitions: Set<Int>) {
            if isAnswering { store.withhold(partitions) } else { store.cutOff(partitions) }
        }
        try await running(feed.run) {
            try await eventually("it has begun") { follower.begun.value.count == 1 }
            interrupt([store.partition(of: unavailable.lane)])
            for key in [unavailable, available] { try await record(key) }
            try await expectReceived([1], "the other partition's event arrives", follower)
            try await record(available)
            try await expectReceived([1, 2], "its next event arrives, too", follower)
            interrupt([])
            try await record(unavailable)
            try await expectReceived([1, 2, 1, 2], "the delayed events arrive in order", follower)
        }
    }

    /// Advances the clock until a follower has received exactly these events.
    private func expectReceived(_ seqs: [Int], _ what: String, _ follower: Follower) async throws {
        try await eventually(what) {
            clock.advance(by: .milliseconds(200))
            return follower.seqs.value == seqs
        }
    }

    @Test("a store outage delays the feed but loses nothing")
    func outage() async throws {
        let plan = FaultPlan()
        let feed = LiveFeed(
            outbox: FaultyStore(store, plan: plan),
            clock: clock,
            logger: Sample.quiet
        )
        let stream = feed.listen(bufferMax: 100, to: .everything)
        try await running(feed.run) {
            await clock.waitForSleepers(1)
            plan.setDown(true)
            try await record("src_1", times: 10)
            try await eventually("the outage is felt") { plan.failures > 0 }
            plan.setDown(false)
            let received = Shared(0)
            let listener = Task {
                var items: [FeedItem] = []
                for await item in stream {
                    items.append(item)
                    received.change { $0 = items.count }
                    if items.count == 10 { break }
                }
                return items
            }
            try await eventually("everything came") {
                clock.advance(by: .milliseconds(200))
                return received.value == 10
            }
            #expect(seqs(await listener.value) == Array(1...10))
        }
    }
}

/// A follower that keeps everything it receives.
private final class Follower: FeedFollower {
    let begun = Shared<[[String]]>([])
    let seqs = Shared<[Int]>([])
    let ends = Shared(0)

    func began(at positions: [String]) { begun.change { $0.append(positions) } }
    func mayMatch(_ references: [OutboxReference]) -> [Bool] { references.map { _ in true } }
    func read(_ batches: [FeedBatch]) {
        seqs.change { $0 += batches.flatMap { $0.events.map(\.event.seq) } }
    }
    func ended() { ends.change { $0 += 1 } }
}
