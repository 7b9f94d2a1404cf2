/// The metrics of a process, read from its `/metrics` (Prometheus text format 0.0.4).
struct ProcessMetrics: Sendable {
    private struct Series: Sendable {
        let name: Substring
        /// The labels without braces: `result="observed"`.
        let labels: Substring
        let value: Double
    }

    private var series: [Series]

    /// Reads the text and ignores lines that are no series.
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

    /// Adds the metrics of another process.
    mutating func add(_ other: ProcessMetrics) {
        series += other.series
    }

    /// Returns the sum of a metric over all labels, or over those with a pair such as `result="observed"`.
    func total(_ name: String, _ pair: String? = nil) -> Double {
        series.reduce(0) { sum, series in
            guard series.name == name, pair.map({ series.labels.contains($0) }) ?? true else {
                return sum
            }
            return sum + series.value
        }
    }

    /// Returns the percentiles of a histogram in seconds since an earlier reading.
    ///
    /// Values between two bounds count as evenly spread. The maximum is at most the stated bound.
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

    /// Returns the number of values up to each bound.
    private func buckets(_ name: String) -> [Double: Double] {
        var buckets: [Double: Double] = [:]
        for series in series where series.name == name + "_bucket" {
            guard let bound = series.labels.firstMatch(of: #/le="([^"]+)"/#)?.1 else { continue }
            buckets[bound == "+Inf" ? .infinity : Double(bound) ?? 0, default: 0] += series.value
        }
        return buckets
    }
}
