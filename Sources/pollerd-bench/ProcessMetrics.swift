/// What a process has counted, as its `/metrics` says it (Prometheus text format 0.0.4).
struct ProcessMetrics: Sendable {
    private struct Series: Sendable {
        let name: Substring
        /// Without braces: `result="observed"`.
        let labels: Substring
        let value: Double
    }

    private var series: [Series]

    /// Reads the text; lines that are no series are passed over.
    init(_ text: String) {
        series = text.split(separator: "\n").compactMap { line in
            guard !line.hasPrefix("#"), let space = line.lastIndex(of: " "),
                let value = Double(line[line.index(after: space)...])
            else { return nil }
            let head = line[..<space]
            let brace = head.firstIndex(of: "{") ?? head.endIndex
            return Series(
                name: head[..<brace],
                labels: head[brace...].dropFirst().dropLast(),
                value: value
            )
        }
    }

    /// Adds what another process has counted.
    mutating func add(_ other: ProcessMetrics) {
        series += other.series
    }

    /// The sum of a metric over all labels, or over those that have a pair: `result="observed"`.
    func total(_ name: String, _ pair: String? = nil) -> Double {
        series.reduce(0) { sum, series in
            guard series.name == name, pair.map({ series.labels.contains($0) }) ?? true else {
                return sum
            }
            return sum + series.value
        }
    }

    /// Percentiles of what a histogram of seconds has recorded since an earlier look.
    ///
    /// Between two bounds the values are taken as evenly spread; the greatest is at most the bound that is named.
    func latency(_ name: String, since before: ProcessMetrics) -> BenchReport.Latency {
        let earlier = before.buckets(name)
        let counts = buckets(name).map { bound, count in (bound, count - (earlier[bound] ?? 0)) }
            .sorted { $0.0 < $1.0 }
        let all = counts.last?.1 ?? 0
        func ms(_ share: Double) -> Double {
            var (low, below) = (0.0, 0.0)
            for (bound, count) in counts {
                if count >= all * share, count > below {
                    guard bound.isFinite else { return low * 1000 }
                    return (low + (bound - low) * (all * share - below) / (count - below)) * 1000
                }
                (low, below) = (bound, count)
            }
            return 0
        }
        let max = counts.first { $0.1 == all }?.0 ?? 0
        let bounds = counts.map(\.0).filter(\.isFinite)
        return BenchReport.Latency(
            p50: ms(0.5),
            p99: ms(0.99),
            max: (max.isFinite ? max : bounds.last ?? 0) * 1000
        )
    }

    /// How many values were at most as large as each bound.
    private func buckets(_ name: String) -> [Double: Double] {
        var buckets: [Double: Double] = [:]
        for series in series where series.name == name + "_bucket" {
            guard let bound = series.labels.firstMatch(of: #/le="([^"]+)"/#)?.1 else { continue }
            buckets[bound == "+Inf" ? .infinity : Double(bound) ?? 0, default: 0] += series.value
        }
        return buckets
    }
}
