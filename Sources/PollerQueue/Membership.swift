import PollerIdentity

/// Who works on this cluster right now.
///
/// A hint for efficiency, never for safety: a process that is missing here for a moment may be
/// working, and one that is listed may be gone. Only leases decide.
package protocol Membership: Sendable {
    /// Announces a process for `span` and returns all that are announced, in no order.
    func beat(_ member: Member, for span: Duration) async throws(StoreError) -> [Member]

    /// Announces a process for `span` and asks for nothing: what it costs does not grow with the processes.
    func announce(_ member: Member, for span: Duration) async throws(StoreError)

    /// Takes a process off the list at once, as one that drains does.
    func leave(_ owner: OwnerID) async throws(StoreError)

    /// All that are announced, in no order.
    func members() async throws(StoreError) -> [Member]

    /// The processes that left within ``Departure/kept``, the last one first; at most ``Departure/countMax``.
    ///
    /// A process that crashed is listed as lost once another process sends its beat and reads the list.
    func departures() async throws(StoreError) -> [Departure]
}

/// A process that no longer works on this cluster.
package struct Departure: Hashable, Sendable {
    /// How long departures are kept: in the morning an operator sees those of the night.
    package static let kept = Duration.seconds(86_400)
    /// How many departures are kept: three deployments of thirty processes.
    package static let countMax = 100

    /// The process as in its last announcement.
    package let member: Member
    /// The time it left; for a lost process, the time at which its last beat expired.
    package let at: Timestamp
    /// Whether it took itself off the list, as a process that is shut down does.
    ///
    /// Otherwise it was killed, has crashed, or is cut off from the store.
    package let isClean: Bool

    /// Describes a departure.
    package init(_ member: Member, at: Timestamp, isClean: Bool) {
        self.member = member
        self.at = at
        self.isClean = isClean
    }
}

/// A process as it announces itself.
package struct Member: Hashable, Sendable {
    package let owner: OwnerID
    /// `worker`, `notifier`, `api`, joined by commas.
    package let roles: String
    /// The operating system's process id, for the operator.
    package let pid: Int
    /// Host name, for the operator.
    package let host: String
    package let version: String
    package let startedAt: Timestamp
    /// Items in flight when it announced itself last.
    package var inFlight: Int
    /// Polls that it may run at once; nil when it polls nothing.
    package let places: Int?
    /// The form in which it writes to the store.
    package let form: Int
    /// Among how many partitions it places lanes.
    package let partitions: Int
    /// A digest of what it can do: upstreams, accounts, channels; alike for those that can do the same.
    package var serves: String?

    /// Describes a process.
    package init(
        owner: OwnerID,
        roles: String,
        pid: Int,
        host: String,
        version: String,
        startedAt: Timestamp,
        inFlight: Int,
        places: Int? = nil,
        form: Int = 1,
        partitions: Int = 1
    ) {
        self.owner = owner
        self.roles = roles
        self.pid = pid
        self.host = host
        self.version = version
        self.startedAt = startedAt
        self.inFlight = inFlight
        self.places = places
        self.form = form
        self.partitions = partitions
    }
}

/// How near a process stands to each partition: rendezvous hashing over the live ones.
///
/// The nearest owns a partition and claims from it first. The next help out as soon as it is late, and
/// the others look in now and then, so that what a partition costs does not grow with the processes
/// (``PartitionSchedule``).
///
/// Everybody computes the same answer from the same list, and a process that comes or goes moves
/// only its own share (Thaler and Ravishankar, 1998). A hint for efficiency: two that disagree
/// for a moment both claim, which is as safe as ever.
package struct PartitionShare: Hashable, Sendable {
    /// So many processes beside the owner of a partition claim when it is late; the others look in now and
    /// then, and help where they have found something.
    static let helpers = 2

    /// How many members stand nearer, by partition.
    package let ranks: [Int]

    /// The partitions that are ours to claim from first.
    package var owned: Set<Int> { Set(ranks.indices.filter { ranks[$0] == 0 }) }

    /// Where `me` stands among `members`; it counts as one also before it is listed.
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

    /// The same with nobody farther than a helper: where processes differ in what they can do, the nearest
    /// may not be who can.
    func clamped() -> Self { Self(ranks: ranks.map { min($0, Self.helpers) }) }

    private init(ranks: [Int]) {
        self.ranks = ranks
    }

    /// Owner of some partitions, and next to all others.
    package init(owning owned: Set<Int>, of partitions: Int) {
        ranks = (0..<partitions).map { owned.contains($0) ? 0 : 1 }
    }

    /// FNV-1a over the owner and the partition, mixed by the finaliser of MurmurHash3: both are
    /// too short for FNV alone to spread.
    private static func score(_ seed: UInt64, _ partition: [UInt8]) -> UInt64 {
        var hash = fold(partition, into: seed)
        hash = (hash ^ (hash >> 33)) &* 0xff51_afd7_ed55_8ccd
        hash = (hash ^ (hash >> 33)) &* 0xc4ce_b9fe_1a85_ec53
        return hash ^ (hash >> 33)
    }

    /// What an owner gives to all of its scores.
    private static func seed(_ owner: OwnerID) -> UInt64 {
        fold("\(owner)/".utf8, into: 0xcbf2_9ce4_8422_2325)
    }

    private static func fold(_ bytes: some Sequence<UInt8>, into hash: UInt64) -> UInt64 {
        bytes.reduce(hash) { ($0 ^ UInt64(truncatingIfNeeded: $1)) &* 0x100_0000_01b3 }
    }
}
