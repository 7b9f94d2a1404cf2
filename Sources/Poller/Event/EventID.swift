/// The id of an event, derived from what it says.
///
/// Whoever re-creates the event, after a crash or on another machine, makes the same id, and
/// every channel carries it. Consumers dedupe by it.
package struct EventID: Hashable, Sendable, CustomStringConvertible {
    /// `evt_` and 24 characters of base64url (144 bits).
    package let description: String

    /// Watches that began before 2026-12-01 have the ids of the first releases, which did not go
    /// by the time: what is open across an upgrade keeps its ids.
    static let era = Timestamp(ms: 1_796_083_200_000)

    /// The id of the `seq`-th event of a watch's `run`, which `began` then.
    ///
    /// A closed watch is forgotten after ``RetentionSpans/deliveryMax`` at the earliest, and one of
    /// the same source then begins with run and seq 1 again: so the id also depends on which such
    /// span the run began in. Not on the instant: who orders again what a failover lost together
    /// with its acceptance mostly makes the ids that were told already.
    package init(key: WatchKey, run: Int, began: Timestamp, seq: Int, type: String) {
        var said = [
            key.account.description, key.kind.rawValue, key.source.description, String(run),
            String(seq), type,
        ]
        if began >= Self.era {
            said.append(String((began - Self.era).ms / RetentionSpans.deliveryMax.ms))
        }
        description = "evt_" + Digest.base64url(of: said, bytes: 18)
    }

    /// Enough of it to tell two events of one number apart: 36 bits.
    package var digest: String { String(description.dropFirst(4).prefix(6)) }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}
