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

    /// Creates a departure.
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

/// The rank of a process for each partition, by rendezvous hashing over the live processes.
///
/// The nearest process owns a partition and claims from it first. The next ones help as soon as it is late. The others
/// check it from time to time, so that the cost of a partition does not grow with the processes
/// (``PartitionSchedule``).
///
/// Every process computes the same result from the same list, and a process that joins or leaves moves only its own
/// assignment (Thaler and Ravishankar, 1998). It improves efficiency only: if two processes disagree for a moment, both
/// claim, which is safe.
package struct PartitionAssignment: Hashable, Sendable {
    /// The number of processes next to the owner that claim from a late partition.
    ///
    /// Other processes check it from time to time, and help where they have found work.
    static let helpers = 2

    /// The number of nearer processes, by partition.
    package let ranks: [Int]

    /// The partitions that this process claims from first.
    package var owned: Set<Int> { Set(ranks.indices.filter { ranks[$0] == 0 }) }

    /// Ranks `me` among `members`; `me` counts as a member even before it is listed.
    package init(of me: OwnerID, among members: [OwnerID], partitions: Int) {
        let others = Set(members).subtracting([me]).map { (owner: $0, seed: Self.seed($0)) }
        let own = Self.seed(me)
        ranks = (0..<partitions).map { partition in
            let digits = Array(String(partition).utf8)
            let mine = Self.score(own, digits)
            return others.count { other in
                let theirs = Self.score(other.seed, digits)
                return mine != theirs ? mine < theirs : me.description < other.owner.description
            }
        }
    }

    /// Returns the assignment with every rank limited to that of a helper.
    ///
    /// If processes have different abilities, the nearest one may not be able to do the work.
    func clamped() -> Self { Self(ranks: ranks.map { min($0, Self.helpers) }) }

    private init(ranks: [Int]) {
        self.ranks = ranks
    }

    /// Creates the owner of some partitions, and the first helper for all others.
    package init(owning owned: Set<Int>, of partitions: Int) {
        ranks = (0..<partitions).map { owned.contains($0) ? 0 : 1 }
    }

    /// Returns FNV-1a over the owner and the partition, mixed by the finaliser of MurmurHash3, because FNV alone does
    /// not spread such short inputs.
    private static func score(_ seed: UInt64, _ partition: [UInt8]) -> UInt64 {
        var hash = fold(partition, into: seed)
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return hash ^ (hash >> 33)
    }

    /// Returns the hash state that all scores of an owner share.
    private static func seed(_ owner: OwnerID) -> UInt64 {
        fold("\(owner)/".utf8, into: 0xcbf2_9ce4_8422_2325)
    }

    private static func fold(_ bytes: some Sequence<UInt8>, into hash: UInt64) -> UInt64 {
        bytes.reduce(hash) { ($0 ^ UInt64(truncatingIfNeeded: $1)) &* 0x100_0000_01b3 }
    }
}
