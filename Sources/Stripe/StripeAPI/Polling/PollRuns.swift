/// The active runs of a ``SourcePoller`` and their waiters; plain state guarded by a lock.
///
/// The number of runs is not limited, but each run ends after its timeout of at most 300 s.
struct PollRuns {
    /// An active run, which polls one Source.
    struct Run {
        /// The token of the call that started the run; it distinguishes a run from a later run of the same Source.
        let started: Int
        var task: Task<Void, Never>?
        var waiters: [Int: PollWaiter]
        var latest: Source?
    }

    private var runs: [String: Run] = [:]
    private var lastToken = 0

    /// Returns a token that is unique among all calls.
    mutating func makeToken() -> Int {
        lastToken += 1
        return lastToken
    }

    /// Adds a waiter; returns `true` when the caller must start a run.
    mutating func add(_ waiter: PollWaiter, _ token: Int, to id: String) -> Bool {
        guard runs[id] == nil else {
            runs[id]?.waiters[token] = waiter
            return false
        }
        runs[id] = Run(started: token, waiters: [token: waiter])
        return true
    }

    /// Stores the task of a run.
    mutating func setTask(of id: String, _ task: Task<Void, Never>) {
        runs[id]?.task = task
    }

    /// Stores the latest Source of a run.
    mutating func record(_ source: Source?, _ id: String, _ started: Int) {
        guard runs[id]?.started == started else { return }
        runs[id]?.latest = source
    }

    /// Removes a waiter; returns the run's task as `idle` when no waiter is left.
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

    mutating func remove(_ id: String) -> Run? {
        runs.removeValue(forKey: id)
    }

    /// Removes a finished run and returns the waiters that must receive its result.
    mutating func finish(_ id: String, _ started: Int) -> [PollWaiter] {
        guard runs[id]?.started == started else { return [] }
        return runs.removeValue(forKey: id).map { Array($0.waiters.values) } ?? []
    }
}

/// A caller that waits for the result of a run.
enum PollWaiter: Sendable {
    /// An async call.
    case continuation(CheckedContinuation<SourcePollResult, Never>)
    /// A callback.
    case completion(SourcePoller.Completion)

    /// Delivers the result.
    func resume(_ result: SourcePollResult) {
        switch self {
        case .continuation(let continuation): continuation.resume(returning: result)
        case .completion(let completion):
            var error = result.error
            if result.source == nil, error == nil {
                // A callback without a Source or an error would leave the caller nothing to act on.
                error = .transport(
                    TransportFailure(
                        kind: .connection,
                        detail: "the source has not been read yet"
                    )
                )
            }
            completion(result.source, error)
        }
    }

    /// Resumes an async call with the latest Source; a callback is not called.
    func stop(_ latest: Source?) {
        guard case .continuation(let continuation) = self else { return }
        continuation.resume(returning: SourcePollResult(source: latest, end: .stopped))
    }
}
