import Synchronization

/// The positions at which XAUTOCLAIM continues with the pending entries of each partition.
///
/// *Problem*: one call scans ten times as many entries as it may take over. If every call began at the oldest entry, it
/// would never pass a larger number of entries that stay on purpose because their shard is unavailable.
///
/// *Approach*: each call begins where the previous one ended, and starts again at the oldest after the newest.
final class OutboxTakeOvers: Sendable {
    /// The position before the oldest entry, which is also the cursor after the newest one.
    static let oldest = "0-0"

    private let cursors = Mutex<[Int: String]>([:])

    /// Returns the id at which to begin.
    func start(in partition: Int) -> String {
        cursors.withLock { $0[partition] ?? Self.oldest }
    }

    /// Stores the cursor of a reply.
    func resume(from cursor: String?, in partition: Int) {
        cursors.withLock { $0[partition] = cursor }
    }
}
