import PollerOperations
import Testing

/// Percentiles from buckets, which can be added across processes.
@Suite("Latency buckets")
struct LatencyBucketsTests {
    /// Counts latencies per bucket, as each process does.
    private func counts(_ seconds: [Double]) -> [Int] {
        seconds.reduce(into: Array(repeating: 0, count: LatencyBuckets.count)) {
            $0[LatencyBuckets.index(ofSeconds: $1)] += 1
        }
    }

    @Test("an estimated quantile is in the same bucket as the exact one")
    func quantiles() throws {
        let spans = (1...1000).map { Double($0) / 1000 }
        for share in [0.01, 0.5, 0.9, 0.99, 1] {
            let estimate = try #require(LatencyBuckets.quantile(share, of: counts(spans)))
            let truth = spans[Int(share * 1000) - 1]
            #expect(
                LatencyBuckets.index(ofSeconds: Double(estimate) / 1000)
                    == LatencyBuckets.index(ofSeconds: truth)
            )
        }
        // The values are evenly spread within the bucket of 0.25 to 0.5 s, so the median is exact.
        #expect(LatencyBuckets.quantile(0.5, of: counts(spans)) == 500)
    }

    @Test("an empty sample has no quantile, and values above the last bound report that bound")
    func edges() {
        #expect(LatencyBuckets.quantile(0.5, of: counts([])) == nil)
        #expect(LatencyBuckets.quantile(0.5, of: counts([0])) == 1)
        #expect(LatencyBuckets.quantile(0.99, of: counts([4000])) == 600_000)
        #expect(LatencyBuckets.quantile(0.1, of: counts([0.002, 4000])) == 2)
    }
}
