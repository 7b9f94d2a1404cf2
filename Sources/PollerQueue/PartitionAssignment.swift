import PollerIdentity

/// The rank of a process for each partition, by rendezvous hashing over the live processes.
///
/// The nearest process owns a partition and claims from it first. The next ones help as soon as it is late. The others
/// check it from time to time, so that the cost of a partition does not grow with the processes
/// (``PartitionSchedule``).
///
/// ``Heartbeat`` reads the list of live processes and computes the ranks of its own process. Every process computes the
/// same result from the same list, and a process that joins or leaves moves only its own assignment (Thaler and
/// Ravishankar, 1998). It improves efficiency only: if two processes disagree for a moment, both claim, which is safe.
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
