/// An event in the log of its watch, which is decoded when it is used.
///
/// A delivery reads all events after its cursor and sends one of them. Of the last delivered one it needs only the
/// digest, and of the others only the number.
package struct LoggedEvent: Sendable {
    package let seq: Int
    private let readDigest: @Sendable () -> String?
    private let read: @Sendable () -> Event?

    /// Creates a value for an entry of a store.
    ///
    /// `digest` returns ``Event/digest`` if it can be read without the event. `event` returns `nil` if the entry is
    /// not understood.
    package init(
        seq: Int,
        digest: @Sendable @escaping () -> String?,
        event: @Sendable @escaping () -> Event?
    ) {
        self.seq = seq
        readDigest = digest
        read = event
    }

    /// Creates a value for a decoded event.
    package init(_ event: Event) {
        self.init(seq: event.seq) {
            event.digest
        } event: {
            event
        }
    }

    /// The event's digest, see ``Event/digest``; `nil` if the entry is not understood.
    package var digest: String? { readDigest() ?? event?.digest }

    /// The decoded event; `nil` if the entry is not understood.
    package var event: Event? { read() }
}
