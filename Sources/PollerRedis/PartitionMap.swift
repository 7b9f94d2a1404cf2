import Poller
import PollerQueue
import RedisClient
import Synchronization

/// Which partition each lane of a queue is in, also while partitions are split.
///
/// A lane is in partition `crc16(lane) mod P`, CRC16 as Redis Cluster computes it. A store is given more partitions
/// by a multiple of what it has, so that each is split into itself and new ones: what was in partition 7 of 16 is
/// in 7, 23, 39 or 55 of 64 then. While that goes on (``RedisRepartition``) some are split and some are not.
///
/// Who works on the store may be late to hear of it. So each call says among how many partitions its caller
/// believes the lanes of this one to be (``mark(of:)``), and the partition refuses who is wrong, with the number
/// that is right; that is heard (``hear(_:from:)``), and the call made again where it belongs.
///
/// A class, because all who use a queue must see what one of them has heard.
final class PartitionMap: Sendable, Hashable {
    /// How many there are, or will be once all are split.
    let partitions: Int
    /// How many the store was created with.
    let base: Int
    /// How many there were, while they are split.
    let former: Int?
    /// Which of the former ones are known to be split.
    private let split: Mutex<Set<Int>>

    /// The lanes of a store of so many partitions, which were `base` when it was made and `former` before the
    /// split that goes on.
    init(partitions: Int, base: Int? = nil, former: Int? = nil) {
        self.partitions = partitions
        self.base = base ?? partitions
        self.former = former
        split = Mutex([])
    }

    /// The partition of a lane.
    func partition(of lane: String) -> Int {
        // Operators' incidents lie beside their board, which is one.
        if lane == Incident.lane.description { return fixedPartition(of: lane) }
        let checksum = Int(clamping: CRC16.checksum(lane.utf8))
        guard let former, !isSplit(checksum % former) else { return checksum % partitions }
        return checksum % former
    }

    /// The partition in which a lane will be when all are split.
    func finalPartition(of lane: String) -> Int {
        lane == Incident.lane.description
            ? fixedPartition(of: lane) : Int(clamping: CRC16.checksum(lane.utf8)) % partitions
    }

    /// The partition of what is never moved: among those that the store was created with.
    func fixedPartition(of name: String) -> Int { Int(clamping: CRC16.checksum(name.utf8)) % base }

    /// All partitions in which something may be that was in `partition` once, that one first.
    func descendants(of partition: Int) -> [Int] {
        guard partitions > base else { return [partition] }
        let all = stride(from: partition % base, to: partitions, by: base)
        return [partition] + all.filter { $0 != partition }
    }

    /// Among how many partitions the lanes of one are, as far as that is known.
    func lanesAmong(in partition: Int) -> Int {
        guard let former, !isSplit(partition % former) else { return partitions }
        return former
    }

    /// What a list that begins now walks through, one after the other: the former ones while they may be split, so
    /// that whatever moves meanwhile stays in the same step.
    var steps: Int { former ?? partitions }

    /// The partitions in which there may be what was in a partition when there were so many.
    func parts(of step: Int, among steps: Int) -> [Int] {
        Array(stride(from: step, to: partitions, by: steps))
    }

    /// Whether a list may have been begun when there were so many, and be at one of them.
    func hasStep(_ step: Int, among steps: Int) -> Bool {
        steps > 0 && step >= 0 && step < steps && partitions % steps == 0 && steps % base == 0
    }

    /// How far what there is of a step was split; a place inside of it that is none of an item's is good for as long
    /// as that stays the same.
    func picture(of step: Int, among steps: Int) -> String {
        let unsplit = unsplit.filter { $0 % steps == step }
        return "\(partitions)-\(unsplit.count)"
    }

    /// What a call to a partition says of how its caller places lanes; empty where it was never split.
    func mark(of partition: Int) -> String {
        guard let former, !isSplit(partition % former) else {
            return partitions == base ? "" : String(partitions)
        }
        // What is new is nobody's before it is opened.
        return partition >= former || former == base ? "" : String(former)
    }

    /// Hears from a partition among how many its lanes are, 0 where it was never split; whether that is something
    /// this map can follow.
    func hear(_ count: Int, from partition: Int) -> Bool {
        guard let former else { return false }
        let unsplit = partition >= former || former == base ? 0 : former
        switch count {
        case partitions: split.withLock { _ = $0.insert(partition % former) }
        case unsplit: split.withLock { _ = $0.remove(partition % former) }
        default: return false
        }
        return true
    }

    /// The former ones that are not known to be split.
    var unsplit: [Int] {
        guard let former else { return [] }
        return (0..<former).filter { !isSplit($0) }
    }

    private func isSplit(_ root: Int) -> Bool { split.withLock { $0.contains(root) } }

    /// The same object: what one has heard another has not.
    static func == (lhs: PartitionMap, rhs: PartitionMap) -> Bool { lhs === rhs }

    func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}
