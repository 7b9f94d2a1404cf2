package import PollerDeliveries
package import PollerIdentity
package import PollerWatches
import Synchronization

/// A channel that returns the results scripted by a test, and records its attempts.
///
/// This is a class because the test and the notifier share it.
package final class RecordingChannel: DeliveryChannel {
    /// One attempt as it arrived.
    package struct Attempt: Hashable, Sendable {
        package let event: Event
        package let target: DeliveryTarget
        /// The number of the attempt, from 1.
        package let number: Int

        package var url: NotifyURL { target.url }
    }

    private struct State: Sendable {
        var answers: [AttemptResult] = []
        var attempts: [Attempt] = []
    }

    package let schemes: Set<String>
    package let timeout: Duration
    package let schedule: RetrySchedule
    package let isSuperseding: Bool
    private let isWanted: @Sendable (Event) -> Bool
    private let state = Mutex(State())

    /// Creates a channel that accepts everything until a test scripts other results.
    package init(
        schemes: Set<String> = ["https", "http"],
        timeout: Duration = .seconds(10),
        schedule: RetrySchedule = .webhook,
        isSuperseding: Bool = false,
        wants isWanted: @escaping @Sendable (Event) -> Bool = { _ in true }
    ) {
        self.schemes = schemes
        self.timeout = timeout
        self.schedule = schedule
        self.isSuperseding = isSuperseding
        self.isWanted = isWanted
    }

    /// Sets the results of the next attempts; later ones are delivered.
    package func script(_ answers: [AttemptResult]) {
        state.withLock { $0.answers = answers }
    }

    /// Every attempt so far, in order.
    package var attempts: [Attempt] { state.withLock { $0.attempts } }

    package func supports(_ event: Event) -> Bool { isWanted(event) }

    package func deliver(
        _ event: Event,
        to target: DeliveryTarget,
        attempt: Int
    ) async -> AttemptResult {
        state.withLock { state in
            state.attempts.append(Attempt(event: event, target: target, number: attempt))
            return state.answers.isEmpty ? .delivered : state.answers.removeFirst()
        }
    }
}
