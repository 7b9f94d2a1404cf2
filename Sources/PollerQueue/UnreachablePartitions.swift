import Synchronization

/// The partitions of a store that recently did not answer, so that not every caller waits for them.
///
/// *Problem*: a request to an unavailable partition waits for the timeout of its command, and so do all requests to
/// healthy partitions in the same batch.
///
/// *Approach*: a caller that has waited in vain reports it, and for a while no other caller requests that partition.
/// Then one caller probes it, with a limit of a second instead of the command timeout, because its whole batch waits.
/// The others continue without the partition until the probe succeeds. An immediate refusal delays no caller and is not
/// remembered: the next caller may try.
package final class UnreachablePartitions<Partition: Hashable & Sendable, C: Clock>: Sendable
where C.Duration == Duration, C.Instant: Sendable {
    /// The time without requests, unless the partition answers earlier.
    ///
    /// It is longer than the retry interval of postponed work (5 s). Otherwise each retry would wait for the partition.
    private static var span: Duration { .seconds(15) }
    /// The time limit of a probe, and the wait after which a partition counts as unavailable.
    private static var patience: Duration { .seconds(1) }
    /// The maximum number of remembered partitions.
    ///
    /// Others are requested and waited for.
    private static var countMax: Int { 10_000 }

    private let clock: C
    private let unreachable = Mutex<[Partition: C.Instant]>([:])

    /// Creates an empty set.
    package init(clock: C) {
        self.clock = clock
    }

    /// Whether no partition is known to be unavailable.
    package var isEmpty: Bool { unreachable.withLock { $0.isEmpty } }

    /// Returns whether to request a partition now; one caller at a time probes an unavailable one.
    package func requestPermission(_ partition: Partition) -> RequestPermission {
        let now = clock.now
        return unreachable.withLock { unreachable in
            guard let end = unreachable[partition] else { return .yes }
            guard end <= now else { return .no }
            unreachable[partition] = now.advanced(by: Self.span)
            return .probe
        }
    }

    /// Releases the right to probe after a probe without a result, so that the next caller gets it.
    package func releaseProbe(_ partition: Partition) {
        let now = clock.now
        unreachable.withLock { unreachable in
            if unreachable[partition] != nil { unreachable[partition] = now }
        }
    }

    /// Probes an unavailable partition with a short time limit.
    ///
    /// - Parameter request: the request; it is cancelled at the time limit, and may have taken effect all the same.
    /// - Returns: the answer.
    /// - Throws: the error of the request, or ``StoreError/unavailable(_:maybeExecuted:)`` at the time limit.
    package func probe<Answer: Sendable>(
        _ request: @escaping @Sendable () async throws(StoreError) -> Answer
    ) async throws(StoreError) -> Answer {
        let clock = clock
        let patience = Self.patience
        let late = StoreError.unavailable("no answer within a second")
        let found: Result<Answer, StoreError>? = await withTaskGroup(
            of: Result<Answer, StoreError>?.self
        ) { group in
            group.addTask {
                do throws(StoreError) {
                    return Result<Answer, StoreError>.success(try await request())
                } catch {
                    return Result<Answer, StoreError>.failure(error)
                }
            }
            group.addTask {
                // A cancelled sleep means that the answer has arrived.
                try? await clock.sleep(for: patience)
                return nil
            }
            var found: Result<Answer, StoreError>?
            var isLate = false
            // The first result cancels the other task, whose answer still counts if it has one.
            for await result in group {
                group.cancelAll()
                guard let result else {
                    isLate = true
                    continue
                }
                if case .failure = result, isLate {
                    found = .failure(late)
                } else {
                    found = result
                }
            }
            return found
        }
        guard let found else { throw late }
        return try found.get()
    }

    /// Records the result of a request.
    ///
    /// - Parameters:
    ///   - partition: the partition.
    ///   - isThere: whether it answered.
    ///   - began: the time of the request.
    /// - Returns: whether the partition counts as unavailable.
    @discardableResult
    package func note(_ partition: Partition, isThere: Bool, since began: C.Instant) -> Bool {
        let now = clock.now
        return unreachable.withLock { unreachable in
            if isThere {
                unreachable[partition] = nil
                return false
            }
            guard clock.hasWaited(since: began) else {
                // The partition refused at once, so it is running and may recover soon.
                if unreachable[partition] != nil { unreachable[partition] = now }
                return false
            }
            if unreachable.count >= Self.countMax {
                unreachable = unreachable.filter { $0.value > now }
            }
            if unreachable.count < Self.countMax {
                unreachable[partition] = now.advanced(by: Self.span)
            }
            return true
        }
    }
}

/// The decision whether to request a partition.
package enum RequestPermission: Hashable, Sendable {
    /// Request it as usual.
    case yes
    /// It did not answer recently, and the caller must probe it for all callers, with
    /// ``UnreachablePartitions/probe(_:)``.
    case probe
    /// It did not answer recently; do not request it.
    case no
}

extension Clock where Duration == Swift.Duration {
    /// Whether a failed request has waited: a refusal comes at once, a missing answer takes a timeout of seconds.
    package func hasWaited(since began: Instant) -> Bool { began.duration(to: now) >= .seconds(1) }
}

/// Requests several partitions concurrently, so that the waits for unavailable ones overlap.
///
/// - Parameters:
///   - partitions: the partitions.
///   - most: the number of concurrent requests.
///   - request: the request to one partition.
/// - Returns: the result of each, in no order.
package func requestAll<Partition: Sendable, Answer: Sendable>(
    _ partitions: [Partition],
    most: Int = 32,
    _ request: @escaping @Sendable (Partition) async throws(StoreError) -> Answer
) async -> [(partition: Partition, result: Result<Answer, StoreError>)] {
    await withTaskGroup(of: (Partition, Result<Answer, StoreError>).self) { group in
        var answers: [(partition: Partition, result: Result<Answer, StoreError>)] = []
        for (index, partition) in partitions.enumerated() {
            if index >= most, let (partition, result) = await group.next() {
                answers.append((partition: partition, result: result))
            }
            group.addTask {
                do throws(StoreError) {
                    return (partition, .success(try await request(partition)))
                } catch {
                    return (partition, .failure(error))
                }
            }
        }
        for await (partition, result) in group {
            answers.append((partition: partition, result: result))
        }
        return answers
    }
}
