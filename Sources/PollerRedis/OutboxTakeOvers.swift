import Synchronization

/// Where XAUTOCLAIM goes on with the pending entries of each partition.
///
/// *Problem*: one call looks at ten times as many entries as it may take over. Begun at the oldest each time it never
/// comes to what lies behind more of them that stay on purpose, because their shard is away.
///
/// *Approach*: each call begins where the one before has ended, and behind the newest at the oldest again.
///
/// A class, because the copies of a store share it.
final class OutboxTakeOvers: Sendable {
    /// Before the oldest entry, and the cursor of whoever has come to the newest.
    static let oldest = "0-0"

    private let cursors = Mutex<[Int: String]>([:])

    /// The id at which to begin.
    func start(in partition: Int) -> String {
        cursors.withLock { $0[partition] ?? Self.oldest }
    }

    /// Remembers the cursor that was answered.
    func goOn(from cursor: String?, in partition: Int) {
        cursors.withLock { $0[partition] = cursor }
    }
}
