import PollerRedis
import Testing

/// The distribution of partitions over masters, as in the guide *Growth*.
@Suite("Distribution of partitions over masters")
struct PartitionSpreadTests {
    @Test(
        "with 100,000 lanes the busiest master has the load that the Growth guide states",
        arguments: [
            (6, [1.51, 1.32, 1.25, 1.06]), (24, [4.51, 3.01, 1.8, 1.23]),
        ]
    )
    func table(masters: Int, most: [Double]) {
        for (partitions, limit) in zip([16, 64, 256, 1024], most) {
            let lanes = (0..<100_000).lazy.map { "acct_\($0)/source" }
            let hottest = PartitionSpread.hottest(
                partitions: partitions,
                masters: masters,
                lanes: lanes
            )
            #expect(hottest <= limit && hottest > limit - 0.04, "\(partitions): \(hottest)")
        }
    }
}
