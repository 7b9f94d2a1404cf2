import Synchronization

/// The loops of a node that stop claiming the moment a drain begins.
///
/// A class, because the node adds to it while it is put together and the signal listener reads it.
final class DrainingLoops: Sendable {
    private let drains = Mutex<[@Sendable () -> Void]>([])

    /// Adds what makes a loop drain.
    func add(_ drain: @escaping @Sendable () -> Void) {
        drains.withLock { $0.append(drain) }
    }

    /// Makes all of them drain.
    func drain() {
        for drain in drains.withLock({ $0 }) { drain() }
    }
}
