import PollerIdentity
import SafeNumbers

/// The deadlines of an event loop's connections, grouped by tenths of a second.
///
/// *Problem*: a live connection always waits for a time: its next ping, a pong, or the expiry of its token. A scheduled
/// task per connection costs memory, and a queue entry in the loop at each change.
///
/// *Approach*: a connection is entered at the tenth of a second in which it should be checked next. At the check it
/// handles what is due, computes its next deadline and is entered again. A deadline that moves later changes nothing
/// here. One that moves earlier adds another entry. So some checks find nothing due, but no check is late by more than
/// a ``grain``.
struct DeadlineWheel {
    /// The unit to which deadlines are rounded up.
    static let grain = Duration.milliseconds(100)

    /// The connections to check, by the number of the tenth.
    private var slots: [Int64: [Int]] = [:]
    private var lastDue: Int64 = 0

    /// Whether no connection is entered.
    var isEmpty: Bool { slots.isEmpty }

    /// Returns the tenth in which a deadline is checked.
    static func tenth(of deadline: Duration) -> Int64 {
        deadline.ms.addingSaturating(grain.ms - 1) / grain.ms
    }

    /// Enters a connection at a tenth.
    ///
    /// A past tenth counts as the next one.
    mutating func add(_ connection: Int, at tenth: Int64) {
        slots[max(tenth, lastDue + 1), default: []].append(connection)
    }

    /// Removes and returns the connections to check now, once per entry.
    mutating func due(now: Duration) -> [Int] {
        let reached = now.ms / Self.grain.ms
        guard reached > lastDue else { return [] }
        defer { lastDue = reached }
        // After a long pause there are more tenths than entries.
        guard reached - lastDue <= slots.count else {
            let keys = slots.keys.filter { $0 <= reached }.sorted()
            return keys.flatMap { slots.removeValue(forKey: $0) ?? [] }
        }
        return (lastDue + 1...reached).flatMap { slots.removeValue(forKey: $0) ?? [] }
    }
}
