import PollerIdentity

/// The list of processes that currently work on this cluster.
///
/// It improves efficiency only, never safety: a process that is missing for a moment may be working, and a listed one
/// may be gone. Only leases decide.
package protocol Membership: Sendable {
    /// Announces a process for `span` and returns all announced processes, in no order.
    func beat(_ member: Member, for span: Duration) async throws(StoreError) -> [Member]

    /// Announces a process for `span` without reading the list, at a cost that does not grow with the processes.
    func announce(_ member: Member, for span: Duration) async throws(StoreError)

    /// Removes a process from the list at once, as when it drains.
    func leave(_ owner: OwnerID) async throws(StoreError)

    /// Returns all announced processes, in no order.
    func members() async throws(StoreError) -> [Member]

    /// Returns the processes that left within ``Departure/kept``, the last one first; at most ``Departure/countMax``.
    ///
    /// A process that crashed is listed as lost once another process sends its beat and reads the list.
    func departures() async throws(StoreError) -> [Departure]
}

/// A process that no longer works on this cluster.
package struct Departure: Hashable, Sendable {
    /// The time that departures are kept, so that an operator sees those of the night in the morning.
    package static let kept = Duration.seconds(86_400)
    /// The number of departures that are kept: three deployments of thirty processes.
    package static let countMax = 100

    /// The process as in its last announcement.
    package let member: Member
    /// The time it left; for a lost process, the time at which its last beat expired.
    package let at: Timestamp
    /// Whether it removed itself from the list, as a process that is shut down does.
    ///
    /// Otherwise it was killed, has crashed, or is cut off from the store.
    package let isClean: Bool

    package init(_ member: Member, at: Timestamp, isClean: Bool) {
        self.member = member
        self.at = at
        self.isClean = isClean
    }
}

/// A process and the data that it announces.
package struct Member: Hashable, Sendable {
    package let owner: OwnerID
    /// The roles: `worker`, `notifier`, `api`, joined by commas.
    package let roles: String
    /// The process ID of the operating system, for operators.
    package let pid: Int
    /// The host name, for operators.
    package let host: String
    package let version: String
    package let startedAt: Timestamp
    /// The number of items in flight at the last announcement.
    package var inFlight: Int
    /// The number of concurrent polls; `nil` for a process that does not poll.
    package let slots: Int?
    /// The store format version that it writes.
    package let storeFormat: Int
    /// The number of partitions among which it distributes lanes.
    package let partitions: Int
    /// A digest of its upstreams, accounts and channels; equal for processes with the same abilities.
    package var capabilities: String?

    /// Creates a process description.
    package init(
        owner: OwnerID,
        roles: String,
        pid: Int,
        host: String,
        version: String,
        startedAt: Timestamp,
        inFlight: Int,
        slots: Int? = nil,
        storeFormat: Int = 1,
        partitions: Int = 1
    ) {
        self.owner = owner
        self.roles = roles
        self.pid = pid
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.inFlight = inFlight
        self.slots = slots
        self.storeFormat = storeFormat
        self.partitions = partitions
    }
}
