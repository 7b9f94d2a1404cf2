package import Poller

/// The in-memory stores under test.
package struct MemoryHarness: StoreHarness {
    private let time: VirtualTime
    private let store: MemoryStore
    private let queue: MemoryDeliveryQueue
    private let registry: MemoryEndpointStore

    /// Empty stores; `flaws` are mistakes they are to make.
    package init(flaws: Set<QueueFlaw> = [], endpointFlaws: Set<EndpointFlaw> = []) {
        time = VirtualTime()
        store = MemoryStore(time: time, flaws: flaws)
        queue = MemoryDeliveryQueue(time: time, flaws: flaws)
        registry = MemoryEndpointStore(
            time: time,
            countMax: Self.endpointsMax,
            flaws: endpointFlaws
        )
    }

    package var watches: any WatchStore & Outbox { store }

    package var deliveries: any DeliveryQueue & DeliveryBook & MarkLedger { queue }

    package var endpoints: any EndpointStore { registry }

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
        try await store.audit() + queue.audit()
    }

    package var canRewind: Bool { true }

    package func checkpoint() {
        store.checkpoint()
    }

    package func rewind() {
        store.rewind()
    }
}
