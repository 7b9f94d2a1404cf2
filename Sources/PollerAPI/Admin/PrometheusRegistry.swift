package import CoreMetrics
import Poller
import SafeNumbers
import Synchronization

/// Keeps this process's metrics and renders them for Prometheus (text format 0.0.4).
///
/// What each metric says is in ``Metric``, whose text goes before its lines.
///
/// Counters only grow, recorders without aggregation and meters are gauges, timers and other
/// recorders are histograms over fixed buckets; a timer's unit is the second.
///
/// *Limits*: 500 names and 200 label sets a name. Labels are meant to be enumerations; a value
/// that comes from outside must not eat the memory of this process and of Prometheus. What is
/// beyond goes into one set labelled `overflow="true"`, so sums stay right.
///
/// Handlers are made anew at every use of a metric, so the registry hands out the same one for
/// the same name and labels. A class: the process and its metrics system share it.
package final class PrometheusRegistry: MetricsFactory {
    static let namesMax = 500
    static let seriesMax = 200

    private let families = Mutex<[String: PrometheusFamily]>([:])
    private static let refusals = "poller_metrics_refused_total"

    /// An empty registry; hand it to `MetricsSystem.bootstrap` once.
    package init() {}

    package func makeCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any CounterHandler {
        value(label, .counter, dimensions)
    }

    package func makeFloatingPointCounter(
        label: String,
        dimensions: [(String, String)]
    ) -> any FloatingPointCounterHandler {
        value(label, .counter, dimensions)
    }

    package func makeMeter(label: String, dimensions: [(String, String)]) -> any MeterHandler {
        value(label, .gauge, dimensions)
    }

    package func makeRecorder(
        label: String,
        dimensions: [(String, String)],
        aggregate: Bool
    ) -> any RecorderHandler {
        aggregate ? histogram(label, dimensions) : value(label, .gauge, dimensions)
    }

    package func makeTimer(label: String, dimensions: [(String, String)]) -> any TimerHandler {
        histogram(label, dimensions)
    }

    // A metric's series lives as long as the process: a counter that vanishes looks like a reset.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyRecorder(_ handler: any RecorderHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    /// Everything in Prometheus text format 0.0.4, names in order.
    package var text: String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            family.render(name, into: &text)
        }
        return text
    }

    /// Tells 0 of each counter that has no labels.
    ///
    /// One that appears with its first count has not grown in Prometheus' eyes, and an alert on its
    /// increase would miss what happens once.
    package func beginCounters() {
        for metric in Metric.all where metric.kind == .counter && metric.labels.isEmpty {
            _ = value(metric.name, .counter, [])
        }
    }

    /// Tells no more of some metrics until they are set again: what is not known is better left out.
    package func forget(_ names: [String]) {
        families.withLock { families in
            for name in names { families[name] = nil }
        }
    }

    /// The sum of a counter over its labels; 0 of one that nobody has counted yet.
    ///
    /// `matching`: of those labels alone, as Prometheus writes them: `result="failed"`.
    package func total(
        _ name: String,
        matching: (String) -> Bool = { _ in true }
    ) -> Int {
        let all = families.withLock { $0[name]?.all ?? [:] }
        return all.reduce(0) { sum, series in
            guard case .value(let value) = series.value, matching(series.key) else { return sum }
            return sum.addingSaturating(Int(saturating: value.current))
        }
    }

    /// How often a timer fell into each of ``LatencyBuckets``, over all its labels.
    package func buckets(_ name: String) -> [Int] {
        let all = families.withLock { $0[name]?.all ?? [:] }
        return all.values.reduce(into: Array(repeating: 0, count: LatencyBuckets.count)) {
            guard case .histogram(let histogram) = $1 else { return }
            for (index, count) in histogram.counts.enumerated() { $0[index] += count }
        }
    }

    private func value(
        _ label: String,
        _ kind: Metric.Kind,
        _ dimensions: [(String, String)]
    ) -> PrometheusValue {
        guard case .value(let value) = series(label, kind, dimensions) else {
            return PrometheusValue()
        }
        return value
    }

    private func histogram(
        _ label: String,
        _ dimensions: [(String, String)]
    ) -> PrometheusHistogram {
        guard case .histogram(let histogram) = series(label, .histogram, dimensions) else {
            return PrometheusHistogram()
        }
        return histogram
    }

    /// The series of a name and labels; nil when the name is one of another kind or one too many.
    private func series(
        _ label: String,
        _ kind: Metric.Kind,
        _ dimensions: [(String, String)]
    ) -> PrometheusFamily.Series? {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        let series = families.withLock { families -> PrometheusFamily.Series? in
            if families[name] == nil, families.count < Self.namesMax {
                families[name] = PrometheusFamily(kind: kind)
            }
            guard families[name]?.kind == kind else { return nil }
            return families[name]?.series(labels, max: Self.seriesMax)
        }
        if series == nil { countRefusal() }
        return series
    }

    private func countRefusal() {
        families.withLock { families in
            // Past the bound on names, so that this one is told in any case.
            let new = PrometheusFamily(kind: .counter)
            let series = families[Self.refusals, default: new].series("", max: 1)
            if case .value(let count) = series { count.increment(by: 1.0) }
        }
    }
}

/// The series of one metric name.
struct PrometheusFamily: Sendable {
    /// What one set of labels has.
    enum Series: Sendable {
        case value(PrometheusValue)
        case histogram(PrometheusHistogram)
    }

    let kind: Metric.Kind
    /// By the labels as they are rendered, without braces.
    private var series: [String: Series] = [:]

    /// Every series, by its labels.
    var all: [String: Series] { series }

    init(kind: Metric.Kind) {
        self.kind = kind
    }

    /// The series of a set of labels; the one for all that is too much when there are `max`.
    mutating func series(_ labels: String, max: Int) -> Series {
        if let known = series[labels] { return known }
        let labels = series.count < max ? labels : "overflow=\"true\""
        if let known = series[labels] { return known }
        let new: Series =
            kind == .histogram ? .histogram(PrometheusHistogram()) : .value(PrometheusValue())
        series[labels] = new
        return new
    }

    /// Appends the family's lines.
    func render(_ name: String, into text: inout String) {
        text += PrometheusText.head(name, kind)
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            switch series {
            case .value(let value):
                let braces = labels.isEmpty ? "" : "{\(labels)}"
                text += "\(name)\(braces) \(PrometheusText.number(value.current))\n"
            case .histogram(let histogram): histogram.render(name, labels, into: &text)
            }
        }
    }
}

/// A number that is counted up or set: counter and gauge.
///
/// A class, as the metrics API asks.
final class PrometheusValue: CounterHandler, FloatingPointCounterHandler, MeterHandler,
    RecorderHandler
{
    private let value = Mutex(0.0)

    /// The number now; integers are exact up to 2^53.
    var current: Double { value.withLock { $0 } }

    func increment(by amount: Int64) {
        value.withLock { $0 += Double(amount) }
    }

    func increment(by amount: Double) {
        value.withLock { $0 += amount }
    }

    func decrement(by amount: Double) {
        value.withLock { $0 -= amount }
    }

    func set(_ new: Int64) {
        value.withLock { $0 = Double(new) }
    }

    func set(_ new: Double) {
        value.withLock { $0 = new }
    }

    func record(_ new: Int64) {
        set(new)
    }

    func record(_ new: Double) {
        set(new)
    }

    func reset() {
        value.withLock { $0 = 0 }
    }
}

/// How often values fell into fixed buckets.
///
/// A class, as the metrics API asks.
///
/// Those of ``LatencyBuckets``, so a series costs 19 lines at most.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    /// What the lock guards: a count for each bucket, and the sum.
    private struct State: Sendable {
        var counts = Array(repeating: 0, count: LatencyBuckets.count)
        var sum = 0.0
    }

    private let state = Mutex(State())

    func recordNanoseconds(_ duration: Int64) {
        record(Double(duration) / 1e9)
    }

    func record(_ value: Int64) {
        record(Double(value))
    }

    func record(_ value: Double) {
        let bucket = LatencyBuckets.index(ofSeconds: value)
        state.withLock { state in
            state.counts[bucket] += 1
            state.sum += value
        }
    }

    /// How often values fell into each bucket.
    var counts: [Int] { state.withLock { $0.counts } }

    /// Appends the series' lines: cumulative buckets, sum and count.
    func render(_ name: String, _ labels: String, into text: inout String) {
        let state = state.withLock { $0 }
        let prefix = labels.isEmpty ? "" : "\(labels),"
        var count = 0
        for (index, bound) in (LatencyBuckets.bounds + [.infinity]).enumerated() {
            count += state.counts[index]
            let end = PrometheusText.number(bound)
            text += "\(name)_bucket{\(prefix)le=\"\(end)\"} \(count)\n"
        }
        let braces = labels.isEmpty ? "" : "{\(labels)}"
        text += "\(name)_sum\(braces) \(PrometheusText.number(state.sum))\n"
        text += "\(name)_count\(braces) \(count)\n"
    }
}

/// The spelling rules of Prometheus' text format 0.0.4.
enum PrometheusText {
    /// What stands before the lines of a metric.
    static func head(_ name: String, _ kind: Metric.Kind) -> String {
        let help = Metric.byName[name].map { "# HELP \(name) \($0.help)\n" } ?? ""
        return "\(help)# TYPE \(name) \(kind.rawValue)\n"
    }

    /// A metric or label name: other characters than `a–z A–Z 0–9 _` become `_`.
    static func name(_ text: String) -> String {
        var name = String(
            text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" }
        )
        if name.first.map(\.isNumber) ?? true { name = "_" + name }
        return name
    }

    /// Labels in order of their names, without braces: `a="1",b="2"`.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }
            .map { "\(name($0.0))=\"\(escaped($0.1))\"" }
            .joined(separator: ",")
    }

    /// A number: whole ones without a fraction.
    static func number(_ value: Double) -> String {
        if value == .infinity { return "+Inf" }
        if value == -.infinity { return "-Inf" }
        return Int(exactly: value).map(String.init) ?? "\(value)"
    }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\\\"
            case "\"": escaped += "\\\""
            case "\n": escaped += "\\n"
            default: escaped.unicodeScalars.append(character)
            }
        }
        return escaped
    }
}
