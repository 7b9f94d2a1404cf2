import PollerIdentity
import PollerRedis
import PollerTesting
import PollerUpstreams
import StripeAPI
import Testing

@testable import PollerHints

/// Tests the interval of an account's sweeps.
extension EventSweepTests {
    @Test(
        "a sweep is due by the current interval, and a failed sweep after its own pause"
    )
    func pace() async throws {
        try await AccountRig.run { rig in
            let owner = AccountRig.owner
            func isDue(_ pace: Duration?) async throws -> Bool {
                try await rig.store.take(.main, owner: owner, for: .seconds(9), pace: pace).isOwner
            }
            func finish(_ isCaughtUp: Bool, _ pause: Duration) async throws {
                let done = SweepProgress(
                    cursor: .after("evt_1"),
                    isCaughtUp: isCaughtUp,
                    unseen: []
                )
                _ = try await rig.store.finish(done, of: .main, owner: owner, pause: pause)
            }
            #expect(try await rig.store.sweepStatus(of: .main) == nil)
            #expect(try await isDue(nil))
            try await finish(true, .seconds(1296))
            for pace in [nil, Duration.seconds(2000), .seconds(600)] {
                #expect(try await !isDue(pace), "\(pace ?? .zero)")
            }
            let sweepStatus = try await rig.store.sweepStatus(of: .main)
            #expect(sweepStatus?.pause == .seconds(1296) && sweepStatus?.caughtUpAt != nil)
            try await eventually("it is due by the new pace") { try await isDue(.milliseconds(50)) }
            try await finish(false, .seconds(60))
            #expect(try await !isDue(.milliseconds(1)), "it has failed")
        }
    }

    @Test("a paid account is swept before the interval of an empty account has passed")
    func paid() async throws {
        try await AccountRig.run { rig in
            let meter = ReadMeter(
                store: rig.store,
                clock: ContinuousClock(),
                logger: AccountRig.quiet
            )
            let account = EventSweep<ContinuousClock>.Account(
                id: .main,
                expectsWebhooks: false,
                interval: nil,
                paidMax: .milliseconds(10)
            )
            let sweep = EventSweep(
                accounts: [account],
                events: StripeEvents(accounts: rig.accounts),
                store: rig.store,
                watches: rig.watches,
                meter: meter,
                owner: AccountRig.owner,
                clock: ContinuousClock(),
                logger: AccountRig.quiet
            )
            await sweep.sweepIfDue(account)
            #expect(try await rig.store.sweepStatus(of: .main)?.pause == .seconds(1296))
            let source = try await rig.makeSource()
            try await rig.watch(source)
            try await rig.set(source, "failed")
            await sweep.sweepIfDue(account)
            #expect(try await rig.hintedAt(source) == nil, "its pause has not passed")
            meter.notePaid(.main)
            try await eventually("it is swept") {
                await sweep.sweepIfDue(account)
                return try await rig.hintedAt(source) != nil
            }
            // Other processes read it from the store.
            let other = ReadMeter(
                store: rig.store,
                clock: ContinuousClock(),
                logger: AccountRig.quiet
            )
            await meter.flush()
            other.setSwept(.main, false)
            #expect(!other.usage(.main).isPaid)
            await other.flush()
            #expect(other.usage(.main).isPaid)
        }
    }

    @Test("a recent payment limits the interval of both lists until half of the allowance is used")
    func paidBudget() {
        func interval(
            _ usage: ReadUsage,
            times: Int = 1,
            _ paidMax: Duration? = .seconds(60)
        ) -> Duration {
            ReadBudget.sweepInterval(usage, times: times, paidMax: paidMax)
        }
        let empty = ReadUsage(reads: 0, transactions: 0)
        let paid = ReadUsage(reads: 4999, transactions: 1, isPaid: true)
        let spent = ReadUsage(reads: 5000, transactions: 1, isPaid: true)
        let large = ReadUsage(reads: 0, transactions: 1_000_000, isPaid: true)
        #expect(interval(empty) == .seconds(1296) && interval(empty, times: 5) == .seconds(6480))
        #expect(interval(paid) == .seconds(60) && interval(paid, times: 5) == .seconds(60))
        #expect(interval(paid, nil) == .seconds(1296))
        #expect(interval(spent) == .seconds(1296))
        #expect(interval(large) == .seconds(2) && interval(large, times: 5) == .seconds(10))
    }
}
