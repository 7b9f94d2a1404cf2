import SafeNumbers

/// The bounds of the buckets for time spans, in metrics and in the history of a cluster.
///
/// They range from 1 ms to 10 minutes in steps of 2 to 2.5. A due lag of some ms and a long poll of a minute both fall
/// between two bounds, and counts of several processes can be added.
package enum LatencyBuckets {
    /// The upper bounds in seconds; longer spans are counted in one more bucket.
    package static let bounds = [
        0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 600,
    ]

    /// The number of buckets.
    package static var count: Int { bounds.count + 1 }

    /// Returns the bucket of a span.
    package static func index(ofSeconds seconds: Double) -> Int {
        bounds.firstIndex { seconds <= $0 } ?? bounds.count
    }

    /// Returns a quantile, as precise as the buckets are.
    ///
    /// Spans are assumed to be uniformly distributed within a bucket. Beyond the last bound the result is that bound.
    ///
    /// - Parameters:
    ///   - share: 0.5 for the median.
    ///   - counts: the count of each bucket.
    /// - Returns: ms; `nil` without counts.
    package static func quantile(_ share: Double, of counts: [Int]) -> Int? {
        let total = counts.reduce(0) { $0.addingSaturating($1) }
        guard total > 0 else { return nil }
        let rank = share * Double(total)
        var below = 0
        for (index, count) in counts.enumerated() where count > 0 {
            guard Double(below.addingSaturating(count)) >= rank else {
                below = below.addingSaturating(count)
                continue
            }
            guard index < bounds.count else { break }
            let low = index == 0 ? 0 : bounds[index - 1]
            let part = min(max((rank - Double(below)) / Double(count), 0), 1)
            return Int(saturating: ((low + (bounds[index] - low) * part) * 1000).rounded(.up))
        }
        return bounds.last.map { Int(saturating: $0 * 1000) }
    }
}
