import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerWatches

/// The end of sources: which are settled, and who has all their events.
extension CatchUp {
    /// The maximum of reads of the outbox that decide whether a client is done, besides one per partition.
    ///
    /// A client that is further behind gets a stream, which ends with a newer cursor.
    private static let doneReadsMax = 64

    /// Reads the state of each watch of a source.
    ///
    /// An ID that does not imply its kind may have a watch of any kind. The accounts of the subscription limit what is
    /// read here too.
    func snapshots(of source: SourceID) async throws(StoreError) -> [WatchSnapshot] {
        guard let account = subscription.accounts.standard else { return [] }
        let kinds = SourceKind(inferredFrom: source).map { [$0] } ?? SourceKind.allCases
        let keys =
            subscription.watch.map { [$0] }
            ?? kinds.map { WatchKey(account: account, source: source, kind: $0) }
        var found: [WatchSnapshot] = []
        for key in keys {
            guard let snapshot = try await store.snapshot(of: key) else { continue }
            found.append(snapshot)
        }
        return found
    }

    /// Whether a source has watches, and all of them are closed.
    func isSettled(_ found: [WatchSnapshot]) -> Bool {
        !found.isEmpty && found.allSatisfy { $0.closed != nil }
    }

    /// Reports the sources in ``SentEvents/ending`` that are settled.
    ///
    /// Their watches are read before the ends of the outbox, so their last events are sent before the report.
    ///
    /// Returns `false` if the connection accepts no more messages.
    mutating func settleEnding(
        _ state: inout SubscriptionState
    ) async throws(StoreError) -> Bool {
        while !state.sent.ending.isEmpty {
            for source in state.sent.ending {
                let found = try await snapshots(of: source)
                state.sent.note(source, isSettled: isSettled(found))
            }
            guard !state.sent.ending.isEmpty else { break }
            let ends = try await store.ends.ends()
            guard try await readBack(&state, upTo: ends) else { return false }
            for source in state.sent.takeEnded() {
                messages.append(.settled(source, cursor: cursor(state)))
            }
        }
        return true
    }

    /// Whether a client at these positions has every event of a source that is settled.
    ///
    /// The watches are read before the ends of the outbox, so the entries up to there have all their events.
    func isDone(
        _ source: SourceID,
        at positions: [OutboxPosition]
    ) async throws(StoreError) -> Bool {
        guard try await isSettled(snapshots(of: source)) else { return false }
        let ends = try await store.ends.ends()
        let positions = reachable(positions, ends)
        guard unreachable(positions, ends) == nil else { return false }
        let interests = InterestTable(subscription.id, matching: subscription.interest)
        var readsLeft = ends.newest.count + Self.doneReadsMax
        for (partition, end) in ends.newest.enumerated() {
            var position = positions[partition]
            while position < end {
                guard readsLeft > 0 else { return false }
                readsLeft -= 1
                let references = try await store.references(
                    partition: partition,
                    after: position,
                    limit: Self.batch
                )
                guard !references.contains(where: { interests.mayMatch($0) }) else { return false }
                guard let last = references.last.flatMap({ OutboxPosition($0.id) }) else { break }
                position = last
            }
        }
        return true
    }
}
