import RedisClient

/// How partitions spread over the masters of a Redis Cluster whose slots are divided evenly, in their order.
///
/// A partition is in the slot of its number, so where it is can be computed. With few partitions for each master
/// chance has given some of them more than their share; what a store needs for an even one is in *Growth*.
package enum PartitionSpread {
    private static let slots = 16_384

    /// What the master with the most partitions has of them, by the mean of all.
    package static func hottest(partitions: Int, masters: Int) -> Double {
        hottest(Array(repeating: 1, count: partitions), masters)
    }

    /// What the master with the most work has, by the mean of all, where each of some lanes makes as much work.
    package static func hottest(
        partitions: Int,
        masters: Int,
        lanes: some Sequence<String>
    ) -> Double {
        let keys = Keys(namespace: "", partitions: partitions)
        var work = [Double](repeating: 0, count: partitions)
        for lane in lanes { work[keys.partition(of: lane)] += 1 }
        return hottest(work, masters)
    }

    private static func hottest(_ work: [Double], _ masters: Int) -> Double {
        var load = [Double](repeating: 0, count: masters)
        for (partition, amount) in work.enumerated() {
            let slot = Int(clamping: CRC16.checksum(String(partition).utf8)) % slots
            load[slot * masters / slots] += amount
        }
        let mean = load.reduce(0, +) / Double(masters)
        return mean > 0 ? (load.max() ?? 0) / mean : 1
    }
}
