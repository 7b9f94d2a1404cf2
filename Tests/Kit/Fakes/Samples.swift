import JSONText
package import PollerDeliveries
package import PollerIdentity
package import PollerPayments
package import PollerQueue
package import PollerWatches

/// Events as a worker records them.
package enum Samples {
    package static let start = Timestamp(ms: 1_795_165_200_125)

    /// Returns the event about the result of a chargeable source's charge.
    package static func charge(_ status: ObservedCharge.Status, final: Bool = false) -> Event {
        let watch = Watch(
            WatchKey(account: .main, source: SourceID(unchecked: "src_1"), kind: .source),
            createdAt: start,
            deadline: start + .seconds(600),
            seq: 2,
            state: WatchState(status: .chargeable)
        )
        return Event(
            watch,
            of: .charge(status),
            status: final ? .consumed : .chargeable,
            final: final,
            polledAt: start
        )
    }

    /// Returns the event of a source that changes from `previous` to `status`.
    package static func event(
        _ source: String = "src_1",
        _ status: String = "chargeable",
        previous: String? = "pending",
        final: Bool = false,
        closed: ClosedReason? = nil,
        account: AccountID = .main,
        object: String = #"{"id":"src_1","note":"Gr\u00fc\u00dfe \ud83d\ude00"}"#
    ) -> Event {
        let watch = Watch(
            WatchKey(source, of: account),
            createdAt: start,
            deadline: start + .seconds(600),
            seq: 1,
            state: WatchState(status: previous.map(SourceStatus.init(unchecked:)))
        )
        return Event(
            watch: watch,
            status: SourceStatus(unchecked: status),
            final: final,
            closed: closed,
            object: RawJSON(unchecked: object),
            polledAt: start,
            lag: .milliseconds(3)
        )
    }
}

extension Outbox {
    /// Reads the entries that a consumer would mark next.
    package func unacknowledged(
        _ partition: Int,
        by consumer: OwnerID = OwnerID(unchecked: "AAAAAAAAAAA"),
        idle: Duration = .seconds(5)
    ) async throws(StoreError) -> [OutboxEntry] {
        try await unacknowledged(
            partition: partition,
            consumer: consumer,
            idle: idle,
            limit: 1000
        )
    }
}
