package import PollerIdentity

// The ranges that a sweep reads, so that it misses no event that becomes visible late.
//
// Problem: an upstream's event list is eventually consistent. An event may appear seconds or minutes after later ones,
// before the position that the sweep has reached. A sweep that only continues after the last event would miss it, and
// if the webhook is lost too, the change is never noticed.
//
// Approach: the sweep repeatedly reads an overlap, everything of the last ten minutes. A mark in the store drops the
// events that were handled already. For most accounts the overlap is one request of 100 events, which replaces the
// request after the last event, so it costs nothing. An account with more events is read in pages after the last one.
// Its overlap is read only so often that it costs one request every three seconds on average.
//
// Rejected: a second cursor that follows the first ten minutes later, because it reads every event exactly twice for
// any account, and finds a late one ten minutes late.
//
// *Clocks*: the overlap is counted by the store's clock, and the upstream's may differ. Half of the ten minutes are for
// that: webhooks tolerate the same difference, and the doctor reports a greater one. With a greater difference the
// overlap may be empty. The position in the list never depends on a clock, so events are then read once, as they
// appear.

/// The next range of a sweep.
package enum SweepStep: Hashable, Sendable {
    /// A page after the last event.
    case page(after: String)
    /// Everything since a time.
    case overlap(since: Timestamp)

    /// The length of the overlap: five minutes in which an event may become visible, and as much for differing clocks.
    package static let span = Duration.seconds(600)
    /// The pause that each request of an overlap adds before the next overlap.
    static let pausePerRequest = Duration.seconds(3)

    /// Chooses the step of a sweep.
    ///
    /// `interval`: the pause between two sweeps of the account.
    init(_ lease: SweepLease, interval: Duration) {
        let caughtUpAt = lease.caughtUpAt.map { min($0, lease.now) } ?? lease.now
        let overlap = Self.overlap(since: caughtUpAt + (.zero - Self.span))
        switch lease.cursor {
        case .start: self = overlap
        case .since(let time): self = .overlap(since: min(time, lease.now) + (.zero - Self.span))
        case .after(let id):
            // After a downtime there may be any number of events, so they are read in pages.
            let isRecent = lease.now - caughtUpAt <= max(Self.span, interval * 2)
            self = isRecent && lease.isRereadDue ? overlap : .page(after: id)
        }
    }

    /// Returns the lifetime of marks, longer than an event may be listed again.
    static func markSpan(interval: Duration) -> Duration {
        max(HintIntake.eventSpan, span * 2 + interval * 3)
    }

    /// The range in the list.
    var range: EventRange {
        switch self {
        case .page(let id): .after(id)
        case .overlap(let time): .since(time)
        }
    }
}

/// The progress of a sweep after a read.
struct SweepReading: Hashable, Sendable {
    let cursor: SweepCursor
    let isCaughtUp: Bool
    let rereadPause: Duration?

    /// Derives the progress after reading `page` by `step`.
    init(_ step: SweepStep, _ page: AccountEventsPage, _ lease: SweepLease, interval: Duration) {
        let newest = page.events.last.map { SweepCursor.after($0.id) }
        switch (step, lease.cursor) {
        case (.page, _):
            cursor = newest ?? lease.cursor
            isCaughtUp = !page.hasMore
            rereadPause = nil
        case (.overlap, .after(let last)):
            // Only then no event can be between the earlier ones and these.
            let isConnected = page.events.contains { $0.id == last }
            cursor = isConnected ? newest ?? lease.cursor : lease.cursor
            isCaughtUp = isConnected || !page.hasMore
            let pause = SweepStep.pausePerRequest * page.requests
            rereadPause = isConnected ? pause : max(pause, interval * 3 / 2)
        case (.overlap, _):
            // If there are more than fifty pages since a sweep that found no event, polls find the older changes.
            cursor = newest ?? (lease.cursor == .start ? .since(lease.now) : lease.cursor)
            isCaughtUp = true
            rereadPause = SweepStep.pausePerRequest * page.requests
        }
    }
}
