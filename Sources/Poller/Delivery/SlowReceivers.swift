import PollerIdentity
import Synchronization

/// Who holds the places of a notifier while their receivers take their time.
///
/// *Problem.* A notifier makes so many attempts at once, and one of them may take 15 s. An account with
/// thousands of endpoints that do not answer would hold every place, and what is recorded for others would
/// wait behind it, again and again; no lane sees that, because each endpoint is one of its own.
///
/// *Approach.* An attempt that has taken longer than ``patience`` is slow, and goes on without its place
/// (`SlowHandlers`), as long as there are fewer of these than places. What goes beyond one of these bounds is
/// put off for a while, so that its place is free at once:
/// 1. The slow attempts of an account are half of what those of other accounts leave.
/// 2. Those of one host are three quarters of what the account's other hosts leave of that, so that who
///    answers is told beside a platform that does not. While most of a host's attempts are very slow, all of
///    them count, or each second would begin as many as there are places.
/// 3. While much is slow, the attempts of an account are a quarter of what those of others leave, or the next
///    one to fall silent would hold every place before it is known to.
///
/// Nobody is put off while little is under way. Each channel of an account counts for itself: its mail, which
/// goes through one relay, says nothing of its webhooks. Who is put off stands in a line of their host, a return
/// each ``step``, so that the first to come back are the first that came; and the account in one that is quicker.
///
/// No I/O and no clock. A class, because the handlers of a notifier share it.
package final class SlowReceivers: Sendable {
    /// How long an attempt may take before it counts and gives its place back: a good receiver has answered by then.
    ///
    /// At most `Upcoming.placeWait`, or what waits for the place would be handed back just before it is free.
    package static var patience: Duration { .seconds(1) }
    /// For how long an attempt is put off.
    static var pause: ClosedRange<Duration> { .seconds(3) ... .seconds(60) }
    /// Between two returns to a host: 200 a second are nothing to Redis.
    static var step: Duration { .milliseconds(5) }
    /// Between two returns of an account: as much as its hosts may ask for together.
    static var accountStep: Duration { .milliseconds(1) }
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
        /// From here on all its attempts count: one of many receivers behind a host may be slow, and a few more by
        /// chance.
        static var suspectAt: Int { 3 }
        /// So many quick answers make up for any number of slow ones.
        static var suspicionMax: Int { 10 }
        /// An attempt that raises suspicion: a receiver that takes a second or two ends by itself.
        static var silence: Duration { SlowReceivers.patience * 3 }

        var attempts = Attempts()
        /// Very slow attempts less quick ones.
        var suspicion = 0
        /// When the last of those that were put off comes back.
        var lastReturn: Timestamp?

        func counted(_ now: Timestamp) -> Int {
            suspicion >= Self.suspectAt ? attempts.count : attempts.slow(now)
        }

        mutating func end(_ began: Timestamp, _ now: Timestamp) {
            attempts.end(began)
            if now - began >= Self.silence { suspicion = min(suspicion + 1, Self.suspicionMax) }
            if now - began < SlowReceivers.patience { suspicion = max(suspicion - 1, 0) }
        }

        func isForgettable(_ now: Timestamp) -> Bool {
            attempts.count == 0 && (lastReturn ?? now) <= now
        }
    }

    /// What an account has under way through a channel.
    private struct Own: Sendable {
        var attempts = Attempts()
        var hosts: [String: Host] = [:]
        /// The account's place in its own line.
        var lastReturn: Timestamp?

        mutating func begin(_ host: String, _ now: Timestamp) {
            attempts.begin(now)
            hosts[host, default: Host()].attempts.begin(now)
        }

        /// When an attempt that is put off comes back.
        mutating func putOff(_ host: String, _ now: Timestamp) -> Timestamp {
            let soon = now + SlowReceivers.pause.lowerBound
            let own = max(soon, lastReturn.map { $0 + SlowReceivers.accountStep } ?? soon)
            lastReturn = own
            let after = hosts[host]?.lastReturn.map { $0 + SlowReceivers.step } ?? own
            let back = min(max(own, after), now + SlowReceivers.pause.upperBound)
            hosts[host, default: Host()].lastReturn = back
            return back
        }

        mutating func end(_ host: String, _ began: Timestamp, _ now: Timestamp) {
            attempts.end(began)
            hosts[host]?.end(began, now)
            if let ended = hosts[host], ended.suspicion == 0, ended.isForgettable(now) {
                hosts[host] = nil
            }
            if hosts.count > SlowReceivers.hostsMax {
                hosts = hosts.filter { $0.value.attempts.count > 0 }
            }
        }

        func isForgettable(_ now: Timestamp) -> Bool {
            attempts.count == 0 && hosts.values.allSatisfy { $0.isForgettable(now) }
        }
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
                return parties[party, default: Own()].putOff(host, now) - now
            }
            parties[party, default: Own()].begin(host, now)
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
            parties[party]?.end(host, began, now)
            // Who has nothing under way is found out about again within three attempts.
            if parties[party]?.isForgettable(now) == true { parties[party] = nil }
        }
    }
}
