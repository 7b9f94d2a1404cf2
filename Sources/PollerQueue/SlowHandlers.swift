/// The handlers that continue without a slot because they take so long.
///
/// *Problem.* Slots bound the handlers that start. A handler that waits for a silent recipient needs few resources, but
/// if all slots are held by such handlers, no other handler can start.
///
/// *Approach.* A handler that has run for `patience` releases its slot and continues. The number of such handlers is
/// limited to the number of slots, so at most twice as many handlers run in total.
struct SlowHandlers<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    private let patience: Duration?
    private let most: Int
    /// The start time of each handler with a slot.
    private var slotHolders: [ObjectIdentifier: Instant] = [:]
    /// The same in start order, including handlers that have ended since.
    private(set) var inOrder: [(id: ObjectIdentifier, began: Instant)] = []
    /// The number of leading entries of `inOrder` that are done.
    private var head = 0
    private var withoutSlot: Set<ObjectIdentifier> = []

    /// Creates an empty set; without `patience` every handler keeps its slot.
    init(patience: Duration?, most: Int) {
        self.patience = patience
        self.most = most
    }

    /// The number of handlers without a slot.
    var count: Int { withoutSlot.count }

    /// Adds handlers that start now, each with a slot.
    mutating func begin(_ works: [some AnyObject], now: Instant) {
        guard patience != nil else { return }
        for work in works {
            slotHolders[ObjectIdentifier(work)] = now
            inOrder.append((ObjectIdentifier(work), now))
        }
    }

    /// Removes a handler that has ended; returns whether it held a slot.
    mutating func end(_ work: some AnyObject) -> Bool {
        let id = ObjectIdentifier(work)
        if withoutSlot.remove(id) != nil { return false }
        slotHolders[id] = nil
        return true
    }

    /// Removes the slots of handlers that have run long enough; returns their number.
    mutating func detach(now: Instant) -> Int {
        guard let patience else { return 0 }
        let before = withoutSlot.count
        while let first = first {
            // Ended handlers are removed in any case. Another object may have their address by now.
            if slotHolders[first.id] == first.began {
                guard withoutSlot.count < most, first.began.advanced(by: patience) <= now else {
                    break
                }
                slotHolders[first.id] = nil
                withoutSlot.insert(first.id)
            }
            head += 1
        }
        // Done rarely, so that the cost of moving entries is covered by the removed ones.
        if head * 2 > inOrder.count {
            inOrder.removeFirst(head)
            head = 0
        }
        return withoutSlot.count - before
    }

    /// The next time at which a handler may lose its slot; `nil` if none may.
    var nextInstant: Instant? {
        guard let patience, withoutSlot.count < most else { return nil }
        return first?.began.advanced(by: patience)
    }

    private var first: (id: ObjectIdentifier, began: Instant)? {
        head < inOrder.count ? inOrder[head] : nil
    }
}
