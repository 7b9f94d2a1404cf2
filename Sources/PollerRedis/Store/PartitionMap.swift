import PollerIncidents
import PollerQueue
import RedisClient
import Synchronization

/// The partition of each lane of a queue, even while partitions are split.
///
/// A lane is in partition `crc16(lane) mod P`, CRC16 as Redis Cluster computes it. The number of partitions grows by an
/// integer factor, so each partition is split into itself and new ones. The lanes of partition 7 of 16 are then in 7,
/// 23, 39 or 55 of 64. During a split (``RedisRepartition``), some partitions are split and some are not.
///
/// A process may learn of a split late. So each call states the number of partitions that its caller assumes
/// (``mark(of:)``). A partition rejects a wrong number and returns the right one. The map stores it
/// (``receive(_:from:)``), and the call is repeated in the right partition.
///
/// This is a class because all users of a queue must see what one of them has learned.
final class PartitionMap: Sendable, Hashable {
    /// The number of partitions, or the number after all splits.
    let partitions: Int
    /// The number of partitions at the store's creation.
    let base: Int
    /// The number of partitions before the current split.
    let former: Int?
    /// The former partitions that are known to be split.
    private let split: Mutex<Set<Int>>

    /// Creates the map of a store with `partitions` partitions.
    ///
    /// It had `base` when it was created, and `former` before the current split.
    init(partitions: Int, base: Int? = nil, former: Int? = nil) {
        self.partitions = partitions
        self.base = base ?? partitions
        self.former = former
        split = Mutex([])
    }

    func partition(of lane: String) -> Int {
        // All incidents are in the partition of their board.
        if lane == Incident.lane.description { return fixedPartition(of: lane) }
        let checksum = Int(clamping: CRC16.checksum(lane.utf8))
        guard let former, !isSplit(checksum % former) else { return checksum % partitions }
        return checksum % former
    }

    /// Returns the partition of a lane after all splits.
    func finalPartition(of lane: String) -> Int {
        lane == Incident.lane.description
            ? fixedPartition(of: lane) : Int(clamping: CRC16.checksum(lane.utf8)) % partitions
    }

    /// Returns the partition of a name that is never moved: one of those at the store's creation.
    func fixedPartition(of name: String) -> Int { Int(clamping: CRC16.checksum(name.utf8)) % base }

    /// Returns all partitions that may hold items once in `partition`, starting with it.
    func descendants(of partition: Int) -> [Int] {
        guard partitions > base else { return [partition] }
        let all = stride(from: partition % base, to: partitions, by: base)
        return [partition] + all.filter { $0 != partition }
    }

    /// The number of steps of a list that begins now, one per partition.
    ///
    /// While partitions may be split, these are the former ones, so that moving items stay in the same step.
    var steps: Int { former ?? partitions }

    /// Returns the partitions that may hold items of a step, from a time with `steps` partitions.
    func parts(of step: Int, among steps: Int) -> [Int] {
        Array(stride(from: step, to: partitions, by: steps))
    }

    /// Returns whether a list may have begun with `steps` partitions and be at this step.
    func hasStep(_ step: Int, among steps: Int) -> Bool {
        steps > 0 && step >= 0 && step < steps && partitions % steps == 0 && steps % base == 0
    }

    /// Returns the split state of a step.
    ///
    /// A position inside the step that is not an item's own is valid while this text is unchanged.
    func splitState(of step: Int, among steps: Int) -> String {
        let unsplit = unsplit.filter { $0 % steps == step }
        return "\(partitions)-\(unsplit.count)"
    }

    /// Returns the caller's lane layout as stated in a call; empty if the partition was never split.
    func mark(of partition: Int) -> String {
        guard let former, !isSplit(partition % former) else {
            return partitions == base ? "" : String(partitions)
        }
        // A new partition belongs to no caller until it is opened.
        return partition >= former || former == base ? "" : String(former)
    }

    /// Stores the number of partitions that a partition's lanes are spread over, 0 if it was never split.
    ///
    /// Returns whether this map can follow it.
    func receive(_ count: Int, from partition: Int) -> Bool {
        guard let former else { return false }
        let unsplit = partition >= former || former == base ? 0 : former
        switch count {
        case partitions: split.withLock { _ = $0.insert(partition % former) }
        case unsplit: split.withLock { _ = $0.remove(partition % former) }
        default: return false
        }
        return true
    }

    /// The former partitions that are not known to be split.
    var unsplit: [Int] {
        guard let former else { return [] }
        return (0..<former).filter { !isSplit($0) }
    }

    private func isSplit(_ root: Int) -> Bool { split.withLock { $0.contains(root) } }

    /// Compares identities, because each map has its own knowledge.
    static func == (lhs: PartitionMap, rhs: PartitionMap) -> Bool { lhs === rhs }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
