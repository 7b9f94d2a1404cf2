package import CoreMetrics
package import Logging
import PollerOperations
import SafeNumbers
import Synchronization

/// Stores this process's metrics and renders them for Prometheus (text format 0.0.4).
///
/// The description of each metric is in ``Metric``, and precedes its lines.
///
/// Counters only grow. Recorders without aggregation and meters are gauges. Timers and other recorders are histograms
/// over fixed buckets, with timers in seconds.
///
/// *Limits*: 500 names and 200 label sets per name. Labels are meant to be enumerations, and a value from outside must
/// not exhaust the memory of this process or of Prometheus. Further label sets share one labelled `overflow="true"`, so
/// sums stay correct. Further gauges are left out. The log names a metric once when it exceeds the limit.
///
/// swift-metrics creates a handler at every use of a metric, so the registry returns the same one for the same name and
/// labels. A class, because the process and its metrics system share it.
package final class PrometheusRegistry: MetricsFactory {
    static let namesMax = 500
    static let seriesMax = 200

    private let families = Mutex<[String: PrometheusFamily]>([:])
    /// The metrics over the limit on label sets that were logged.
    private let logged = Mutex<Set<String>>([])
    private let logger: Logger
    private static let refusals = "poller_metrics_refused_total"

    /// Creates an empty registry, to be passed to `MetricsSystem.bootstrap` once.
    package init(logger: Logger) {
        self.logger = logger
    }

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

    // All series but gauges live as long as the process, because a counter that disappears looks like a reset.
    package func destroyCounter(_ handler: any CounterHandler) {}
    package func destroyFloatingPointCounter(_ handler: any FloatingPointCounterHandler) {}
    package func destroyMeter(_ handler: any MeterHandler) {}
    package func destroyTimer(_ handler: any TimerHandler) {}

    package func destroyRecorder(_ handler: any RecorderHandler) {
        families.withLock { families in
            for name in families.keys where families[name]?.kind == .gauge {
                families[name]?.remove(handler)
            }
        }
    }

    /// All metrics in Prometheus text format 0.0.4, sorted by name.
    package var text: String {
        let families = families.withLock { $0 }
        var text = ""
        for (name, family) in families.sorted(by: { $0.key < $1.key }) {
            family.render(name, into: &text)
        }
        return text
    }

    /// Initialises each counter without labels to 0.
    ///
    /// Prometheus sees no increase in a counter that first appears with a value, so an alert would miss a single
    /// occurrence.
    package func beginCounters() {
        for metric in Metric.all where metric.kind == .counter && metric.labels.isEmpty {
            _ = value(metric.name, .counter, [])
        }
    }

    /// Removes metrics until they are set again, because an unknown value is better left out.
    package func forget(_ names: [String]) {
        families.withLock { families in
            for name in names { families[name] = nil }
        }
    }

    /// Returns the sum of a counter over its labels; 0 if it was never incremented.
    ///
    /// `matching` selects labels in Prometheus syntax, such as `result="failed"`.
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

    /// Returns a timer's counts in each of ``LatencyBuckets``, over all its labels.
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

    /// Returns the series of a name and labels; `nil` if the name has another type or exceeds the limit.
    private func series(
        _ label: String,
        _ kind: Metric.Kind,
        _ dimensions: [(String, String)]
    ) -> PrometheusFamily.Series? {
        let name = PrometheusText.name(label)
        let labels = PrometheusText.labels(dimensions)
        let found = families.withLock { families -> PrometheusFamily.Found? in
            if families[name] == nil, families.count < Self.namesMax {
                families[name] = PrometheusFamily(kind: kind)
            }
            guard families[name]?.kind == kind else { return nil }
            return families[name]?.series(labels, max: Self.seriesMax)
        }
        if found?.isOver == true { logOverflow(of: name) }
        if found?.series == nil { countRefusal() }
        return found?.series
    }

    private func logOverflow(of name: String) {
        guard logged.withLock({ $0.insert(name).inserted }) else { return }
        logger.warning(
            "a metric has too many label sets: further ones are summed, those of a gauge missing",
            metadata: ["metric": "\(name)", "limit": "\(Self.seriesMax)"]
        )
    }

    private func countRefusal() {
        families.withLock { families in
            // Exempt from the limit on names, so that this counter is always exported.
            let new = PrometheusFamily(kind: .counter)
            let found = families[Self.refusals, default: new].series("", max: 1)
            if case .value(let count) = found.series { count.increment(by: 1.0) }
        }
    }
}

/// The series of one metric name.
struct PrometheusFamily: Sendable {
    /// The value of one label set.
    enum Series: Sendable {
        case value(PrometheusValue)
        case histogram(PrometheusHistogram)
    }

    /// The series of a label set, and whether it exceeds the limit.
    typealias Found = (series: Series?, isOver: Bool)

    let kind: Metric.Kind
    /// The series by rendered labels, without braces.
    private var series: [String: Series] = [:]

    /// Every series by its labels.
    var all: [String: Series] { series }

    init(kind: Metric.Kind) {
        self.kind = kind
    }

    /// Returns the series of a label set, or the overflow series once there are `max`.
    ///
    /// Gauges have no overflow series: it would show the last value of any label set.
    mutating func series(_ labels: String, max: Int) -> Found {
        if let known = series[labels] { return (known, false) }
        let isOver = series.count >= max
        if isOver, kind == .gauge { return (nil, true) }
        let labels = isOver ? "overflow=\"true\"" : labels
        if let known = series[labels] { return (known, isOver) }
        let new: Series =
            kind == .histogram ? .histogram(PrometheusHistogram()) : .value(PrometheusValue())
        series[labels] = new
        return (new, isOver)
    }

    /// Removes the series of a gauge.
    mutating func remove(_ handler: any RecorderHandler) {
        series = series.filter { _, series in
            if case .value(let value) = series { value !== handler } else { true }
        }
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

/// A counter or gauge value.
///
/// A class, as the metrics API requires.
final class PrometheusValue: CounterHandler, FloatingPointCounterHandler, MeterHandler,
    RecorderHandler
{
    private let value = Mutex(0.0)

    /// The current value.
    ///
    /// Integers are exact up to 2^53.
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

/// A histogram over fixed buckets.
///
/// A class, as the metrics API requires.
///
/// The buckets are ``LatencyBuckets``, so a series has at most 19 lines.
final class PrometheusHistogram: TimerHandler, RecorderHandler {
    /// The state that the lock protects: a count for each bucket, and the sum.
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

    /// The counts of each bucket.
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

/// The syntax of Prometheus' text format 0.0.4.
enum PrometheusText {
    /// Returns the lines before the samples of a metric.
    static func head(_ name: String, _ kind: Metric.Kind) -> String {
        let help = Metric.byName[name].map { "# HELP \(name) \($0.help)\n" } ?? ""
        return "\(help)# TYPE \(name) \(kind.rawValue)\n"
    }

    /// Returns a valid metric or label name.
    ///
    /// Characters other than `a–z A–Z 0–9 _` become `_`.
    static func name(_ text: String) -> String {
        var name = String(
            text.map { $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_") ? $0 : "_" }
        )
        if name.first.map(\.isNumber) ?? true { name = "_" + name }
        return name
    }

    /// Returns labels sorted by name, without braces: `a="1",b="2"`.
    static func labels(_ dimensions: [(String, String)]) -> String {
        dimensions.sorted { $0.0 < $1.0 }
            .map { "\(name($0.0))=\"\(escaped($0.1))\"" }
            .joined(separator: ",")
    }

    /// Returns a number as text.
    ///
    /// Whole numbers have no fraction.
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
