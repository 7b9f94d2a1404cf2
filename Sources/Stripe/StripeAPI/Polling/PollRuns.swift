/// The runs of a ``SourcePoller`` and who waits for each; plain state, held in a lock.
///
/// There are as many as callers ask for: each is bounded in time, by its timeout of at most 300 s.
struct PollRuns {
    /// One Source that is being polled.
    struct Run {
        /// The token of the call that began it, by which an old run cannot be taken for a new one.
        let started: Int
        var task: Task<Void, Never>?
        var waiters: [Int: PollWaiter]
        var latest: Source?
    }

    private var runs: [String: Run] = [:]
    private var lastToken = 0

    /// A number that no other call has.
    mutating func makeToken() -> Int {
        lastToken += 1
        return lastToken
    }

    /// Adds a waiter; true when a run has to begin for it.
    mutating func add(_ waiter: PollWaiter, _ token: Int, to id: String) -> Bool {
        guard runs[id] == nil else {
            runs[id]?.waiters[token] = waiter
            return false
        }
        runs[id] = Run(started: token, waiters: [token: waiter])
        return true
    }

    /// Keeps the task of a run that has begun.
    mutating func setTask(of id: String, _ task: Task<Void, Never>) {
        runs[id]?.task = task
    }

    /// Keeps the last Source seen.
    mutating func record(_ source: Source?, _ id: String, _ started: Int) {
        guard runs[id]?.started == started else { return }
        runs[id]?.latest = source
    }

    /// Takes a waiter out; the task comes with it when nobody waits for it any more.
    mutating func removeWaiter(
        _ id: String,
        _ token: Int
    ) -> (waiter: PollWaiter?, latest: Source?, idle: Task<Void, Never>?) {
        guard let waiter = runs[id]?.waiters.removeValue(forKey: token) else {
            return (nil, nil, nil)
        }
        let latest = runs[id]?.latest
        guard runs[id]?.waiters.isEmpty == true else { return (waiter, latest, nil) }
        return (waiter, latest, runs.removeValue(forKey: id)?.task)
    }

    /// Takes a run out.
    mutating func remove(_ id: String) -> Run? {
        runs.removeValue(forKey: id)
    }

    /// Takes a run that has ended out; its waiters are those to be told.
    mutating func finish(_ id: String, _ started: Int) -> [PollWaiter] {
        guard runs[id]?.started == started else { return [] }
        return runs.removeValue(forKey: id).map { Array($0.waiters.values) } ?? []
    }
}

/// Somebody who waits for the result of a run.
enum PollWaiter: Sendable {
    /// An async call.
    case continuation(CheckedContinuation<SourcePollResult, Never>)
    /// A callback.
    case completion(SourcePoller.Completion)

    /// Hands the result over.
    func resume(_ result: SourcePollResult) {
        switch self {
        case .continuation(let continuation): continuation.resume(returning: result)
        case .completion(let completion):
            var error = result.error
            if result.source == nil, error == nil {
                // Neither would leave the caller with nothing to act upon.
                error = .transport(
                    TransportFailure(
                        kind: .connection,
                        detail: "nothing is known of the source yet"
                    )
                )
            }
            completion(result.source, error)
        }
    }

    /// Sends an async call home; a callback is not called.
    func stop(_ latest: Source?) {
        guard case .continuation(let continuation) = self else { return }
        continuation.resume(returning: SourcePollResult(source: latest, end: .stopped))
    }
}
