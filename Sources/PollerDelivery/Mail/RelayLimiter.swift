import NIOCore
import NIOPosix
import Poller
import PollerIdentity
import Synchronization

/// Hands out a relay's threads, so that a relay that does not answer costs the others nothing.
///
/// *Problem*: all mail goes through one relay. A tar-pit holds each attempt for half a minute; if
/// all attempts waited for a thread that long, they would soon fill the notifier, and webhooks would
/// wait with them (<doc:DeliveryFacts>).
/// *Approach*: while all threads are busy and none has ended for ``patience``, nobody waits: an
/// attempt that finds no thread fails and comes back later. While a relay is slow, ``placesMax``
/// wait, and the others no longer than that span.
/// A class, because all attempts share it.
final class RelayLimiter: Sendable {
    /// A relay that answers takes tens of milliseconds a mail: in this span eight threads send as
    /// many mails as a notifier has deliveries in flight.
    static let patience = Duration.seconds(2)
    /// A quarter of the deliveries a notifier has in flight by default.
    static let placesMax = 64
    /// Half an attempt; the other half is for sending.
    static let waitMax = Duration.seconds(15)

    /// An attempt that waits for a thread.
    private struct Waiter {
        let number: Int
        let since: NIODeadline
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// What the lock guards: the free threads and who waits for one.
    private struct State {
        var free: Int
        /// The one that has waited longest comes first.
        var waiting: [Waiter] = []
        var number = 0
        /// When a thread was last freed, or the last free one taken.
        var movedAt = NIODeadline.now()

        /// Whether somebody at a place of the line had better come back later.
        func isVain(at place: Int, since: NIODeadline, now: NIODeadline) -> Bool {
            let patience = TimeAmount.milliseconds(RelayLimiter.patience.ms)
            if movedAt + patience < now { return true }
            let isSlow = (waiting.first?.since ?? now) + patience < now
            return isSlow && place >= RelayLimiter.placesMax
                || since + .milliseconds(RelayLimiter.waitMax.ms) < now
        }
    }

    private let state: Mutex<State>

    /// Turns for so many threads.
    init(threads: Int) {
        state = Mutex(State(free: threads))
    }

    /// Waits for a thread; false when there is none.
    ///
    /// Whoever gets one must ``leave()``.
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

    /// Gives a thread back, to the waiter that has waited longest.
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

    /// Whether there is a thread right now; nil when the caller waits for one.
    private func take(_ number: Int, _ continuation: CheckedContinuation<Bool, Never>) -> Bool? {
        let isTaken: Bool? = state.withLock { state in
            // One that was cancelled before it came here must not wait for ever.
            if Task.isCancelled { return false }
            let now = NIODeadline.now()
            if state.free > 0 {
                state.free -= 1
                if state.free == 0 { state.movedAt = now }
                return true
            }
            if state.isVain(at: state.waiting.count, since: now, now: now) { return false }
            state.waiting.append(Waiter(number: number, since: now, continuation: continuation))
            return nil
        }
        if isTaken == nil { lookLater(number) }
        return isTaken
    }

    private func lookLater(_ number: Int) {
        MultiThreadedEventLoopGroup.singleton.any()
            .scheduleTask(in: .milliseconds(Self.patience.ms)) { self.look(number) }
    }

    /// Ends a wait that has become pointless, and looks again later at one that has not.
    private func look(_ number: Int) {
        let (late, isWaiting) = state.withLock { state in
            guard let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                return (nil as CheckedContinuation<Bool, Never>?, false)
            }
            let since = state.waiting[place].since
            guard state.isVain(at: place, since: since, now: .now()) else { return (nil, true) }
            return (state.waiting.remove(at: place).continuation, false)
        }
        late?.resume(returning: false)
        if isWaiting { lookLater(number) }
    }

    /// Ends the wait of somebody who was cancelled.
    private func expire(_ number: Int) {
        let late = state.withLock { state in
            state.waiting.firstIndex { $0.number == number }
                .map { state.waiting.remove(at: $0).continuation }
        }
        late?.resume(returning: false)
    }
}
