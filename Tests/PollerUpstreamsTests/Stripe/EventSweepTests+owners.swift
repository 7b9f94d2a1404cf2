import PollerIdentity
import PollerRedis
import PollerTesting
import Synchronization
import Testing

@testable import PollerHints
@testable import PollerPayments
@testable import PollerWatches

/// Tests events of unreadable charges.
extension EventSweepTests {
    /// An event list in which the owner of every charge is unknown, or cannot be read at all.
    private final class OwnerlessList: StubAccountEvents {
        private let failure: AccountEventsFailure?
        private let listed = Mutex<[AccountEvent]>([])

        init(failure: AccountEventsFailure?) { self.failure = failure }

        func add(_ id: String, _ type: String, of subject: String) {
            let event = AccountEvent(
                id: id,
                type: type,
                subjects: [SourceID(unchecked: subject)],
                topic: .money
            )
            listed.withLock { $0.append(event) }
        }

        func events(
            of account: AccountID,
            _ list: EventList,
            _ range: EventRange
        ) async throws(AccountEventsFailure) -> AccountEventsPage {
            let all = listed.withLock { $0 }
            guard case .after(let id) = range, let place = all.firstIndex(where: { $0.id == id })
            else { return AccountEventsPage(events: all, hasMore: false) }
            return AccountEventsPage(events: Array(all.dropFirst(place + 1)), hasMore: false)
        }

        func subject(
            ofCharge charge: ChargeID,
            in account: AccountID
        ) async throws(AccountEventsFailure) -> SourceID? {
            if let failure { throw failure }
            return nil
        }
    }

    @Test(
        "an unreadable charge delays no other event, and the cursor for minutes at most",
        arguments: [nil, AccountEventsFailure.unavailable("HTTP 500")]
    )
    func ownerless(failure: AccountEventsFailure?) async throws {
        try await AccountRig.run { rig in
            let list = OwnerlessList(failure: failure)
            let (sweep, account) = sweep(rig, events: list, answerSpan: .milliseconds(200))
            await sweep.sweepIfDue(account)
            let charge = WatchKey(
                account: .main,
                source: SourceID(unchecked: "ch_1"),
                kind: .charge
            )
            _ = try await rig.watches.enqueue([try NewWatch(key: charge, policy: .patient)])
            try await rig.watch("src_1")
            list.add("evt_1", "refund.updated", of: "ch_1")
            list.add("evt_2", "source.failed", of: "src_1")
            try await eventually("both are hinted") {
                await sweep.sweepIfDue(account)
                let times = [
                    try await rig.watches.snapshot(of: charge)?.watch.hintedAt,
                    try await rig.hintedAt("src_1"),
                ]
                return times.allSatisfy { $0 != nil }
            }
            let first = try await rig.hintedAt("src_1")
            try await eventually("the cursor moves") {
                await sweep.sweepIfDue(account)
                return try await cursor(rig) == .after("evt_2")
            }
            #expect(try await rig.hintedAt("src_1") == first)
        }
    }
}
