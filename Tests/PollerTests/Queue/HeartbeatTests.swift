import Logging
import PollerIdentity
import PollerTesting
import Synchronization
import Testing

@testable import PollerQueue

/// The membership requests of a heartbeat.
@Suite("Heartbeat", .timeLimit(.minutes(5)))
struct HeartbeatTests {
    @Test(
        "a heartbeat lists the members less often in a larger cluster",
        arguments: [(10, "LLLLLL"), (50, "LaLaLa"), (120, "LaaLaa"), (500, "LaaaaaaaaaaL")]
    )
    func lists(count: Int, beats: String) async throws {
        let clock = ManualClock()
        let members = FakeMembership(count)
        let heartbeat = Heartbeat(
            membership: members,
            member: members.all[0],
            loops: [],
            clock: clock,
            logger: Logger(label: "test")
        )
        await withTaskGroup(of: Void.self) { group in
            group.addTask { await heartbeat.run() }
            for _ in 1..<beats.count {
                await clock.waitForSleepers(1)
                clock.advance(by: .seconds(2))
            }
            await clock.waitForSleepers(1)
            group.cancelAll()
        }
        #expect(members.beats.withLock(\.self) == beats)
    }
}

/// A fixed list of processes and the requests of one of them: `L` for a heartbeat with a list, `a` for one without.
///
/// It is a class because the heartbeat and the test share it.
private final class FakeMembership: Membership {
    let all: [Member]
    let beats = Mutex("")

    init(_ count: Int) {
        all = (0..<count).map { number in
            Member(
                owner: OwnerID(unchecked: "owner-\(number)"),
                roles: "worker",
                pid: number,
                host: "host",
                version: "1",
                startedAt: Timestamp(ms: 0),
                inFlight: 0
            )
        }
    }

    func beat(_ member: Member, for span: Duration) async throws(StoreError) -> [Member] {
        beats.withLock { $0 += "L" }
        return all
    }

    func announce(_ member: Member, for span: Duration) async throws(StoreError) {
        beats.withLock { $0 += "a" }
    }

    func leave(_ owner: OwnerID) async throws(StoreError) {}

    func members() async throws(StoreError) -> [Member] { all }

    func departures() async throws(StoreError) -> [Departure] { [] }
}
