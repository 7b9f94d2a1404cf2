package import PollerIdentity
package import PollerQueue

/// The queue of deliveries: the same leases as for watches, one lane for each endpoint.
package protocol DeliveryQueue: LeaseQueue where Item == Delivery, Change == DeliveryChange {
    /// Makes deliveries due now because their watch has something new; idempotent.
    ///
    /// Marks that name an event need a delivery that nobody holds: `unavailable` until then.
    func mark(_ deliveries: [DeliveryMark]) async throws(StoreError)

    /// Marks what can be: a part of the store that is away holds up what lies in it, and is not waited for each time.
    ///
    /// - Parameter deliveries: what to mark, as for ``mark(_:)``.
    /// - Returns: those that are not known to be marked, to be tried again some seconds later.
    func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks

    /// Forgets the attempts of deliveries that ended well longer ago; when which event was accepted stays.
    ///
    /// - Returns: whether there is more to do.
    func fade(partition: Int, retention: Duration) async throws(StoreError) -> Bool

    /// Counts for operators, over all partitions.
    func stats() async throws(StoreError) -> StoreStats
}

extension DeliveryQueue {
    /// Of a store that is there or away as a whole.
    package func markReachable(_ deliveries: [DeliveryMark]) async -> UnstoredMarks {
        do throws(StoreError) {
            try await mark(deliveries)
            return UnstoredMarks()
        } catch {
            return UnstoredMarks(deliveries, because: error)
        }
    }
}

/// Marks that are not known to be stored.
package struct UnstoredMarks: Hashable, Sendable {
    package private(set) var marks: Set<DeliveryMark> = []
    /// Why the first of them is not; nil when there is none.
    package private(set) var failure: StoreError?

    /// None.
    package init() {}

    /// These, for one reason.
    package init(_ marks: [DeliveryMark], because failure: StoreError) {
        self.marks = Set(marks)
        self.failure = failure
    }

    /// Adds others.
    package mutating func add(_ others: UnstoredMarks) {
        marks.formUnion(others.marks)
        failure = failure ?? others.failure
    }
}

/// Says that an endpoint is to be told about a watch.
package struct DeliveryMark: Hashable, Sendable {
    package let endpoint: EndpointID
    /// Of an inline `notify`; nil for a registered endpoint.
    package let url: NotifyURL?
    package let watch: WatchKey
    /// An event that is sent whatever the endpoint asked for; nil for none in particular.
    package let telling: Int?
    /// Whether it goes before what is told to many and what is tried again.
    package let isUrgent: Bool

    /// Names the delivery to an inline URL, which is an endpoint under the watch's account.
    package init(url: NotifyURL, watch: WatchKey) {
        endpoint = EndpointID(account: watch.account, url: url.description)
        self.url = url
        self.watch = watch
        telling = nil
        isUrgent = true
    }

    /// Names the delivery to a registered endpoint.
    package init(
        endpoint: EndpointID,
        watch: WatchKey,
        telling: Int? = nil,
        isUrgent: Bool = true
    ) {
        self.endpoint = endpoint
        url = nil
        self.watch = watch
        self.telling = telling
        self.isUrgent = isUrgent
    }
}

/// What an attempt changes in a delivery.
package struct DeliveryChange: Hashable, Sendable {
    package let state: DeliveryState
    /// Why the attempt failed, for operators; nil clears it, unless ``keepsError``.
    package let lastError: String?
    /// What the log of the delivery is to keep of it; nil when nothing was tried.
    package let attempt: AttemptRecord?

    /// Describes a change.
    package init(
        state: DeliveryState,
        lastError: String? = nil,
        attempt: AttemptRecord? = nil
    ) {
        self.state = state
        self.lastError = lastError
        self.attempt = attempt
    }

    /// Whether the error that is kept stays: what was given up has its reason, whatever came of what followed.
    package var keepsError: Bool { lastError == nil && !state.dead.isEmpty }
}
