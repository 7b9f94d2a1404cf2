import NIOCore
import NIOPosix
import PollerIdentity
import Synchronization

/// Assigns the relay's threads so that a hanging relay does not delay webhooks.
///
/// *Problem*: all mail goes through one relay. A hanging relay (tar pit) holds each attempt for half a minute. If all
/// attempts waited for a thread that long, they would fill the notifier, and webhooks would wait, too
/// (<doc:DeliveryFacts>).
/// *Approach*: if all threads are busy and none has been released for ``stallTimeout``, no attempt waits. An attempt
/// without a thread fails and is retried later. While a relay is slow, at most ``waitersMax`` attempts wait, each for
/// at most ``waitMax``.
final class RelayLimiter: Sendable {
    /// The time without a released thread after which the relay counts as hanging.
    ///
    /// A healthy relay takes tens of milliseconds per mail. In this time eight threads send as many mails as a
    /// notifier has deliveries in flight.
    static let stallTimeout = Duration.seconds(2)
    /// The maximum number of waiting attempts: a quarter of a notifier's default deliveries in flight.
    static let waitersMax = 64
    /// The longest wait for a thread: half of an attempt's time, so that the other half remains for sending.
    static let waitMax = Duration.seconds(15)

    /// An attempt that waits for a thread.
    private struct Waiter {
        let number: Int
        let since: NIODeadline
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// The state that the lock protects: the free threads and the waiting attempts.
    private struct State {
        var free: Int
        /// The waiting attempts, longest wait first.
        var waiting: [Waiter] = []
        var number = 0
        /// The time at which a thread was last released, or the last free one was taken.
        var movedAt = NIODeadline.now()

        /// Whether an attempt at this position should fail and be retried later.
        func isPointless(at position: Int, since: NIODeadline, now: NIODeadline) -> Bool {
            let stallTimeout = TimeAmount.milliseconds(RelayLimiter.stallTimeout.ms)
            if movedAt + stallTimeout < now { return true }
            let isSlow = (waiting.first?.since ?? now) + stallTimeout < now
            return isSlow && position >= RelayLimiter.waitersMax
                || since + .milliseconds(RelayLimiter.waitMax.ms) < now
        }
    }

    private let state: Mutex<State>

    /// Creates a limiter for a number of threads.
    init(threads: Int) {
        state = Mutex(State(free: threads))
    }

    /// Waits for a thread; returns `false` if there is none.
    ///
    /// A caller that gets a thread must call ``leave()``.
    func enter() async -> Bool {
        let number = state.withLock { state in
            state.number += 1
            return state.number
        }
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                if let isOurs = take(number, continuation) {
                    continuation.resume(returning: isOurs)
                }
            }
        } onCancel: {
            expire(number)
        }
    }

    /// Releases a thread to the attempt that has waited longest.
    func leave() {
        let next = state.withLock { state in
            state.movedAt = .now()
            guard !state.waiting.isEmpty else {
                state.free += 1
                return nil as CheckedContinuation<Bool, Never>?
            }
            return state.waiting.removeFirst().continuation
        }
        next?.resume(returning: true)
    }

    /// Takes a free thread, or lets the attempt wait for one.
    ///
    /// - Returns: `true` if a thread was taken. `false` if none is free and waiting is pointless, or the task was
    ///   cancelled. `nil` if the attempt waits.
    private func take(_ number: Int, _ continuation: CheckedContinuation<Bool, Never>) -> Bool? {
        let isTaken: Bool? = state.withLock { state in
            // An attempt that was cancelled before this point must not wait forever.
            if Task.isCancelled { return false }
            let now = NIODeadline.now()
            if state.free > 0 {
                state.free -= 1
                if state.free == 0 { state.movedAt = now }
                return true
            }
            if state.isPointless(at: state.waiting.count, since: now, now: now) { return false }
            state.waiting.append(Waiter(number: number, since: now, continuation: continuation))
            return nil
        }
        if isTaken == nil { scheduleCheck(number) }
        return isTaken
    }

    private func scheduleCheck(_ number: Int) {
        MultiThreadedEventLoopGroup.singleton.any()
            .scheduleTask(in: .milliseconds(Self.stallTimeout.ms)) { self.checkWait(number) }
    }

    /// Ends a pointless wait, or schedules the next check.
    private func checkWait(_ number: Int) {
        let (late, isWaiting) = state.withLock { state in
            guard let position = state.waiting.firstIndex(where: { $0.number == number }) else {
                return (nil as CheckedContinuation<Bool, Never>?, false)
            }
            let since = state.waiting[position].since
            guard state.isPointless(at: position, since: since, now: .now()) else {
                return (nil, true)
            }
            return (state.waiting.remove(at: position).continuation, false)
        }
        late?.resume(returning: false)
        if isWaiting { scheduleCheck(number) }
    }

    /// Ends the wait of a cancelled attempt.
    private func expire(_ number: Int) {
        let late = state.withLock { state in
            state.waiting.firstIndex { $0.number == number }
                .map { state.waiting.remove(at: $0).continuation }
        }
        late?.resume(returning: false)
    }
}
