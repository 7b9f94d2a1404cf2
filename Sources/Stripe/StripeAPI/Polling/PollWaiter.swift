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
