package import PollerIdentity
package import PollerQueue

/// What operators ask of deliveries: how they stand, what was tried, and to try again.
package protocol DeliveryBook: Sendable {
    /// The name of the delivery of a watch's events to an endpoint, whether there is one or not.
    func id(of endpoint: EndpointID, _ watch: WatchKey) -> DeliveryID

    /// Reads one of these accounts; nil when there is none.
    ///
    /// One of others takes the same way and the same time as one that is not there.
    func delivery(
        _ id: DeliveryID,
        of accounts: AccountSet
    ) async throws(StoreError) -> DeliverySnapshot?

    /// Its newest attempts, the oldest of them first; at most ``AttemptRecord/countMax``.
    func attempts(of id: DeliveryID) async throws(StoreError) -> [AttemptRecord]

    /// The time of the last attempt of each delivery.
    ///
    /// Deliveries without an attempt, and those whose log has been deleted, are left out.
    func lastAttempts(of ids: [DeliveryID]) async throws(StoreError) -> [DeliveryID: Timestamp]

    /// A page of deliveries. A moving picture: one that is tried while you page may show up
    /// twice or not at all. A page may be empty and still have a next one.
    func deliveries(_ query: DeliveryQuery) async throws(StoreError) -> ListPage<DeliverySnapshot>

    /// Which endpoints have deliveries that rest with events given up.
    ///
    /// Looks at the newest `limit` of each partition.
    func deadLetters(limit: Int) async throws(StoreError) -> DeadLetters

    /// The same of one endpoint alone, and whoever shares its partition.
    func deadLetters(
        of endpoint: EndpointID,
        limit: Int
    ) async throws(StoreError) -> DeadLetters

    /// Changes what deliveries remember and makes them due now; one result for each, in order.
    ///
    /// All are of one lane, or of one partition. With `endingHolds` their endpoints are tried at once even
    /// while a circuit is open or a `Retry-After` runs; that stays so when the attempt fails.
    func revise(
        _ revisions: [DeliveryRevision],
        endingHolds: Bool
    ) async throws(StoreError) -> [RevisionResult]

    /// Changes what deliveries remember, and leaves each where it is: what rests goes on resting, no longer
    /// among the dead when it has no dead letters any more. One result for each, in order.
    ///
    /// As many as there may be of ``revise(_:endingHolds:)``.
    func dismiss(_ revisions: [DeliveryRevision]) async throws(StoreError) -> [RevisionResult]

    /// How the last replay of an endpoint stands; nil when there was none for a week, and three
    /// minutes after the process that ran it died.
    func replay(of endpoint: EndpointID) async throws(StoreError) -> ReplayJob?

    /// Tells how a replay stands, at least every two minutes while it is running.
    func record(_ job: ReplayJob) async throws(StoreError)
}

extension DeliveryBook {
    /// Reads one, whose ever it is; nil when there is none.
    package func delivery(_ id: DeliveryID) async throws(StoreError) -> DeliverySnapshot? {
        try await delivery(id, of: .all)
    }
}

/// Which deliveries to list, and from where.
package struct DeliveryQuery: Hashable, Sendable {
    package let endpoint: EndpointID?
    /// Of the sources.
    package let accounts: AccountSet
    package let state: DeliverySnapshot.State?
    /// 1–500: each is a read of its own.
    package let limit: Int
    /// `next` of the page before; nil for the first page.
    package let cursor: String?

    /// Describes a page.
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

    /// The same of some accounts alone.
    package func narrowed(to accounts: AccountSet) -> DeliveryQuery {
        DeliveryQuery(
            endpoint: endpoint,
            accounts: accounts,
            state: state,
            limit: limit,
            cursor: cursor
        )
    }

    /// Whether a delivery passes the filters.
    package func matches(_ snapshot: DeliverySnapshot) -> Bool {
        (endpoint == nil || endpoint == snapshot.delivery.endpoint)
            && accounts.contains(snapshot.delivery.watch.account)
            && state.map(snapshot.isListed(as:)) ?? true
    }
}

/// Deliveries that rest with events given up, by endpoint.
package struct DeadLetters: Hashable, Sendable {
    /// Those of one endpoint.
    package struct OfEndpoint: Hashable, Sendable {
        /// Deliveries.
        package var count: Int
        /// The one that came to it last.
        package let newest: DeliveryID
    }

    package private(set) var endpoints: [EndpointID: OfEndpoint] = [:]
    /// Whether all were looked at.
    package private(set) var isWhole = true

    /// None.
    package init() {}

    /// Adds a delivery; those that came to it later are added first.
    package mutating func add(_ id: DeliveryID, of endpoint: EndpointID) {
        endpoints[endpoint, default: OfEndpoint(count: 0, newest: id)].count += 1
    }

    /// There were more than were looked at.
    package mutating func leaveOut() { isWhole = false }
}

/// A change of what a delivery remembers, good only for the state that it was made from.
package struct DeliveryRevision: Hashable, Sendable {
    package let id: DeliveryID
    package let from: DeliveryState
    package let to: DeliveryState

    /// Describes a change.
    package init(id: DeliveryID, from: DeliveryState, to: DeliveryState) {
        self.id = id
        self.from = from
        self.to = to
    }
}

/// What became of a revision.
package enum RevisionResult: Hashable, Sendable {
    /// Changed, and due now unless it was dismissed.
    case done
    /// A notifier has it in hand, or it has changed since it was read: read it again.
    case busy
    /// There is none.
    case missing
}

/// A delivery as it stands right now.
package struct DeliverySnapshot: Hashable, Sendable {
    /// Where it is in the queue.
    package enum Place: Hashable, Sendable {
        case waiting(due: Timestamp)
        /// A notifier holds it.
        case leased
        /// Until its watch has something new.
        case resting
    }

    /// How it stands, for people.
    package enum State: String, Hashable, Sendable, CaseIterable {
        /// Due, or held back by its endpoint; nothing of it has failed.
        case waiting
        case inFlight = "in_flight"
        /// It failed and is tried again.
        case failing
        /// Nothing is tried any more, and something was given up.
        case dead
        /// Nothing is left to tell: what there was was accepted or dismissed, or there was nothing.
        case done
    }

    package let id: DeliveryID
    package let delivery: Delivery
    package let place: Place
    /// Why the last attempt failed; nil after one that was accepted, unless something was given up.
    package let lastError: String?
    /// When it came to rest with events given up; nil while it does not.
    package let givenUpAt: Timestamp?

    /// Puts a snapshot together, as a store does.
    package init(
        id: DeliveryID,
        delivery: Delivery,
        place: Place,
        lastError: String?,
        givenUpAt: Timestamp? = nil
    ) {
        self.givenUpAt = givenUpAt
        self.id = id
        self.delivery = delivery
        self.place = place
        self.lastError = lastError
    }

    /// How it stands.
    package var state: State {
        switch place {
        case .leased: .inFlight
        case .waiting where delivery.state.failures > 0: .failing
        // A probe of an open circuit counts no failure.
        case .waiting: delivery.state.failedSince != nil && lastError != nil ? .failing : .waiting
        case .resting: delivery.state.dead.isEmpty ? .done : .dead
        }
    }

    /// Whether it belongs into a list of `state`; one that goes on with dead letters is also in
    /// the list of the dead.
    package func isListed(as state: State) -> Bool {
        self.state == state || state == .dead && !delivery.state.dead.isEmpty
    }
}
