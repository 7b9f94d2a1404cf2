import PollerIdentity
import Synchronization

/// Limits the slots of a notifier that slow recipients hold.
///
/// *Problem.* A notifier makes a limited number of concurrent attempts, and one of them may take 15 s. An account with
/// thousands of silent endpoints would repeatedly hold every slot, and the events of other accounts would wait. Lanes
/// do not prevent that, because each endpoint has its own.
///
/// *Approach.* An attempt that takes longer than ``patience`` is slow, and continues without its slot
/// (`SlowHandlers`), as long as there are fewer of these than slots. An attempt that would exceed one of these limits
/// is postponed, so that its slot is free at once:
/// 1. The slow attempts of an account may be half of the slots that those of other accounts leave.
/// 2. Those of one host may be three quarters of what the account's other hosts leave of that, so that a responsive
///    recipient is served while a platform hangs. While most of a host's attempts are very slow, all of them count.
///    Otherwise each second would start as many as there are slots.
/// 3. While many attempts are slow, the attempts of an account may be a quarter of what those of others leave.
///    Otherwise the next account to become silent would hold every slot before it is detected.
///
/// No attempt is postponed while few are running. Each channel of an account counts separately: its email, which goes
/// through one relay, does not affect its webhooks. Postponed attempts return in the order of their host's queue, one
/// each ``step``, so that the first postponed is the first to return; the account has a second, faster queue.
///
/// No I/O and no clock.
package final class SlowRecipientLimiter: Sendable {
    /// How long an attempt may take before it counts and releases its slot; a responsive recipient has answered by then.
    ///
    /// At most `ClaimedAhead.slotWait`, or items that wait for the slot would be released just before it is free.
    package static var patience: Duration { .seconds(1) }
    /// The range of postponements.
    static var pause: ClosedRange<Duration> { .seconds(3) ... .seconds(60) }
    /// The interval of returns to one host: 200 per second are no load for Redis.
    static var step: Duration { .milliseconds(5) }
    /// The interval of returns of one account: the rate that its hosts may need together.
    static var accountStep: Duration { .milliseconds(1) }
    /// The maximum number of remembered hosts of an account without running attempts.
    private static var hostsMax: Int { 1024 }

    /// The recipients of an account on one channel.
    struct RecipientGroup: Hashable, Sendable {
        let account: AccountID
        /// The name of the channel: one of its schemes, always the same.
        let channel: String
    }

    /// The running attempts, the oldest first.
    private struct Attempts: Sendable {
        private var began: [Timestamp] = []

        var count: Int { began.count }

        func slow(_ now: Timestamp) -> Int {
            began.prefix { now - $0 >= SlowRecipientLimiter.patience }.count
        }

        mutating func begin(_ now: Timestamp) {
            // Clocks may step back, so the order is by time.
            began.insert(now, at: began.lastIndex { $0 <= now }.map { $0 + 1 } ?? 0)
        }

        mutating func end(_ instant: Timestamp) {
            if let at = began.firstIndex(of: instant) { began.remove(at: at) }
        }
    }

    /// The state of a host.
    private struct Host: Sendable {
        /// The suspicion from which all attempts of a host count.
        ///
        /// Below it, one of many recipients at the host may be slow, and a few more by chance.
        static var suspectAt: Int { 3 }
        /// The maximum suspicion, so that this number of quick answers cancels any number of slow ones.
        static var suspicionMax: Int { 10 }
        /// The duration that raises suspicion: a recipient that takes a second or two ends on its own.
        static var silence: Duration { SlowRecipientLimiter.patience * 3 }

        var attempts = Attempts()
        /// The number of very slow attempts minus the quick ones.
        var suspicion = 0
        /// The return time of the last postponed attempt.
        var lastReturn: Timestamp?

        func counted(_ now: Timestamp) -> Int {
            suspicion >= Self.suspectAt ? attempts.count : attempts.slow(now)
        }

        mutating func end(_ began: Timestamp, _ now: Timestamp) {
            attempts.end(began)
            if now - began >= Self.silence { suspicion = min(suspicion + 1, Self.suspicionMax) }
            if now - began < SlowRecipientLimiter.patience { suspicion = max(suspicion - 1, 0) }
        }

        func isForgettable(_ now: Timestamp) -> Bool {
            attempts.count == 0 && (lastReturn ?? now) <= now
        }
    }

    /// The running attempts of an account on a channel.
    private struct GroupState: Sendable {
        var attempts = Attempts()
        var hosts: [String: Host] = [:]
        /// The last return time in the account's own queue.
        var lastReturn: Timestamp?

        mutating func begin(_ host: String, _ now: Timestamp) {
            attempts.begin(now)
            hosts[host, default: Host()].attempts.begin(now)
        }

        /// Postpones an attempt and returns the time of its return.
        mutating func postpone(_ host: String, _ now: Timestamp) -> Timestamp {
            let soon = now + SlowRecipientLimiter.pause.lowerBound
            let accountReturn = max(
                soon,
                lastReturn.map { $0 + SlowRecipientLimiter.accountStep } ?? soon
            )
            lastReturn = accountReturn
            let hostReturn =
                hosts[host]?.lastReturn.map { $0 + SlowRecipientLimiter.step } ?? accountReturn
            let back = min(
                max(accountReturn, hostReturn),
                now + SlowRecipientLimiter.pause.upperBound
            )
            hosts[host, default: Host()].lastReturn = back
            return back
        }

        mutating func end(_ host: String, _ began: Timestamp, _ now: Timestamp) {
            attempts.end(began)
            hosts[host]?.end(began, now)
            if let ended = hosts[host], ended.suspicion == 0, ended.isForgettable(now) {
                hosts[host] = nil
            }
            if hosts.count > SlowRecipientLimiter.hostsMax {
                hosts = hosts.filter { $0.value.attempts.count > 0 }
            }
        }

        func isForgettable(_ now: Timestamp) -> Bool {
            attempts.count == 0 && hosts.values.allSatisfy { $0.isForgettable(now) }
        }
    }

    private let slots: Int
    private let groups = Mutex<[RecipientGroup: GroupState]>([:])

    /// Creates a limiter for this number of slots.
    init(slots: Int) {
        self.slots = slots
    }

    /// Counts an attempt that starts now, until ``end(_:_:began:now:)``; or returns the time for which it is postponed.
    ///
    /// An attempt with `isNeeded` is counted but never postponed.
    func begin(
        _ group: RecipientGroup,
        _ host: String,
        isNeeded: Bool = false,
        now: Timestamp
    ) -> Duration? {
        groups.withLock { groups in
            if !isNeeded, exceedsLimit(group, host, groups, now) {
                return groups[group, default: GroupState()].postpone(host, now) - now
            }
            groups[group, default: GroupState()].begin(host, now)
            return nil
        }
    }

    private func exceedsLimit(
        _ group: RecipientGroup,
        _ name: String,
        _ groups: [RecipientGroup: GroupState],
        _ now: Timestamp
    ) -> Bool {
        let runningCount = groups.values.reduce(0) { $0 + $1.attempts.count }
        guard runningCount >= max(1, slots / 8) else { return false }
        let allSlow = groups.values.reduce(0) { $0 + $1.attempts.slow(now) }
        let groupState = groups[group] ?? GroupState()
        let ownSlow = groupState.attempts.slow(now)
        let slowMax = max(1, (slots - (allSlow - ownSlow)) / 2)
        if ownSlow >= slowMax { return true }
        if let host = groupState.hosts[name] {
            let ofOthers = ownSlow - host.attempts.slow(now)
            if host.counted(now) >= max(1, (slowMax - ofOthers) * 3 / 4) { return true }
        }
        let remaining = 2 * slots - (runningCount - groupState.attempts.count)
        return allSlow * 2 >= slots && groupState.attempts.count >= max(1, remaining / 4)
    }

    /// Counts an attempt that has ended.
    func end(_ group: RecipientGroup, _ host: String, began: Timestamp, now: Timestamp) {
        groups.withLock { groups in
            groups[group]?.end(host, began, now)
            // A forgotten account is detected again within three attempts.
            if groups[group]?.isForgettable(now) == true { groups[group] = nil }
        }
    }
}
