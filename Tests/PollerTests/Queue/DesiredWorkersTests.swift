import PollerIdentity
import PollerTesting
import Testing

@testable import PollerQueue

@Suite("Workers wanted")
struct DesiredWorkersTests {
    private static let now = VirtualTime.start

    /// Creates a lane report.
    ///
    /// By default the overdue items are one hour late, and the lane has been free to start them for one minute.
    private static func lane(
        _ account: String = "a",
        overdue: Int,
        dueFor: Duration = .seconds(3600),
        inFlight: Int = 0,
        limit: LaneLimit? = nil,
        isPaused: Bool = false,
        heldFor: Duration? = nil,
        freeFor: Duration = .seconds(60),
        factor: Double = 1,
        failures: Int = 0
    ) -> LaneReport {
        LaneReport(
            LaneID(account: AccountID(unchecked: account), kind: .source),
            waiting: overdue,
            overdue: overdue,
            oldestDue: overdue > 0 ? now + (.zero - dueFor) : nil,
            inFlight: inFlight,
            limit: limit,
            isPaused: isPaused,
            heldUntil: heldFor.map { now + $0 },
            notBefore: now + (heldFor ?? .zero - freeFor),
            factor: factor,
            failures: failures,
            now: now
        )
    }

    private static func worker(_ number: Int, slots: Int?) -> Member {
        Member(
            owner: OwnerID(unchecked: "o\(number)"),
            roles: "worker",
            pid: number,
            host: "h",
            version: "1",
            startedAt: now,
            inFlight: 0,
            slots: slots
        )
    }

    private func wanted(
        _ lanes: [LaneReport],
        overdue: Int? = nil,
        isWhole: Bool = true,
        slots: [Int?] = [256],
        standard: LaneLimit = .stripe
    ) -> Int {
        let watches = StoreStats(
            overdue: overdue ?? lanes.reduce(0) { $0 + $1.overdue },
            leased: lanes.reduce(0) { $0 + $1.inFlight }
        )
        return DesiredWorkers(
            watches: watches,
            lanes: lanes,
            isWhole: isWhole,
            members: slots.enumerated().map { Self.worker($0, slots: $1) },
            laneLimit: standard
        ).count
    }

    @Test("an idle cluster wants one worker")
    func idle() {
        #expect(wanted([]) == 1)
        #expect(wanted([Self.lane(overdue: 0)]) == 1)
        #expect(wanted([], slots: []) == 1, "also without any worker")
    }

    @Test("a lane at its rate limit wants no more workers, however long its queue is")
    func rateLimited() {
        // The next start is in the future, which claims ahead of time cause.
        let lane = Self.lane(overdue: 10_000, inFlight: 4, freeFor: .milliseconds(-50))
        #expect(wanted([lane], slots: [256]) == 1)
        #expect(wanted([lane], slots: [4]) == 1)
        let many = (0..<200).map {
            Self.lane("a\($0)", overdue: 10_000, inFlight: 2, freeFor: .milliseconds(-20))
        }
        #expect(
            wanted(many, slots: [256, 256]) == 2,
            "what is in flight, and nothing for the queues"
        )
    }

    @Test("a worker with all slots in use wants more workers if more items may start")
    func full() {
        let busy = Self.lane(overdue: 300, inFlight: 256, limit: .unlimited)
        #expect(wanted([busy]) == 3, "556 places of 256")
        let accounts = (0..<100).map { Self.lane("a\($0)", overdue: 9, inFlight: 3) }
        #expect(wanted(accounts, slots: [256]) == 4, "100 × (3 + a burst of 5)")
    }

    @Test("a lane below its rate wants slots for the rest of its burst")
    func belowItsRate() {
        // The rate is 20/s with a burst of 5. After one start just now, three more may follow at once.
        for (freeFor, left) in [(Duration.zero, 1), (.milliseconds(110), 3), (.seconds(60), 5)] {
            let lane = Self.lane(overdue: 300, freeFor: freeFor)
            #expect(wanted([lane], slots: [1]) == left, "\(freeFor)")
        }
        let slowed = Self.lane(overdue: 300, freeFor: .milliseconds(110), factor: 0.5)
        #expect(wanted([slowed], slots: [1]) == 2, "at half its rate less has come back")
        let never = LaneReport(
            slowed.lane,
            waiting: 9,
            overdue: 9,
            oldestDue: Self.now + .seconds(-9),
            now: Self.now
        )
        #expect(wanted([never], slots: [1]) == 5, "nothing was ever started")
    }

    @Test("lanes that let nothing start want no workers", arguments: [1, 10])
    func stopped(slots: Int) {
        let lanes = [
            Self.lane("paused", overdue: 300, isPaused: true),
            Self.lane("held", overdue: 300, heldFor: .seconds(9)),
            Self.lane("open", overdue: 300, heldFor: .seconds(9), failures: 10),
        ]
        #expect(wanted(lanes, slots: [slots], standard: .unlimited) == 1)
        let full = Self.lane(overdue: 300, inFlight: 20)
        #expect(wanted([full], slots: [20]) == 1, "its slots are taken")
    }

    @Test("a probed lane wants one start, and a slowed lane its reduced slots")
    func troubled() {
        #expect(wanted([Self.lane(overdue: 300, failures: 10)], slots: [1]) == 1)
        let slowed = Self.lane(overdue: 300, inFlight: 4, factor: 0.25)
        #expect(wanted([slowed], slots: [1]) == 5, "five slots, four of them taken")
    }

    @Test("items that are at most two seconds late are left to the existing workers")
    func patience() {
        let fresh = Self.lane(overdue: 300, dueFor: .seconds(2), limit: .unlimited)
        #expect(wanted([fresh], slots: [10]) == 1)
        let left = Self.lane(overdue: 300, dueFor: .milliseconds(2001), limit: .unlimited)
        #expect(wanted([left], slots: [10]) == 30)
    }

    @Test("the slots per worker are the average of the reported ones, or 256 without a report")
    func slots() {
        let lane = Self.lane(overdue: 1000, limit: .unlimited)
        #expect(wanted([lane], slots: [50, 150]) == 10)
        #expect(wanted([lane], slots: [50, nil]) == 20, "one polls nothing")
        #expect(wanted([lane], slots: [nil]) == 4)
        #expect(wanted([lane], slots: []) == 4)
    }

    @Test("lanes that were not read are assumed to be like those that were")
    func partial() {
        let seen = Self.lane(overdue: 100, limit: .unlimited)
        #expect(wanted([seen], overdue: 400, isWhole: false, slots: [100]) == 4)
        #expect(wanted([seen], overdue: 400, isWhole: true, slots: [100]) == 1)
    }
}
