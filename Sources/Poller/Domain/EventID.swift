/// The id of an event, derived from what it says.
///
/// Whoever re-creates the event, after a crash or on another machine, makes the same id, and
/// every channel carries it. Consumers dedupe by it.
package struct EventID: Hashable, Sendable, CustomStringConvertible {
    /// `evt_` and 24 characters of base64url (144 bits).
    package let description: String

    /// The id of the `seq`-th event of a watch's `run`.
    package init(key: WatchKey, run: Int, seq: Int, type: String) {
        description =
            "evt_"
            + Digest.base64url(
                of: [
                    key.account.description, key.kind.rawValue, key.source.description, String(run),
                    String(seq),
                    type,
                ],
                bytes: 18
            )
    }

    /// Wraps an id read back from a store.
    package init(unchecked text: String) {
        description = text
    }
}
