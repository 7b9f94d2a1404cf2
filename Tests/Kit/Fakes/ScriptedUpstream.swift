import JSONText
package import Poller
package import PollerIdentity
import PollerPayments
package import PollerWatches
import Synchronization

/// An upstream that returns the results scripted by a test, and records its polls.
///
/// The results of a source are used in order, and the last one is repeated. This is a class because the test and the
/// worker share it.
package final class ScriptedUpstream: Upstream {
    /// One poll as it arrived.
    package struct Call: Hashable, Sendable {
        /// The watch as the worker has it.
        package let watch: Watch
        /// The worker's timeout.
        package let timeout: Duration
    }

    private struct State: Sendable {
        var answers: [SourceID: [PollResult]] = [:]
        var calls: [Call] = []
        var held: Set<SourceID> = []
        var waiting: [Int: (source: SourceID, continuation: CheckedContinuation<Void, Never>)] = [:]
        var nextNumber = 0
    }

    private let fallback: PollResult
    private let state = Mutex(State())

    /// Creates an upstream that returns `fallback` for sources without a script.
    package init(fallback: PollResult = .pending) {
        self.fallback = fallback
    }

    /// Sets the results of the next polls of a source.
    package func script(_ source: SourceID, _ answers: [PollResult]) {
        state.withLock { $0.answers[source] = answers }
    }

    /// Holds polls of a source until ``release(_:)`` or until they are cancelled.
    package func hold(_ source: SourceID) {
        state.withLock { _ = $0.held.insert(source) }
    }

    /// Lets the held polls of a source continue.
    package func release(_ source: SourceID) {
        let released = state.withLock { state in
            state.held.remove(source)
            let numbers = state.waiting.filter { $0.value.source == source }.map(\.key)
            return numbers.compactMap { state.waiting.removeValue(forKey: $0)?.continuation }
        }
        for continuation in released { continuation.resume() }
    }

    /// Every poll so far, in order.
    package var calls: [Call] { state.withLock { $0.calls } }

    /// Returns the polls of one source so far.
    package func calls(of source: SourceID) -> [Call] {
        calls.filter { $0.watch.key.source == source }
    }

    package func poll(_ watch: Watch, timeout: Duration) async -> PollResult {
        let source = watch.key.source
        state.withLock { $0.calls.append(Call(watch: watch, timeout: timeout)) }
        await waitWhileHeld(source)
        if Task.isCancelled { return .unavailable("cancelled", retryAfter: nil) }
        return state.withLock { state in
            guard let answers = state.answers[source], let answer = answers.first else {
                return fallback
            }
            if answers.count > 1 { state.answers[source]?.removeFirst() }
            return answer
        }
    }

    private func waitWhileHeld(_ source: SourceID) async {
        let number = state.withLock { state in
            state.nextNumber += 1
            return state.nextNumber
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let goesOn = state.withLock { state in
                    guard state.held.contains(source), !Task.isCancelled else { return true }
                    state.waiting[number] = (source, continuation)
                    return false
                }
                if goesOn { continuation.resume() }
            }
        } onCancel: {
            let waiting = state.withLock { $0.waiting.removeValue(forKey: number) }
            waiting?.continuation.resume()
        }
    }
}

extension PollResult {
    /// The result for a source that waits for its customer.
    package static var pending: PollResult { .status("pending") }

    /// Returns a result with a status and a small object.
    package static func status(_ status: String, final: Bool = false) -> PollResult {
        .observed(
            Observation(
                status: SourceStatus(unchecked: status),
                final: final,
                object: RawJSON(unchecked: #"{"object":"source","status":"\#(status)"}"#)
            )
        )
    }
}
