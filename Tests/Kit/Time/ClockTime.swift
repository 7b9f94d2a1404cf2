package import Poller

/// A store's clock that follows a Swift clock: real time with a `ContinuousClock`, and one time
/// for store and loops with a ``ManualClock``.
package struct ClockTime<C: Clock>: StoreTime where C.Duration == Duration, C.Instant: Sendable {
    private let clock: C
    private let start: C.Instant
    private let epoch: Timestamp

    /// Shows `epoch` now, and moves on with `clock`.
    package init(_ clock: C, epoch: Timestamp = VirtualTime.start) {
        self.clock = clock
        start = clock.now
        self.epoch = epoch
    }

    /// The epoch and what has passed on the clock since.
    package var now: Timestamp { epoch + start.duration(to: clock.now) }
}
