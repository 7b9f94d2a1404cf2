import Logging
import PollerIdentity
import PollerOperations
import PollerPayments
package import PollerQueue
package import PollerWatches
import RedisClient

/// Enqueuing: one call of enqueue.lua for up to ``RedisPartitions/chunk`` watches of a partition.
///
/// The script checks the stored watch, writes and reads in one step, so no other caller can come between a check and
/// the write. A batch with orders that takes several calls first makes an extra call for each. It compares the orders
/// before the first write, so a batch with a mismatch is rejected as a whole.
///
/// Single requests of several callers share a call (``EnqueueBatcher``). Each has its own outcome and its own error.
extension RedisWatchStore {
    /// The number of watches sorted into partitions at a time; each call sorts the remaining ones again.
    private static var sortedMax: Int { 1000 }

    package func enqueue(
        _ watches: [NewWatch],
        reading: Bool
    ) async throws(StoreError) -> [EnqueueResult] {
        if watches.contains(where: { $0.clientSecret != nil }) { try redis.sealing?.check() }
        if reading, watches.count == 1, let watch = watches.first {
            let partition = redis.keys.partition(of: watch.key.lane.description)
            let result = try await batcher.result(of: watch, partition: partition) { watches in
                await enqueueSeparately(watches)
            }
            return [result]
        }
        if let refused = try await mismatches(among: watches) { return refused }
        var results: [EnqueueResult] = []
        for start in stride(from: 0, to: watches.count, by: Self.sortedMax) {
            let part = Array(watches[start..<min(start + Self.sortedMax, watches.count)])
            results += try await enqueue(part, reading ? .read : .write)
            // Another caller created a watch since the orders were compared: the request fails, so nothing more is
            // written.
            if results.contains(where: { $0.outcome.isMismatch }) { break }
        }
        return results + watches[results.count...].map { Self.notTried($0) }
    }

    /// Returns the results of a batch in which a request names another order than the open watch of its source.
    ///
    /// Returns `nil` if there is none, or if one call takes the batch and the script finds the mismatch.
    private func mismatches(
        among watches: [NewWatch]
    ) async throws(StoreError) -> [EnqueueResult]? {
        let ordered = watches.indices.filter { watches[$0].order != nil }
        guard !ordered.isEmpty else { return nil }
        let lanes = Set(watches.map(\.key.lane))
        let targets = Set(lanes.map { redis.keys.partition(of: $0.description) })
        if targets.count == 1, watches.count <= RedisPartitions.chunk { return nil }
        var results = watches.map { Self.notTried($0) }
        var hasMismatch = false
        for start in stride(from: 0, to: ordered.count, by: Self.sortedMax) {
            let part = ordered[start..<min(start + Self.sortedMax, ordered.count)]
            let checked = try await enqueue(part.map { watches[$0] }, .check)
            for (index, result) in zip(part, checked) {
                results[index] = result
                if result.outcome != .refused(.notTried) { hasMismatch = true }
            }
        }
        return hasMismatch ? results : nil
    }

    /// Accepts watches of several callers; one answer for each, in order.
    private func enqueueSeparately(
        _ watches: [NewWatch]
    ) async -> [Result<EnqueueResult, StoreError>] {
        do throws(StoreError) {
            return try await enqueue(watches, .separate).map { .success($0) }
        } catch .corrupt where watches.count > 1 {
            // Only one of them may be the cause: an ID that another source has, or a reply that is too long.
            var answers: [Result<EnqueueResult, StoreError>] = []
            for watch in watches { answers += await enqueueSeparately([watch]) }
            return answers
        } catch {
            return watches.map { _ in .failure(error) }
        }
    }

    private func enqueue(
        _ watches: [NewWatch],
        _ step: EnqueueStep
    ) async throws(StoreError) -> [EnqueueResult] {
        var results = [EnqueueResult?](repeating: nil, count: watches.count)
        try await redis.run(
            .enqueue,
            for: watches.map(\.key.lane),
            isDurable: step != .check
        ) { group in
            [.string(step.rawValue)] + group.flatMap { arguments(for: watches[$0], step) }
        } _: { group, reply throws(StoreError) in
            // The reply contains secrets of watches, so the error does not show it.
            guard let replies = reply.array, replies.count == group.count else {
                throw .corrupt("enqueue.lua answered \(reply.array?.count ?? 0) of \(group.count)")
            }
            for (index, reply) in zip(group, replies) {
                results[index] = try result(of: watches[index].key, reply, step)
            }
        }
        return results.compactMap(\.self)
    }

    /// Returns the number of values of a request, and each value after its name.
    private func arguments(for watch: NewWatch, _ step: EnqueueStep) -> [RedisArgument] {
        var values: [RedisArgument] = []
        func add(_ name: EnqueueField, _ value: RedisArgument) {
            values += [.string(name.rawValue), value]
        }
        func add(_ name: EnqueueField, _ text: String) {
            if !text.isEmpty { add(name, .string(text)) }
        }
        add(.id, watch.key.id.description)
        add(.source, watch.key.source.description)
        add(.lane, watch.key.lane.description)
        add(.order, watch.order?.description ?? "")
        if step != .check {
            add(.timeout, RedisArgument(watch.timeout.ms))
            if !watch.notify.isEmpty {
                let urls = watch.notify.map(\.description).joined(separator: "\n")
                add(.notify, ShortText.argument(urls))
            }
            if !watch.metadata.isEmpty { add(.metadata, ShortText.argument(watch.metadata)) }
            if let secret = sealedSecret(of: watch) { add(.secret, secret) }
            add(.charge, watch.charge?.json ?? "")
            add(.entries, SearchEntries(of: watch, keys: searchKeys).stored)
            values += watch.options.arguments
        }
        return [RedisArgument(values.count / 2)] + values
    }

    /// Returns the client secret of the request.
    ///
    /// A short one has the form of a learned secret, so that a claim reads it with the item.
    private func sealedSecret(of watch: NewWatch) -> RedisArgument? {
        guard let secret = watch.clientSecret?.reveal else { return nil }
        let (id, account) = (watch.key.id.description, watch.key.account)
        if let packed = PackedSecret.packed(secret, watch.key.source) {
            let sealed = redis.masterKeys.seal(
                bytes: Array(packed.utf8),
                at: .learned(id, account)
            )
            if sealed.count <= ShortText.bytesMax { return .bytes([ShortText.mark] + sealed) }
        }
        return .string(redis.masterKeys.seal(secret, at: .given(id, account)))
    }

    private func result(
        of key: WatchKey,
        _ reply: RedisValue,
        _ step: EnqueueStep
    ) throws(StoreError) -> EnqueueResult {
        guard let parts = reply.array, parts.count >= 4,
            let code = parts[0].string.flatMap(EnqueueOutcomeCode.init(rawValue:)),
            let run = parts[1].count, let seq = parts[2].count
        else { throw .corrupt("enqueue.lua answered no result for \(key.id)") }
        var outcome: EnqueueResult.Outcome =
            switch code {
            case .created: .created
            case .restarted: .restarted
            case .joined: .joined
            case .tooManyURLs: .refused(.tooManyURLs)
            case .otherOrder: .refused(.otherOrder(OrderID(unchecked: parts[3].string ?? "")))
            case .notTried: .refused(.notTried)
            }
        var read: WatchSnapshot?
        do throws(StoreError) {
            if parts.count > 4 { read = try parseItem(key.id, parts[4]).map { WatchSnapshot($0) } }
        } catch {
            // The other requests of the call are written, and so is this one.
            redis.logger.error("record not understood", metadata: ["error": "\(error)"])
            if !outcome.isRefused { outcome = .refused(.unreadable) }
        }
        return EnqueueResult(
            key: key,
            outcome: outcome,
            run: run,
            seq: seq,
            // A batch of 10,000 keeps the payments of joined watches only, not their events.
            snapshot: step == .read || step == .separate ? read : nil,
            payment: read?.payment
        )
    }

    private static func notTried(_ watch: NewWatch) -> EnqueueResult {
        EnqueueResult(key: watch.key, outcome: .refused(.notTried), run: 0, seq: 0)
    }
}
