import RedisClient

/// The distribution of partitions over the masters of a Redis Cluster whose slots are divided evenly, in order.
///
/// A partition is in the slot of its number, so its master can be computed. With few partitions per master, some
/// masters get more than their share by chance. *Growth* states what an even distribution needs.
package enum PartitionSpread {
    private static let slots = 16_384

    /// Returns the number of partitions of the busiest master, divided by the mean.
    package static func hottest(partitions: Int, masters: Int) -> Double {
        hottest(Array(repeating: 1, count: partitions), masters)
    }

    /// Returns the work of the busiest master, divided by the mean, if each lane makes the same work.
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
