/// The handlers that take so long that they go on without a place.
///
/// *Problem.* Places bound what is begun at once. A handler that waits for a silent receiver needs hardly
/// anything, and yet as many of them as there are places would let nothing else begin.
///
/// *Approach.* A handler that has run for `patience` gives its place back and runs on. As many as there are
/// places may do so, so no more than twice as many handlers run in all.
struct SlowHandlers<Instant: InstantProtocol & Sendable>: Sendable
where Instant.Duration == Duration {
    private let patience: Duration?
    private let most: Int
    /// When each that holds a place has begun.
    private var holders: [ObjectIdentifier: Instant] = [:]
    /// The same in the order in which they began, also of such as have ended since.
    private(set) var inOrder: [(id: ObjectIdentifier, began: Instant)] = []
    /// Those before it in `inOrder` have been looked at.
    private var head = 0
    private var aside: Set<ObjectIdentifier> = []

    /// Nobody runs; without `patience` everybody keeps their place.
    init(patience: Duration?, most: Int) {
        self.patience = patience
        self.most = most
    }

    /// How many run without a place.
    var count: Int { aside.count }

    /// Handlers that begin now, each with a place.
    mutating func begin(_ works: [some AnyObject], now: Instant) {
        guard patience != nil else { return }
        for work in works {
            holders[ObjectIdentifier(work)] = now
            inOrder.append((ObjectIdentifier(work), now))
        }
    }

    /// A handler has ended; whether it held a place.
    mutating func end(_ work: some AnyObject) -> Bool {
        let id = ObjectIdentifier(work)
        if aside.remove(id) != nil { return false }
        holders[id] = nil
        return true
    }

    /// How many go on without their places from now on.
    mutating func leave(now: Instant) -> Int {
        guard let patience else { return 0 }
        let before = aside.count
        while let first = first {
            // Those that have ended go in any case; another may have their place in memory by now.
            if holders[first.id] == first.began {
                guard aside.count < most, first.began.advanced(by: patience) <= now else { break }
                holders[first.id] = nil
                aside.insert(first.id)
            }
            head += 1
        }
        // Seldom, so that what is moved is paid for by what has gone.
        if head * 2 > inOrder.count {
            inOrder.removeFirst(head)
            head = 0
        }
        return aside.count - before
    }

    /// When the next may leave its place; nil when none may.
    var nextInstant: Instant? {
        guard let patience, aside.count < most else { return nil }
        return first?.began.advanced(by: patience)
    }

    private var first: (id: ObjectIdentifier, began: Instant)? {
        head < inOrder.count ? inOrder[head] : nil
    }
}
