import Poller
import PollerIdentity
import SafeNumbers

/// The deadlines of an event loop's connections, found by the tenth of a second they fall into.
///
/// *Problem*: a live connection always waits for a time, its next ping, a pong, the end of its token. A
/// scheduled task for each costs memory and an entry in the loop's own queue each time it changes.
/// *Approach*: a connection is written down at one tenth of a second, the one in which it wants to be
/// asked next. It is asked then whether anything is due, says when it wants to be asked again, and is
/// written down anew. A deadline that moves away changes nothing here; one that comes nearer is
/// written down once more. So a connection may be asked in vain, and is never asked too late by more
/// than a ``grain``.
struct DeadlineWheel {
    /// What deadlines are rounded up to.
    static let grain = Duration.milliseconds(100)

    /// Who is to be asked, by the number of the tenth.
    private var slots: [Int64: [Int]] = [:]
    private var asked: Int64 = 0

    /// Whether nobody waits.
    var isEmpty: Bool { slots.isEmpty }

    /// The tenth in which a deadline is looked at.
    static func tenth(of deadline: Duration) -> Int64 {
        deadline.ms.addingSaturating(grain.ms - 1) / grain.ms
    }

    /// Writes a connection down at a tenth; one that is over counts as the next.
    mutating func add(_ connection: Int, at tenth: Int64) {
        slots[max(tenth, asked + 1), default: []].append(connection)
    }

    /// Those who are to be asked now, each time they have been written down.
    mutating func due(now: Duration) -> [Int] {
        let reached = now.ms / Self.grain.ms
        guard reached > asked else { return [] }
        defer { asked = reached }
        // After a long pause there are more tenths than entries.
        guard reached - asked <= slots.count else {
            let keys = slots.keys.filter { $0 <= reached }.sorted()
            return keys.flatMap { slots.removeValue(forKey: $0) ?? [] }
        }
        return (asked + 1...reached).flatMap { slots.removeValue(forKey: $0) ?? [] }
    }
}
