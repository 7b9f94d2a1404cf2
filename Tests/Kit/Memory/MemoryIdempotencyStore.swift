import PollerIdentity
package import PollerOperations
package import PollerQueue
import Synchronization

/// Idempotent requests in memory, every operation under one lock.
///
/// This is a class because middleware and tests share it.
package final class MemoryIdempotencyStore: IdempotencyStore {
    private struct Record: Sendable {
        let fingerprint: String
        let seed: String
        var claims = 0
        var owner = ""
        var endsAt = Timestamp(ms: 0)
        var answer: [UInt8]?
        var knownUntil = Timestamp(ms: 0)
    }

    private let time: any StoreTime
    private let records = Mutex<[String: Record]>([:])

    /// Creates an empty store.
    package init(time: any StoreTime) {
        self.time = time
    }

    /// The number of claimed or answered requests.
    package var count: Int { records.withLock(\.count) }

    /// Every stored response, in its stored form.
    package var answers: [[UInt8]] { records.withLock { $0.values.compactMap(\.answer) } }

    /// Removes all requests, as after a day.
    package func forget() { records.withLock { $0 = [:] } }

    /// Ends every lease, as when time passes.
    package func endLeases() {
        records.withLock { records in
            for name in records.keys { records[name]?.endsAt = Timestamp(ms: 0) }
        }
    }

    package func claim(
        _ request: IdempotentRequest,
        owner: String
    ) async throws(StoreError) -> RequestClaim {
        let now = time.now
        return records.withLock { records in
            let known = records[request.name].flatMap { $0.knownUntil > now ? $0 : nil }
            if let known {
                guard known.fingerprint == request.fingerprint else { return .reused }
                if let answer = known.answer { return .kept(answer) }
                if known.endsAt > now { return .inUse(for: known.endsAt - now) }
            }
            var record = known ?? Record(fingerprint: request.fingerprint, seed: owner)
            record.claims += 1
            record.owner = owner
            record.endsAt = now + IdempotentRequest.lease
            record.knownUntil = now + IdempotentRequest.span
            records[request.name] = record
            return .granted(seed: record.seed)
        }
    }

    package func keep(
        _ answer: [UInt8],
        of name: String,
        owner: String
    ) async throws(StoreError) -> Bool {
        let now = time.now
        return records.withLock { records in
            guard let record = records[name], record.owner == owner, record.answer == nil,
                record.knownUntil > now
            else { return false }
            records[name]?.answer = answer
            records[name]?.knownUntil = now + IdempotentRequest.span
            return true
        }
    }

    package func release(
        _ name: String,
        owner: String,
        forgets: Bool
    ) async throws(StoreError) {
        records.withLock { records in
            guard let record = records[name], record.owner == owner, record.answer == nil
            else { return }
            if forgets, record.claims == 1 {
                records[name] = nil
            } else {
                records[name]?.endsAt = Timestamp(ms: 0)
            }
        }
    }
}
