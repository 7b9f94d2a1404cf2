import Poller
import PollerIdentity
import PollerRedis
import PollerTesting
import PollerUpstreams
import RedisClient
import StripeAPI
import Testing

@testable import PollerHints
@testable import PollerPayments
@testable import PollerQueue
@testable import PollerWatches

@Suite("The sweep of an account's events", .serialized)
struct EventSweepTests {
    func sweep(
        _ rig: AccountRig,
        owner: String = "AAAAAAAAAAA",
        expectsWebhooks: Bool = false,
        events: (any AccountEvents)? = nil,
        meter: ReadMeter<ContinuousClock>? = nil,
        answerSpan: Duration = .seconds(180)
    ) -> (sweep: EventSweep<ContinuousClock>, account: EventSweep<ContinuousClock>.Account) {
        let account = EventSweep<ContinuousClock>.Account(
            id: .main,
            expectsWebhooks: expectsWebhooks,
            interval: .zero
        )
        let sweep = EventSweep(
            accounts: [account],
            events: events ?? StripeEvents(accounts: rig.accounts),
            store: rig.store,
            watches: rig.watches,
            meter: meter ?? self.meter(rig),
            answerSpan: answerSpan,
            owner: OwnerID(unchecked: owner),
            clock: ContinuousClock(),
            logger: AccountRig.quiet
        )
        return (sweep, account)
    }

    private func meter(_ rig: AccountRig) -> ReadMeter<ContinuousClock> {
        ReadMeter(store: rig.store, clock: ContinuousClock(), logger: AccountRig.quiet)
    }

    func cursor(_ rig: AccountRig) async throws -> SweepCursor {
        let probe = OwnerID(unchecked: "PROBE")
        let lease = try await rig.store.take(.main, owner: probe, for: .milliseconds(1))
        return lease.cursor
    }

    /// Returns the store's time.
    func now(_ rig: AccountRig) async throws -> Timestamp {
        let probe = AccountID(unchecked: "probe")
        return try await rig.store.take(probe, owner: AccountRig.owner, for: .seconds(1)).now
    }

    @Test("the first sweep hints nothing, and later sweeps hint new events once")
    func hints() async throws {
        try await AccountRig.run { rig in
            let old = try await rig.makeSource()
            try await rig.watch(old)
            try await rig.set(old, "chargeable")
            let (sweep, account) = sweep(rig)
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(old) == nil)

            let source = try await rig.makeSource()
            try await rig.watch(source)
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(source) == nil)
            try await rig.set(source, "chargeable")
            await sweep.sweepIfDue(account)
            let first = try #require(try await rig.hintedAt(source))
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(source) == first)
            #expect(try await rig.hintedAt(old) == nil)
        }
    }

    @Test("an account without events is swept from the time of its first sweep")
    func emptyAccount() async throws {
        try await AccountRig.run { rig in
            let (sweep, account) = sweep(rig)
            await sweep.sweepIfDue(account)
            guard case .since = try await cursor(rig) else { return fail("no time to begin at") }
            try await eventually("the probe's turn ends") {
                try await rig.store.take(.main, owner: AccountRig.owner, for: .seconds(1)).isOwner
            }
            let source = try await rig.makeSource()
            try await rig.watch(source)
            try await rig.set(source, "failed")
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(source) != nil)
        }
    }

    @Test("after a downtime all events are found, over several pages, from the cursor in Redis")
    func downtime() async throws {
        try await AccountRig.run { rig in
            let first = try await rig.makeSource()
            try await rig.set(first, "chargeable")
            let (before, account) = sweep(rig)
            await before.sweepIfDue(account)
            var sources: [String] = []
            for _ in 0..<230 {
                let source = try await rig.makeSource()
                sources.append(source)
                try await rig.watch(source)
                try await rig.set(source, "chargeable")
            }
            // Another process, which has only the state in Redis.
            let (after, _) = sweep(rig, owner: "BBBBBBBBBBB")
            await after.sweepIfDue(account)
            for source in sources { #expect(try await rig.hintedAt(source) != nil) }
            guard case .after = try await cursor(rig) else { return fail("no event to go on at") }
        }
    }

    @Test("one process sweeps an account until its lease ends, and its late commit is rejected")
    func oneAtATime() async throws {
        try await AccountRig.run { rig in
            let (a, b) = (OwnerID(unchecked: "A"), OwnerID(unchecked: "B"))
            #expect(try await rig.store.take(.main, owner: a, for: .seconds(60)).isOwner)
            #expect(try await !rig.store.take(.main, owner: b, for: .seconds(9)).isOwner)
            // Its last act before it dies.
            #expect(try await rig.store.take(.main, owner: a, for: .milliseconds(1)).isOwner)
            try await eventually("a dead sweeper's turn ends") {
                try await rig.store.take(.main, owner: b, for: .seconds(9)).isOwner
            }
            // The dead sweeper's late commit is rejected.
            let late = SweepProgress(cursor: .after("evt_late"), isCaughtUp: true, unseen: [])
            #expect(try await rig.store.finish(late, of: .main, owner: a, pause: .zero) == nil)
            #expect(try await rig.store.finish(late, of: .main, owner: b, pause: .seconds(9)) == 0)
            // The turn was released, but is not due before its pause has passed.
            let lease = try await rig.store.take(.main, owner: a, for: .seconds(9))
            #expect(!lease.isOwner && lease.cursor == .after("evt_late") && lease.caughtUpAt != nil)
        }
    }

    /// An event list that never responds.
    private struct SilentEventList: StubAccountEvents {
        let asked: @Sendable () -> Void

        func events(
            of account: AccountID,
            _ list: EventList,
            _ range: EventRange
        ) async throws(AccountEventsFailure) -> AccountEventsPage {
            asked()
            // Waits until it is cancelled, as a drain does.
            let (never, end) = AsyncStream.makeStream(of: Void.self)
            for await _ in never {}
            end.finish()
            throw .unavailable("cut off")
        }
    }

    @Test("a sweep that a drain interrupts is released at once with its cursor")
    func drained() async throws {
        try await AccountRig.run { rig in
            let (asked, ask) = AsyncStream.makeStream(of: Void.self)
            let (_, account) = sweep(rig)
            let cut = EventSweep(
                accounts: [account],
                events: SilentEventList { ask.yield() },
                store: rig.store,
                watches: rig.watches,
                meter: meter(rig),
                owner: OwnerID(unchecked: "CUT"),
                clock: ContinuousClock(),
                logger: AccountRig.quiet
            )
            let visit = Task { await cut.sweepIfDue(account) }
            var questions = asked.makeAsyncIterator()
            await questions.next()
            let other = OwnerID(unchecked: "OTHER")
            #expect(try await !rig.store.take(.main, owner: other, for: .seconds(9)).isOwner)
            visit.cancel()
            await visit.value
            let lease = try await rig.store.take(.main, owner: other, for: .seconds(9))
            #expect(lease.isOwner && lease.cursor == .start)
        }
    }

    /// `formerPause`: the interval that the last sweep ended with; the present one is zero.
    @Test(
        "the lease of a sweep is renewed while a long overlap is read, and released by a drain",
        arguments: [Duration.zero, .seconds(1296)]
    )
    func longOverlap(formerPause: Duration) async throws {
        try await AccountRig.run { rig in
            let last = SweepProgress(cursor: .after("evt_last"), isCaughtUp: true, unseen: [])
            _ = try await rig.store.take(.main, owner: AccountRig.owner, for: .seconds(9))
            _ = try await rig.store.finish(
                last,
                of: .main,
                owner: AccountRig.owner,
                pause: formerPause
            )
            let clock = ManualClock()
            let (asked, ask) = AsyncStream.makeStream(of: Void.self)
            let account = EventSweep<ManualClock>.Account(
                id: .main,
                expectsWebhooks: false,
                interval: .zero
            )
            let sweep = EventSweep(
                accounts: [account],
                events: SilentEventList { ask.yield() },
                store: rig.store,
                watches: rig.watches,
                meter: ReadMeter(store: rig.store, clock: clock, logger: AccountRig.quiet),
                owner: AccountRig.owner,
                clock: clock,
                logger: AccountRig.quiet
            )
            let visit = Task { await sweep.sweepIfDue(account) }
            var questions = asked.makeAsyncIterator()
            await questions.next()
            let keys = try await rig.redis.send(RedisCommand("KEYS", ["*sweep{*"])).array
            let key = try #require(keys?.first?.string)
            let read = RedisCommand("HGETALL", [.string(key)])
            let taken = try await rig.redis.send(read)
            try await eventually("the lease ends later") {
                await clock.waitForSleepers(1)
                clock.advance(by: EventSweep<ManualClock>.span / 3)
                return try await rig.redis.send(read) != taken
            }
            visit.cancel()
            await visit.value
            let other = OwnerID(unchecked: "OTHER")
            #expect(try await rig.store.take(.main, owner: other, for: .seconds(9)).isOwner)
        }
    }

    @Test("a cursor that Stripe no longer knows is reset instead of failing forever")
    func forgotten() async throws {
        try await AccountRig.run { rig in
            let lost = SweepProgress(cursor: .after("evt_lost"), isCaughtUp: true, unseen: [])
            _ = try await rig.store.take(.main, owner: AccountRig.owner, for: .seconds(9))
            _ = try await rig.store.finish(lost, of: .main, owner: AccountRig.owner, pause: .zero)
            let (sweep, account) = sweep(rig)
            await sweep.sweepIfDue(account)
            await sweep.sweepIfDue(account)
            let source = try await rig.makeSource()
            try await rig.watch(source)
            try await rig.set(source, "chargeable")
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(source) != nil)
        }
    }

    @Test(
        "an event without a webhook in time is counted as missed once, one with a webhook is not"
    )
    func missed() async throws {
        try await AccountRig.run(webhookSpan: .milliseconds(200)) { rig in
            let owner = AccountRig.owner
            _ = try await rig.store.take(.main, owner: owner, for: .seconds(9))
            let seen = SweepProgress(
                cursor: .after("evt_b"),
                isCaughtUp: true,
                unseen: ["evt_a", "evt_b"]
            )
            #expect(try await rig.store.finish(seen, of: .main, owner: owner, pause: .zero) == 0)
            try await rig.store.mark([(HintIntake.mark(ofEvent: "evt_a"), .seconds(60))], of: .main)
            var missed = 0
            let nothing = SweepProgress(cursor: .after("evt_b"), isCaughtUp: true, unseen: [])
            try await eventually("a missed webhook is counted") {
                _ = try await rig.store.take(.main, owner: owner, for: .seconds(9))
                missed +=
                    try await rig.store.finish(nothing, of: .main, owner: owner, pause: .zero) ?? 0
                return missed > 0
            }
            _ = try await rig.store.take(.main, owner: owner, for: .seconds(9))
            missed +=
                try await rig.store.finish(nothing, of: .main, owner: owner, pause: .zero) ?? 0
            #expect(missed == 1)
        }
    }

    @Test("reads are summed over processes, and a working sweep stretches the polls")
    func reads() async throws {
        try await AccountRig.run { rig in
            let (one, two) = (meter(rig), meter(rig))
            for index in 0..<100 { one.count(.main, isFirst: index < 30) }
            two.count(.main, isFirst: true)
            await one.flush()
            await two.flush()
            #expect(two.usage(.main) == ReadUsage(reads: 101, transactions: 31))
            #expect(one.stretch(.main) == 1)

            let (sweep, account) = sweep(rig, meter: one)
            await sweep.sweepIfDue(account)
            await sweep.sweepIfDue(account)
            #expect(one.stretch(.main) == 8)
            let upstream = MeteredUpstream(ScriptedUpstream(), meter: one)
            let start = Timestamp(ms: 1)
            let watch = Watch(
                key: rig.key("src_1"),
                policy: .standard,
                createdAt: start,
                deadline: start + .seconds(60),
                run: 1,
                seq: 0
            )
            guard case .observed(let seen) = await upstream.poll(watch, timeout: .seconds(1)) else {
                return fail("not observed")
            }
            #expect(seen.stretch == 8)
            await one.flush()
            #expect(one.usage(.main) == ReadUsage(reads: 104, transactions: 32))
        }
    }

    @Test("the allowance follows the transactions, and its use stretches polls and sweeps")
    func budget() {
        #expect(ReadUsage(reads: 0, transactions: 0).allowance == 10_000)
        #expect(ReadUsage(reads: 0, transactions: 1000).allowance == 500_000)
        #expect(ReadBudget.stretch(used: 0.1, isSwept: false) == 1)
        #expect(ReadBudget.stretch(used: 0.1, isSwept: true) == 8)
        #expect(ReadBudget.stretch(used: 0.9, isSwept: false) == 4)
        #expect(ReadBudget.stretch(used: 1, isSwept: true) == 128)
        // A fifth of the allowance in thirty days.
        let small = ReadBudget.sweepInterval(ReadUsage(reads: 0, transactions: 0))
        #expect(small == .seconds(1296))
        let large = ReadBudget.sweepInterval(ReadUsage(reads: 0, transactions: 1_000_000))
        #expect(large == .seconds(2))
    }
}
