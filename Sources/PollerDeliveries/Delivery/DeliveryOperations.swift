package import PollerIdentity
package import PollerQueue

/// The operations of operators on deliveries: list, inspect, retry.
package protocol DeliveryOperations: Sendable {
    /// Returns the ID of the delivery of a watch's events to an endpoint, even if there is none.
    func id(of endpoint: EndpointID, _ watch: WatchKey) -> DeliveryID

    /// Reads a delivery of these accounts; `nil` when there is none.
    ///
    /// For a delivery of another account, the code path and duration are the same as for a missing one.
    func delivery(
        _ id: DeliveryID,
        of accounts: AccountSet
    ) async throws(StoreError) -> DeliverySnapshot?

    /// Returns its newest attempts, the oldest of them first; at most ``AttemptRecord/countMax``.
    func attempts(of id: DeliveryID) async throws(StoreError) -> [AttemptRecord]

    /// Returns the time of the last attempt of each delivery.
    ///
    /// Deliveries without an attempt, and those whose log has been deleted, are left out.
    func lastAttempts(of ids: [DeliveryID]) async throws(StoreError) -> [DeliveryID: Timestamp]

    /// Returns a page of deliveries.
    ///
    /// The result is not a snapshot: a delivery that is attempted between two pages may appear twice or not at all. A
    /// page may be empty and still have a next one.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> ListPage<DeliverySnapshot>

    /// Returns the endpoints with resting deliveries that have dead letters.
    ///
    /// It reads the newest `limit` of each partition.
    func deadLetters(limit: Int) async throws(StoreError) -> DeadLetters

    /// Returns the same for one endpoint and the endpoints in its partition.
    func deadLetters(
        of endpoint: EndpointID,
        limit: Int
    ) async throws(StoreError) -> DeadLetters

    /// Changes the states of deliveries and makes them due now; one result for each, in order.
    ///
    /// All must be in one lane or one partition. With `endingHolds` their endpoints are tried at once, even if a
    /// circuit is open or a `Retry-After` applies; the hold stays ended if the attempt fails.
    func revise(
        _ revisions: [DeliveryRevision],
        endingHolds: Bool
    ) async throws(StoreError) -> [RevisionResult]

    /// Changes the states of deliveries without moving them; one result for each, in order.
    ///
    /// A resting delivery keeps resting, and is removed from the list of dead ones when it has no dead letters left.
    /// The limits are those of ``revise(_:endingHolds:)``.
    func dismiss(_ revisions: [DeliveryRevision]) async throws(StoreError) -> [RevisionResult]

    /// Returns the state of an endpoint's last replay; `nil` when there was none for a week, and three minutes after
    /// the process that ran it died.
    func replay(of endpoint: EndpointID) async throws(StoreError) -> ReplayJob?

    /// Records the state of a replay, at least every two minutes while it is running.
    func record(_ job: ReplayJob) async throws(StoreError)
}

extension DeliveryOperations {
    /// Reads a delivery regardless of account; `nil` when there is none.
    package func delivery(_ id: DeliveryID) async throws(StoreError) -> DeliverySnapshot? {
        try await delivery(id, of: .all)
    }
}

/// The filters and the position of a list of deliveries.
package struct DeliveryQuery: Hashable, Sendable {
    package let endpoint: EndpointID?
    /// The accounts of the sources.
    package let accounts: AccountSet
    package let state: DeliverySnapshot.State?
    /// The size of the page, 1–500, because each delivery is a separate read.
    package let limit: Int
    /// The `next` of the previous page; `nil` for the first page.
    package let cursor: String?

    package init(
        endpoint: EndpointID? = nil,
        accounts: AccountSet = .all,
        state: DeliverySnapshot.State? = nil,
        limit: Int = 50,
        cursor: String? = nil
    ) {
        self.endpoint = endpoint
        self.accounts = accounts
        self.state = state
        self.limit = min(max(limit, 1), 500)
        self.cursor = cursor
    }

    /// Returns the query limited to some accounts.
    package func narrowed(to accounts: AccountSet) -> DeliveryQuery {
        DeliveryQuery(
            endpoint: endpoint,
            accounts: accounts,
            state: state,
            limit: limit,
            cursor: cursor
        )
    }

    /// Whether the query reads many records: no index selects the deliveries of a state or an account.
    package var isScan: Bool { state != nil || (endpoint == nil && accounts != .all) }

    /// Whether a delivery passes the filters.
    package func matches(_ snapshot: DeliverySnapshot) -> Bool {
        (endpoint == nil || endpoint == snapshot.delivery.endpoint)
            && accounts.contains(snapshot.delivery.watch.account)
            && state.map(snapshot.isListed(as:)) ?? true
    }
}

/// The resting deliveries with dead letters, by endpoint.
package struct DeadLetters: Hashable, Sendable {
    /// The deliveries of one endpoint.
    package struct EndpointDeadLetters: Hashable, Sendable {
        /// The number of deliveries.
        package var count: Int
        /// The most recent delivery.
        package let newest: DeliveryID
    }

    package private(set) var endpoints: [EndpointID: EndpointDeadLetters] = [:]
    /// Whether all deliveries were read.
    package private(set) var isWhole = true

    /// Creates an empty value.
    package init() {}

    /// Adds a delivery; the most recent ones are added first.
    package mutating func add(_ id: DeliveryID, of endpoint: EndpointID) {
        endpoints[endpoint, default: EndpointDeadLetters(count: 0, newest: id)].count += 1
    }

    /// Records that some deliveries were not read.
    package mutating func markIncomplete() { isWhole = false }
}

/// A change of a delivery's state, which is valid only for the state it was derived from.
package struct DeliveryRevision: Hashable, Sendable {
    package let id: DeliveryID
    package let from: DeliveryState
    package let to: DeliveryState

    /// Creates a change.
    package init(id: DeliveryID, from: DeliveryState, to: DeliveryState) {
        self.id = id
        self.from = from
        self.to = to
    }
}

/// The result of a revision.
package enum RevisionResult: Hashable, Sendable {
    /// Changed, and due now unless it was dismissed.
    case done
    /// A notifier has leased it, or it has changed since it was read.
    ///
    /// Read it again.
    case busy
    /// The delivery does not exist.
    case missing
}

/// The current state of a delivery.
package struct DeliverySnapshot: Hashable, Sendable {
    /// The state in the queue.
    package enum QueueState: Hashable, Sendable {
        case waiting(due: Timestamp)
        /// Leased by a notifier.
        case leased
        /// Resting until its watch has a new event.
        case resting
    }

    /// The state of a delivery for people.
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Due, or held by its endpoint, without a failure.
        case waiting
        case inFlight = "in_flight"
        /// Failed, to be tried again.
        case failing
        /// No more attempts, with dead letters.
        case dead
        /// No pending events: all were accepted or dismissed, or there were none.
        case done
    }

    package let id: DeliveryID
    package let delivery: Delivery
    package let queueState: QueueState
    /// The error of the last attempt; `nil` after an accepted one, unless there are dead letters.
    package let lastError: String?
    /// The time at which it came to rest with dead letters; `nil` otherwise.
    package let givenUpAt: Timestamp?

    /// Creates a snapshot from the fields of a store.
    package init(
        id: DeliveryID,
        delivery: Delivery,
        queueState: QueueState,
        lastError: String?,
        givenUpAt: Timestamp? = nil
    ) {
        self.givenUpAt = givenUpAt
        self.id = id
        self.delivery = delivery
        self.queueState = queueState
        self.lastError = lastError
    }

    /// The state for people.
    package var state: State {
        switch queueState {
        case .leased: .inFlight
        case .waiting where delivery.state.failures > 0: .failing
        // A probe of an open circuit is not counted as a failure.
        case .waiting: delivery.state.failedSince != nil && lastError != nil ? .failing : .waiting
        case .resting: delivery.state.dead.isEmpty ? .done : .dead
        }
    }

    /// Whether it belongs in the list of `state`; a continuing delivery with dead letters is also in the list of dead
    /// ones.
    package func isListed(as state: State) -> Bool {
        self.state == state || state == .dead && !delivery.state.dead.isEmpty
    }
}
