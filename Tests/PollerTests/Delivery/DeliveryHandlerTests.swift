import PollerDeliveries
import PollerIdentity
import PollerPayments
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@Suite("DeliveryHandler", .timeLimit(.minutes(5)))
struct DeliveryHandlerTests {
    var store = MemoryStore(time: VirtualTime())
    let key = Sample.key()

    func record(_ statuses: [String]) async throws {
        _ = try await store.enqueue([try NewWatch(key: key)])
        for status in statuses {
            let lease = try #require(try await claim())
            let event = Event(
                lease.item,
                status: SourceStatus(unchecked: status),
                polledAt: lease.claimedAt
            )
            let change = WatchChange(state: WatchState(status: event.status), event: event)
            _ = try await store.commit([
                Commit(ref: lease.ref, verdict: .next(after: .zero), change: change)
            ])
        }
    }

    /// Returns the digest that a delivery stores of its last delivered event.
    func digest(_ seq: Int) async throws -> String? {
        try await store.events(of: key, after: seq - 1, limit: 1).first?.digest
    }

    func claim() async throws -> Lease<Watch>? {
        try await store.claim(
            ClaimRequest(partition: store.partition(of: key.lane), limit: 1)
        ).leases.first
    }

    func handle(
        _ channel: RecordingChannel,
        _ state: DeliveryState = DeliveryState(),
        url: String = "https://a.example/hook",
        crashes: Int = 0
    ) async throws -> Decision<DeliveryChange>? {
        let handler = DeliveryHandler(store: store, channels: [channel], logger: Sample.quiet)
        return await handler.handle(try leased(state, url: url, crashes: crashes))
    }

    func leased(
        _ state: DeliveryState,
        of key: WatchKey = Sample.key(),
        url: String,
        crashes: Int = 0
    ) throws -> LeasedItem<Delivery> {
        let url = try NotifyURL(url)
        let endpoint = EndpointID(account: key.account, url: url.description)
        let now = VirtualTime.start
        return LeasedItem(
            lease: Lease(
                ref: LeaseRef(
                    id: Delivery.id(endpoint: endpoint, watch: key),
                    partition: 0,
                    token: 1,
                    owner: Sample.owner
                ),
                item: Delivery(endpoint: endpoint, url: url, watch: key, state: state),
                lane: LaneID(endpoint: endpoint),
                due: now,
                claimedAt: now,
                endsAt: now + .seconds(30),
                crashes: crashes
            ),
            elapsed: { .zero }
        )
    }

    @Test("a superseding channel sends only the newest failed event, but every untried event")
    func superseded() async throws {
        try await record(["a", "b", "c"])
        let mail = RecordingChannel(isSuperseding: true)
        _ = try await handle(mail, DeliveryState())
        #expect(mail.attempts.map(\.event.seq) == [1])
        let failed = DeliveryState(failures: 1, failedSince: VirtualTime.start)
        let done = try #require(try await handle(mail, failed))
        #expect(mail.attempts.map(\.event.seq) == [1, 3])
        #expect(done.change.state.cursor == 3 && done.verdict == .rest)
        let hook = RecordingChannel()
        _ = try await handle(hook, failed)
        #expect(hook.attempts.map(\.event.seq) == [1])
        // A local error, which is not counted, delayed the oldest one.
        let late = RecordingChannel(isSuperseding: true)
        _ = try await handle(late, DeliveryState(failedSince: VirtualTime.start))
        #expect(late.attempts.map(\.event.seq) == [3])
    }

    @Test("the handler delivers the event after the cursor and advances the cursor")
    func next() async throws {
        try await record(["a", "b", "c"])
        let channel = RecordingChannel()
        let state = DeliveryState(cursor: 1, failures: 2, attempts: 5)
        let done = try #require(try await handle(channel, state))
        #expect(channel.attempts.map(\.event.seq) == [2])
        #expect(channel.attempts.map(\.number) == [3])
        let cursorDigest = try await digest(2)
        #expect(
            done.change.state == DeliveryState(cursor: 2, attempts: 6, cursorDigest: cursorDigest)
        )
        #expect(done.verdict == .next(after: .zero))
        let last = try #require(try await handle(channel, done.change.state))
        #expect(last.change.state.cursor == 3)
        #expect(last.verdict == .rest)
    }

    @Test("a delivery without pending events rests")
    func nothing() async throws {
        try await record(["a"])
        let channel = RecordingChannel()
        let done = try #require(try await handle(channel, DeliveryState(cursor: 1)))
        #expect(done.verdict == .rest)
        #expect(done.change.state == DeliveryState(cursor: 1))
        #expect(channel.attempts.isEmpty)
    }

    @Test("a failed extra attempt uses no step of the schedule")
    func extraAttempt() async throws {
        try await record(["a"])
        let channel = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(10)]))
        channel.script([.failed("503", after: nil)])
        let retryAt = VirtualTime.start + .seconds(3600)
        let waiting = DeliveryState(failures: 1, attempts: 1, retryAt: retryAt)
        let done = try #require(try await handle(channel, waiting))
        // A regular second failure would have used the schedule's only wait.
        #expect(done.change.state.failures == 1 && done.change.state.retryAt == retryAt)
        guard case .next(let wait) = done.verdict else { return fail("\(done.verdict)") }
        #expect(wait > .seconds(3500) && wait <= .seconds(3600))
    }

    @Test("a failed attempt is repeated by the channel's schedule")
    func fails() async throws {
        try await record(["a"])
        let channel = RecordingChannel(
            schedule: RetrySchedule(waits: [.seconds(10), .seconds(60)])
        )
        channel.script([.failed("503", after: nil)])
        let done = try #require(try await handle(channel))
        #expect(done.change.state.cursor == 0 && done.change.state.failures == 1)
        #expect(done.change.state.retryAt != nil)
        #expect(done.change.lastError == "503")
        guard case .next(let wait) = done.verdict else { return fail("\(done.verdict)") }
        #expect(wait >= .seconds(8) && wait <= .seconds(12))
    }

    @Test(
        "the receiver may request a longer wait, up to an hour",
        arguments: [
            (Duration.seconds(300), Duration.seconds(300)), (.seconds(9999), .seconds(3600)),
        ]
    )
    func retryAfter(_ retryAfter: Duration, _ wanted: Duration) async throws {
        try await record(["a"])
        let channel = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(10)]))
        channel.script([.failed("429", after: retryAfter)])
        #expect(try await handle(channel)?.verdict == .next(after: wanted))
    }

    @Test("after the last attempt the event is dead-lettered and the next one is delivered")
    func givesUp() async throws {
        try await record(["a", "b"])
        let channel = RecordingChannel(schedule: RetrySchedule(waits: [.seconds(1)]))
        channel.script([.failed("500", after: nil)])
        let state = DeliveryState(cursor: 0, failures: 1, attempts: 1)
        let done = try #require(try await handle(channel, state))
        let cursorDigest = try await digest(1)
        #expect(
            done.change.state
                == DeliveryState(cursor: 1, attempts: 2, dead: [1], cursorDigest: cursorDigest)
        )
        #expect(done.verdict == .next(after: .zero))
        #expect(done.change.lastError == "500")
    }

    @Test("a retried dead letter is sent first with its original ID, and then the next event")
    func again() async throws {
        try await record(["a", "b", "c"])
        let channel = RecordingChannel()
        let state = DeliveryState(cursor: 2, attempts: 9, dead: [1], again: [1])
        let done = try #require(try await handle(channel, state))
        #expect(channel.attempts.map(\.event.seq) == [1])
        #expect(done.change.state == DeliveryState(cursor: 2, attempts: 10))
        #expect(done.verdict == .next(after: .zero))
        let events = try await store.events(of: key, after: 0, limit: 9)
        #expect(channel.attempts.first?.event.id == events.first?.id)
        _ = try await handle(channel, done.change.state)
        #expect(channel.attempts.map(\.event.seq) == [1, 3])
    }

    @Test("a dead letter that is no longer in the log is forgotten")
    func againGone() async throws {
        try await record(["a"])
        let channel = RecordingChannel()
        let done = try #require(
            try await handle(channel, DeliveryState(cursor: 1, dead: [7], again: [7]))
        )
        #expect(done.change.state == DeliveryState(cursor: 1))
        #expect(channel.attempts.isEmpty && done.verdict == .next(after: .zero))
    }

    @Test("every attempt is recorded with its details")
    func recorded() async throws {
        try await record(["a"])
        let channel = RecordingChannel()
        var answer = AttemptResult.failed("answered 503", code: 503)
        answer.address = "192.0.2.1:443"
        answer.excerpt = "busy"
        channel.script([answer])
        let done = try #require(try await handle(channel, DeliveryState(failures: 1)))
        let attempt = try #require(done.change.attempt)
        #expect(attempt.seq == 1 && attempt.number == 2 && attempt.outcome == .failed)
        #expect(attempt.kind == .serverError && attempt.code == 503)
        #expect(attempt.address == "192.0.2.1:443" && attempt.excerpt == "busy")
        #expect(attempt.at == VirtualTime.start)
        #expect(done.signal == .erring)
    }

    @Test("events that the channel does not want are skipped in one run of the handler")
    func unwanted() async throws {
        try await record((1...40).map { $0 == 40 ? "chargeable" : "s\($0)" })
        let channel = RecordingChannel { $0.status?.description == "chargeable" }
        let first = try #require(try await handle(channel))
        #expect(first.change.state == DeliveryState(cursor: 32, cursorDigest: try await digest(32)))
        #expect(first.verdict == .next(after: .zero))
        #expect(first.signal == .hold(.zero), "it is no answer of the receiver")
        let second = try #require(try await handle(channel, first.change.state))
        #expect(channel.attempts.map(\.event.seq) == [40])
        #expect(second.change.state.cursor == 40)
        #expect(second.verdict == .rest)
    }

    @Test("a delivery without a channel for its scheme waits longer each time, for other notifiers")
    func noChannel() async throws {
        try await record(["a", "b"])
        var state = DeliveryState()
        var waits: [Duration] = []
        while state.dead.isEmpty, waits.count < 100 {
            let done = try #require(
                try await handle(RecordingChannel(), state, url: "mailto:a@b.example")
            )
            #expect(done.prefersOtherProcesses)
            // This result is no evidence about the recipient's relay.
            #expect(done.signal == .hold(.zero))
            #expect(done.change.attempt?.kind == .local)
            #expect(done.change.lastError?.contains("mailto") == true)
            state = done.change.state
            // Each run starts as if the wait had passed.
            if case .next(let wait) = done.verdict, state.dead.isEmpty { waits.append(wait) }
            state = DeliveryState(
                cursor: state.cursor,
                failures: state.failures,
                attempts: state.attempts,
                failedSince: state.failedSince,
                dead: state.dead
            )
        }
        #expect(waits.count == 12 && waits.last ?? .zero > .seconds(60_000), "\(waits)")
        // The newest event replaced the older one. It can be retried once there is a channel.
        #expect(state == DeliveryState(cursor: 2, attempts: 13, dead: [2]))
        let mail = RecordingChannel(schemes: ["mailto"])
        state.revive()
        _ = try await handle(mail, state, url: "mailto:a@b.example")
        #expect(mail.attempts.map(\.event.seq) == [2])
    }

    @Test("if another event has the last delivered seq, it and all later events are delivered")
    func equalSeq() async throws {
        try await record(["a", "b"])
        let channel = RecordingChannel()
        let cursorDigest = try #require(try await digest(2))
        let same = try #require(
            try await handle(channel, DeliveryState(cursor: 2, cursorDigest: cursorDigest))
        )
        #expect(same.verdict == .rest && channel.attempts.isEmpty)
        // A failover lost the second event, and the next recorded event got its seq.
        let lost = DeliveryState(
            cursor: 2,
            attempts: 2,
            escalated: 2,
            dead: [2],
            cursorDigest: "AAAAAA"
        )
        let back = try #require(try await handle(channel, lost))
        #expect(back.change.state == DeliveryState(cursor: 1, attempts: 2, escalated: 1))
        #expect(back.verdict == .next(after: .zero))
        let done = try #require(try await handle(channel, back.change.state))
        #expect(channel.attempts.map(\.event.seq) == [2])
        #expect(
            done.change.state
                == DeliveryState(
                    cursor: 2,
                    attempts: 3,
                    escalated: 1,
                    cursorDigest: cursorDigest
                )
        )
        // After a rewind the last delivered event is unknown.
        let rewound = try #require(try await handle(channel, DeliveryState(cursor: 2)))
        #expect(rewound.verdict == .rest && channel.attempts.count == 1)
    }

    @Test("reading an unavailable log is retried after a second")
    func unreadable() async throws {
        let plan = FaultPlan()
        plan.setDown(true)
        let handler = DeliveryHandler(
            store: FaultyStore(store, plan: plan),
            channels: [RecordingChannel()],
            logger: Sample.quiet
        )
        let done = await handler.handle(try leased(DeliveryState(cursor: 3), url: "https://a.b/"))
        #expect(done?.verdict == .next(after: .seconds(1)))
        #expect(done?.change.state == DeliveryState(cursor: 3))
        #expect(done?.signal == .hold(.zero), "it is no answer of the receiver")
    }

    @Test("a delivery rests only if it knows that a failover has lost no event")
    func unreadableWatch() async throws {
        try await record(["a"])
        let plan = FaultPlan()
        // The log after the cursor is empty, and the read of the watch fails.
        plan.fail(.read, [.refused], after: 1)
        let channel = RecordingChannel()
        let handler = DeliveryHandler(
            store: FaultyStore(store, plan: plan),
            channels: [channel],
            logger: Sample.quiet
        )
        let ahead = try leased(DeliveryState(cursor: 3), url: "https://a.b/")
        let retried = try #require(await handler.handle(ahead))
        #expect(plan.failures == 1)
        #expect(retried.verdict == .next(after: .seconds(1)))
        #expect(retried.change.state == DeliveryState(cursor: 3))
        let rewound = try #require(await handler.handle(ahead))
        #expect(rewound.verdict == .next(after: .zero) && rewound.change.state.cursor == 0)
    }

    @Test("events that were deleted before they were delivered are reported")
    func deleted() async throws {
        try await record(["a"])
        let log = RecordedLog()
        let handler = DeliveryHandler(
            store: store,
            channels: [RecordingChannel()],
            logger: log.logger
        )
        for (key, isReported) in [(key, false), (Sample.key("src_gone"), true)] {
            let state = DeliveryState(cursor: 1)
            let found = try leased(state, of: key, url: "https://a.b/")
            let done = try #require(await handler.handle(found))
            #expect(done.verdict == .rest && done.change.state == state)
            #expect(log.has("before they were delivered") == isReported)
        }
    }

    @Test("a cancelled attempt counts only if it was accepted")
    func cutOff() async throws {
        try await record(["a"])
        for (answer, isKept) in [
            (AttemptResult.failed("cut", after: nil), false), (.delivered, true),
        ] {
            let channel = RecordingChannel()
            channel.script([answer])
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return try await handle(channel)
            }
            task.cancel()
            let done = try await task.value
            #expect((done != nil) == isKept)
            #expect(channel.attempts.count == 1)
        }
    }
}
