import PollerQueue
import PollerWatches
import Synchronization

/// Batches single requests to enqueue that arrive while a call of their partition is in progress.
///
/// *Problem.* Starting a script takes Redis several times as long as one watch in it. A server with many clients makes
/// many calls at the same time, each for one watch.
///
/// *Approach.* A partition has one call in progress. The requests that arrive meanwhile wait and make the next call
/// together. So a request waits for at most one call of others, and never if it is alone. One of the waiting callers
/// makes the call, and each gets its own answer.
///
/// *Failure.* If the store is unavailable, the waiting requests fail, too, instead of waiting for the same timeout once
/// more. If the caller that makes the call is cancelled, each of the others makes a call of its own.
final class EnqueueBatcher: Sendable {
    typealias Answer = Result<EnqueueResult, StoreError>

    /// The most requests of one call: about a millisecond of Redis, and 4 MiB if each is as large as possible.
    private static let most = 64

    /// The result of the wait of a request.
    private enum Turn: Sendable {
        case answered(Answer)
        /// Makes the call for itself and for these.
        case calls([Waiting])
    }

    /// A request that waits.
    private struct Waiting: Sendable {
        let watch: NewWatch
        let resume: @Sendable (Turn) -> Void
    }

    /// The requests that wait, by partition; a partition with a value has a call in progress.
    private let waiting = Mutex<[Int: [Waiting]]>([:])

    /// Returns the result for a watch, by a call that other requests of its partition may share.
    ///
    /// `call` returns one answer for each watch, in order.
    func result(
        of watch: NewWatch,
        partition: Int,
        _ call: ([NewWatch]) async -> [Answer]
    ) async throws(StoreError) -> EnqueueResult {
        switch await turn(of: watch, partition) {
        case .answered(let answer): return try answer.get()
        case .calls(let others):
            var answers = await call([watch] + others.map(\.watch))[...]
            let own = answers.popFirst() ?? Self.missing
            switch own {
            case .failure(.unavailable) where Task.isCancelled:
                startNext(in: partition)
                for other in others { other.resume(.calls([])) }
                return try own.get()
            case .failure(.unavailable): failWaiting(in: partition, own)
            default: startNext(in: partition)
            }
            for other in others {
                let answer = answers.popFirst() ?? Self.missing
                // This caller may have been cancelled between the calls for single requests.
                if case .failure(.unavailable) = answer, Task.isCancelled {
                    other.resume(.calls([]))
                } else {
                    other.resume(.answered(answer))
                }
            }
            return try own.get()
        }
    }

    private static let missing = Answer.failure(.corrupt("enqueue.lua answered too little"))

    /// Waits for the call in progress, if there is one.
    private func turn(of watch: NewWatch, _ partition: Int) async -> Turn {
        await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                guard waiting[partition] != nil else {
                    waiting[partition] = []
                    return true
                }
                waiting[partition]?.append(
                    Waiting(watch: watch) { continuation.resume(returning: $0) }
                )
                return false
            }
            if isFirst { continuation.resume(returning: .calls([])) }
        }
    }

    /// Lets the first waiting request make the next call.
    private func startNext(in partition: Int) {
        let next = waiting.withLock { waiting in
            let all = waiting[partition] ?? []
            waiting[partition] = all.isEmpty ? nil : Array(all.dropFirst(Self.most))
            return all.prefix(Self.most)
        }
        next.first?.resume(.calls(Array(next.dropFirst())))
    }

    private func failWaiting(in partition: Int, _ answer: Answer) {
        let all = waiting.withLock { $0.removeValue(forKey: partition) ?? [] }
        for one in all { one.resume(.answered(answer)) }
    }
}
