package import PollerDeliveries
package import PollerOperations
package import PollerQueue
package import PollerWatches

/// A fresh, empty store under test, and the means to move its time.
package protocol StoreHarness: Sendable {
    var watches: any WatchStore { get }
    /// The recorded events.
    var outbox: any Outbox { get }
    /// The entries that may end their readers.
    var suspects: any SuspectStore { get }
    var deliveries: any DeliveryQueue & DeliveryOperations & MarkWatermarkStore { get }
    /// The registered endpoints.
    var endpoints: any EndpointStore { get }
    /// The requests with an idempotency key.
    var requests: any IdempotencyStore { get }
    /// The spent stream tokens.
    var spentTokens: any SpentTokens { get }
    /// The lanes of the watches.
    var lanes: any LaneControl { get }
    /// The processes that have announced themselves.
    var members: any Membership { get }

    /// Moves the clock of all processes forward while they run; otherwise it stands still.
    func advance(by duration: Duration) async throws

    /// Sets the clock of the store's server forward or back: no time passes.
    func step(by duration: Duration) async throws

    /// Returns the partition of a lane, for watches and deliveries.
    func partition(of lane: LaneID) -> Int

    /// Returns violated invariants of the stores, one sentence each; empty while they are sound.
    func audit() async throws -> [String]

    /// Whether the store can be made to lose its last writes.
    var canRewind: Bool { get }

    /// Saves the state of the store of watches.
    func checkpoint() async throws

    /// Returns the store of watches to the last checkpoint; the clock continues.
    func rewind() async throws
}

/// The defaults of a store that never loses anything.
extension StoreHarness {
    /// The most endpoints in its registry.
    package static var endpointsMax: Int { 300 }

    package var canRewind: Bool { false }

    package func checkpoint() async throws {}

    package func rewind() async throws {}
}

/// The in-memory stores under test.
package struct MemoryHarness: StoreHarness {
    private let time: VirtualTime
    private let store: MemoryStore
    private let queue: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore
    private let spent = MemorySpentTokens()
    private let named: MemoryIdempotencyStore

    /// Creates empty stores; `flaws` are their planted mistakes.
    package init(flaws: Set<QueueFlaw> = [], endpointFlaws: Set<EndpointFlaw> = []) {
        time = VirtualTime()
        store = MemoryStore(time: time, flaws: flaws)
        queue = MemoryDeliveryQueue(time: time, flaws: flaws)
        registry = MemoryEndpointStore(
            time: time,
            countMax: Self.endpointsMax,
            flaws: endpointFlaws
        )
        named = MemoryIdempotencyStore(time: time)
    }

    package var watches: any WatchStore { store }

    package var outbox: any Outbox { store }

    package var suspects: any SuspectStore { store }

    package var deliveries: any DeliveryQueue & DeliveryOperations & MarkWatermarkStore { queue }

    package var endpoints: any EndpointStore { registry }

    package var requests: any IdempotencyStore { named }

    package var spentTokens: any SpentTokens { spent }

    package var lanes: any LaneControl { store }

    package var members: any Membership { store }

    package func advance(by duration: Duration) {
        time.advance(by: duration)
    }

    package func step(by duration: Duration) {
        time.step(by: duration)
        store.follow(duration)
        queue.follow(duration)
    }

    package func partition(of lane: LaneID) -> Int {
        store.partition(of: lane)
    }

    package func audit() async throws -> [String] {
        store.violations() + queue.violations()
    }

    package var canRewind: Bool { true }

    package func checkpoint() {
        store.checkpoint()
    }

    package func rewind() {
        store.rewind()
    }
}

/// A difference between a store and its protocols.
package struct ConformanceFailure: Error, CustomStringConvertible {
    /// The expected and the actual value.
    package let message: String

    /// Creates a failure with this message.
    package init(message: String) {
        self.message = message
    }

    package var description: String { message }
}
