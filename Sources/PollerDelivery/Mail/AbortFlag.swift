import Synchronization

/// Tells a blocking transfer on another thread to end.
///
/// A class, because both sides hold it.
final class AbortFlag: Sendable {
    private let raised = Atomic(false)

    /// Whether the transfer shall end.
    var isRaised: Bool { raised.load(ordering: .relaxed) }

    /// Ends the transfer, within about a second.
    func raise() {
        raised.store(true, ordering: .relaxed)
    }
}
