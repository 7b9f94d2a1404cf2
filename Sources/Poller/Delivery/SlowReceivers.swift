import Synchronization

/// Who holds the places of a notifier while their receivers take their time.
///
/// *Problem.* A notifier makes so many attempts at once, and one of them may take 15 s. An account with
/// thousands of endpoints that do not answer would hold every place, and what is recorded for others would
/// wait behind it, again and again; no lane sees that, because each endpoint is one of its own.
///
/// *Approach.* An attempt that has taken longer than ``patience`` is slow, and goes on without its place
/// (``SlowHandlers``), as long as there are fewer of these than places. What goes beyond one of these bounds is
/// put off for a while, so that its place is free at once:
/// 1. The slow attempts of an account are half of what those of other accounts leave.
/// 2. Those of one host are three quarters of what the account's other hosts leave of that, so that who
///    answers is told beside a platform that does not. Once a host has been slow ``Host/suspectAt`` times in a
///    row, all its attempts count, or each second would begin as many as there are places.
/// 3. While much is slow, the attempts of an account are a quarter of what those of others leave, or the next
///    one to fall silent would hold every place before it is known to.
///
/// Quick receivers are put off by the third alone, and nobody is while little is under way. Each channel of an
/// account counts for itself: its mail, which goes through one relay, says nothing of its webhooks. Who is put
/// off stands in a line: a return each ``step``, so that the first to come back are the first that came.
///
/// No I/O and no clock. A class, because the handlers of a notifier share it.
package final class SlowReceivers: Sendable {
    /// How long an attempt may take before it counts and gives its place back: a good receiver has answered by then.
    package static var patience: Duration { .seconds(1) }
    /// For how long an attempt is put off.
    static var pause: ClosedRange<Duration> { .seconds(3) ... .seconds(60) }
    /// Between two returns of an account: 200 a second are nothing to Redis.
    static var step: Duration { .milliseconds(5) }
    /// Hosts remembered of an account while nothing is under way to them.
    private static var hostsMax: Int { 1024 }

    /// Whom an account tells through one channel.
    struct Party: Hashable, Sendable {
        let account: AccountID
        /// The channel's name: one of its schemes, always the same.
        let channel: String
    }

    /// Attempts under way, the oldest first.
    private struct Attempts: Sendable {
        private var began: [Timestamp] = []

        var count: Int { began.count }

        func slow(_ now: Timestamp) -> Int {
            began.prefix { now - $0 >= SlowReceivers.patience }.count
        }

        mutating func begin(_ now: Timestamp) {
            // Clocks may step back: the order is that of the times.
            began.insert(now, at: began.lastIndex { $0 <= now }.map { $0 + 1 } ?? 0)
        }

        mutating func end(_ instant: Timestamp) {
            if let at = began.firstIndex(of: instant) { began.remove(at: at) }
        }
    }

    /// What is known of a host.
    private struct Host: Sendable {
        /// One of many receivers behind a host may be slow; three in a row seldom are by chance.
        static var suspectAt: Int { 3 }

        var attempts = Attempts()
        /// Attempts in a row that were slow.
        var slowInARow = 0

        func counted(_ now: Timestamp) -> Int {
            slowInARow >= Self.suspectAt ? attempts.count : attempts.slow(now)
        }
    }

    /// What an account has under way through a channel.
    private struct Own: Sendable {
        var attempts = Attempts()
        /// Those to which something is under way, or that were slow last.
        var hosts: [String: Host] = [:]
        /// When the last of those that were put off comes back.
        var lastReturn: Timestamp?
    }

    private let places: Int
    private let parties = Mutex<[Party: Own]>([:])

    /// Nobody is told anything yet, in so many places.
    init(places: Int) {
        self.places = places
    }

    /// Counts an attempt that begins now, until ``end(_:_:began:now:)``; or returns for how long it
    /// is to be put off.
    ///
    /// One that `isNeeded` is counted and never put off.
    func begin(
        _ party: Party,
        _ host: String,
        isNeeded: Bool = false,
        now: Timestamp
    ) -> Duration? {
        parties.withLock { parties in
            if !isNeeded, isTooMuch(party, host, parties, now) {
                let last = parties[party]?.lastReturn ?? now
                let soon = max(now + Self.pause.lowerBound, last + Self.step)
                let back = min(soon, now + Self.pause.upperBound)
                parties[party]?.lastReturn = back
                return back - now
            }
            parties[party, default: Own()].attempts.begin(now)
            parties[party]?.hosts[host, default: Host()].attempts.begin(now)
            return nil
        }
    }

    private func isTooMuch(
        _ party: Party,
        _ name: String,
        _ parties: [Party: Own],
        _ now: Timestamp
    ) -> Bool {
        let underWay = parties.values.reduce(0) { $0 + $1.attempts.count }
        guard underWay >= max(1, places / 8) else { return false }
        let allSlow = parties.values.reduce(0) { $0 + $1.attempts.slow(now) }
        let own = parties[party] ?? Own()
        let ownSlow = own.attempts.slow(now)
        let share = max(1, (places - (allSlow - ownSlow)) / 2)
        if ownSlow >= share { return true }
        if let host = own.hosts[name] {
            let ofOthers = ownSlow - host.attempts.slow(now)
            if host.counted(now) >= max(1, (share - ofOthers) * 3 / 4) { return true }
        }
        let left = 2 * places - (underWay - own.attempts.count)
        return allSlow * 2 >= places && own.attempts.count >= max(1, left / 4)
    }

    /// An attempt has ended.
    func end(_ party: Party, _ host: String, began: Timestamp, now: Timestamp) {
        parties.withLock { parties in
            guard var own = parties[party], var ended = own.hosts[host] else { return }
            own.attempts.end(began)
            ended.attempts.end(began)
            ended.slowInARow = now - began >= Self.patience ? ended.slowInARow + 1 : 0
            let isOver = ended.attempts.count == 0 && ended.slowInARow == 0
            own.hosts[host] = isOver ? nil : ended
            if own.hosts.count > Self.hostsMax {
                own.hosts = own.hosts.filter { $0.value.attempts.count > 0 }
            }
            parties[party] = own
        }
    }
}
