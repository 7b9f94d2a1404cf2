package import PollerIdentity

// What a sweep reads, so that it misses nothing that becomes visible late.
//
// Problem: an upstream's list of events is eventually consistent. An event may appear seconds or minutes after others
// that were made later, behind the place which the sweep has reached. A sweep that only goes on behind the last event it
// saw passes it by, and where the webhook is lost as well the change is never seen.
//
// Approach: the sweep reads an overlap again, everything of the last ten minutes. A mark in the store drops what it has
// handled already. One request of 100 events is the overlap of most accounts, and takes the place of the request that
// goes on behind the last event; so it costs nothing. An account with more events is read in pages behind the last
// one, and its overlap only so often that reading again takes a request every three seconds on average.
//
// Rejected: a second cursor that follows the first ten minutes later. It reads every event exactly twice, whatever
// the account, and finds a late one ten minutes late.
//
// *Clocks*: the overlap is counted by the store's clock, and the upstream's may differ. Half of the ten minutes are for
// that: it is what webhooks tolerate too, and beyond it the doctor says so. With a greater difference the overlap may be
// empty; the place in the list never depends on a clock, so events are then read once, as they appear.

/// What a sweep reads next.
package enum SweepStep: Hashable, Sendable {
    /// A page behind the last event that it saw.
    case page(after: String)
    /// Everything since a time.
    case overlap(since: Timestamp)

    /// How much is read again: five minutes that an event may take to become visible, and as much for clocks that
    /// differ.
    package static let span = Duration.seconds(600)
    /// How long each request of a reading puts off the next one.
    static let pausePerRequest = Duration.seconds(3)

    /// The step of a sweep.
    ///
    /// `interval`: the pause between two sweeps of the account.
    init(_ turn: SweepTurn, interval: Duration) {
        let caughtUpAt = turn.caughtUpAt.map { min($0, turn.now) } ?? turn.now
        let overlap = Self.overlap(since: caughtUpAt + (.zero - Self.span))
        switch turn.cursor {
        case .start: self = overlap
        case .since(let time): self = .overlap(since: min(time, turn.now) + (.zero - Self.span))
        case .after(let id):
            // After a downtime there may be any number of events: they are read in pages.
            let isRecent = turn.now - caughtUpAt <= max(Self.span, interval * 2)
            self = isRecent && turn.isRereadDue ? overlap : .page(after: id)
        }
    }

    /// How long marks must drop what was handled: longer than an event is listed again.
    static func markSpan(interval: Duration) -> Duration {
        max(Hinting.eventSpan, span * 2 + interval * 3)
    }

    /// The events of the list that this step reads.
    var range: EventRange {
        switch self {
        case .page(let id): .after(id)
        case .overlap(let time): .since(time)
        }
    }
}

/// How far a sweep has come with what it has read.
struct SweepReading: Hashable, Sendable {
    let cursor: SweepCursor
    let isCaughtUp: Bool
    let rereadPause: Duration?

    /// What reading `page` by `step` leads to.
    init(_ step: SweepStep, _ page: AccountEventsPage, _ turn: SweepTurn, interval: Duration) {
        let newest = page.events.last.map { SweepCursor.after($0.id) }
        switch (step, turn.cursor) {
        case (.page, _):
            cursor = newest ?? turn.cursor
            isCaughtUp = !page.hasMore
            rereadPause = nil
        case (.overlap, .after(let last)):
            // Only then nothing can be between what was seen and what was read now.
            let isConnected = page.events.contains { $0.id == last }
            cursor = isConnected ? newest ?? turn.cursor : turn.cursor
            isCaughtUp = isConnected || !page.hasMore
            let pause = SweepStep.pausePerRequest * page.requests
            rereadPause = isConnected ? pause : max(pause, interval * 3 / 2)
        case (.overlap, _):
            cursor = newest ?? (turn.cursor == .start ? .since(turn.now) : turn.cursor)
            isCaughtUp = true
            rereadPause = SweepStep.pausePerRequest * page.requests
        }
    }
}
