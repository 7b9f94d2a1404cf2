package import PollerIdentity
package import PollerQueue
package import PollerWatches

/// The queue of deliveries: the same leases as for watches, with one lane per endpoint.
package protocol DeliveryQueue: LeaseQueue, DeliveryMarker
where Item == Delivery, Change == DeliveryChange {
    /// Marks all reachable deliveries.
    ///
    /// An unavailable part of the store delays only its own deliveries, and not every call waits for it.
    ///
    /// - Parameter deliveries: the marks, as for ``mark(_:)``.
    /// - Returns: the marks that may not be stored, to be tried again some seconds later.
    func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks

    /// Deletes the attempts of deliveries that succeeded longer ago; the accepted event numbers are kept.
    ///
    /// - Returns: whether there is more to do.
    func trimAttempts(partition: Int, retention: Duration) async throws(StoreError) -> Bool

    /// Deletes some deliveries that have rested for longer than `retention`; returns whether there may be more.
    ///
    /// Those of a watch that `isKept` stay, and are checked again a day later.
    func purge(
        partition: Int,
        retention: Duration,
        keeping isKept: (WatchKey) async throws(StoreError) -> Bool
    ) async throws(StoreError) -> Bool

    /// Returns counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats
}

extension DeliveryQueue {
    /// Marks all deliveries or none, as the default for a store that is available or unavailable as a whole.
    package func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks {
        do throws(StoreError) {
            try await mark(deliveries)
            return UnstoredMarks()
        } catch {
            return UnstoredMarks(deliveries, because: error)
        }
    }
}

/// Marks that may not be stored.
package struct UnstoredMarks: Hashable, Sendable {
    package private(set) var marks: Set<DeliveryMark> = []
    /// The reason of the first failure; `nil` without one.
    package private(set) var failure: StoreError?

    /// Creates an empty value.
    package init() {}

    /// Creates a value for marks with one reason.
    package init(_ marks: [DeliveryMark], because failure: StoreError) {
        self.marks = Set(marks)
        self.failure = failure
    }

    /// Adds other marks.
    package mutating func add(_ others: UnstoredMarks) {
        marks.formUnion(others.marks)
        failure = failure ?? others.failure
    }
}

/// The changes that an attempt makes to a delivery.
package struct DeliveryChange: Hashable, Sendable {
    private struct Fields: Hashable, Sendable {
        let state: DeliveryState
        let lastError: String?
        let attempt: AttemptRecord?
    }

    private let fields: Box<Fields>

    package init(
        state: DeliveryState,
        lastError: String? = nil,
        attempt: AttemptRecord? = nil
    ) {
        fields = Box(Fields(state: state, lastError: lastError, attempt: attempt))
    }

    package var state: DeliveryState { fields.value.state }
    /// The error of the attempt, for operators; `nil` clears it, unless ``keepsError``.
    package var lastError: String? { fields.value.lastError }
    /// The entry for the delivery's log; `nil` without an attempt.
    package var attempt: AttemptRecord? { fields.value.attempt }

    /// Whether the stored error is kept: a dead letter keeps its reason, whatever the later results.
    package var keepsError: Bool { lastError == nil && !state.dead.isEmpty }
}
