import PollerIdentity
import PollerRedis
import PollerTesting
import PollerUpstreams
import RedisClient
import StripeAPI
import Synchronization
import Testing

@testable import PollerHints
@testable import PollerPayments
@testable import PollerWatches

/// Tests late events and skewed clocks.
extension EventSweepTests {
    @Test("an event that becomes visible behind newer ones is found and hinted once")
    func late() async throws {
        try await AccountRig.run { rig in
            let (sweep, account) = sweep(rig, expectsWebhooks: true)
            let first = try await rig.makeSource()
            try await rig.set(first, "chargeable")
            await sweep.sweepIfDue(account)
            let source = try await rig.makeSource()
            try await rig.watch(source)
            let path = "/_sandbox/webhooks/faults"
            let fault = #"{"mode":"late","list_delay_ms":8000,"times":1}"#
            #expect(try await Control(base: rig.base).post(path, json: fault) == 201)
            try await rig.set(source, "failed")
            // A later event that is visible at once moves the cursor past the late one.
            let other = try await rig.makeSource()
            try await rig.set(other, "chargeable")
            await sweep.sweepIfDue(account)
            let passed = try await cursor(rig)
            #expect(try await rig.hintedAt(source) == nil)
            try await eventually("the late event is found") {
                await sweep.sweepIfDue(account)
                return try await rig.hintedAt(source) != nil
            }
            #expect(try await cursor(rig) == passed)
            let hinted = try await rig.hintedAt(source)
            // It is read repeatedly and dropped each time.
            for _ in 0..<5 {
                await sweep.sweepIfDue(account)
                try await Task.sleep(for: .seconds(1))
            }
            #expect(try await rig.hintedAt(source) == hinted)
            let unseen = try await rig.redis.send(
                RedisCommand("ZCARD", [.string("t:unseen{default}")])
            ).int
            #expect(unseen == 2, "each is expected from a webhook once")
        }
    }

    /// An event list whose clock is some minutes behind the store's.
    private final class SkewedList: StubAccountEvents {
        private let listed = Mutex<[(event: AccountEvent, at: Timestamp)]>([])

        func add(_ source: String, at time: Timestamp) {
            let event = AccountEvent(
                id: "evt_\(source)",
                type: "source.failed",
                subjects: [SourceID(unchecked: source)],
                topic: .money
            )
            listed.withLock { $0.append((event, time)) }
        }

        func events(
            of account: AccountID,
            _ list: EventList,
            _ range: EventRange
        ) async throws(AccountEventsFailure) -> AccountEventsPage {
            let all = listed.withLock { $0 }
            switch range {
            case .since(let time):
                let events = all.filter { $0.at >= time }.map(\.event)
                return AccountEventsPage(events: events, hasMore: false)
            case .after(let id):
                guard let place = all.firstIndex(where: { $0.event.id == id }) else {
                    throw .cursorTooOld
                }
                return AccountEventsPage(events: all[(place + 1)...].map(\.event), hasMore: false)
            }
        }
    }

    @Test(
        "the first event of a quiet account is found in spite of a clock difference",
        arguments: [Duration.seconds(-300), .zero, .seconds(120), .seconds(300)]
    )
    func skew(behind: Duration) async throws {
        try await AccountRig.run { rig in
            let list = SkewedList()
            let (sweep, account) = sweep(rig, events: list)
            await sweep.sweepIfDue(account)
            try await rig.watch("src_1")
            list.add("src_1", at: try await now(rig) + (.zero - behind))
            try await eventually("the event is found") {
                await sweep.sweepIfDue(account)
                return try await rig.hintedAt("src_1") != nil
            }
        }
    }

    @Test("an event dated an hour before the last seen one is found")
    func farAhead() async throws {
        try await AccountRig.run { rig in
            let list = SkewedList()
            let (sweep, account) = sweep(rig, events: list)
            list.add("src_0", at: try await now(rig))
            await sweep.sweepIfDue(account)
            try await rig.watch("src_1")
            list.add("src_1", at: try await now(rig) + .seconds(-3600))
            try await eventually("the event is found") {
                await sweep.sweepIfDue(account)
                return try await rig.hintedAt("src_1") != nil
            }
        }
    }
}
