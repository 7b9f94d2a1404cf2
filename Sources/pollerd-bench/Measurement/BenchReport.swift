import Histogram

/// The results of a run.
///
/// The member names of its JSON are part of the interface.
struct BenchReport: Sendable {
    /// Percentiles of a latency in milliseconds.
    struct Latency: Sendable {
        let p50: Double
        let p99: Double
        let max: Double
    }

    /// A figure with its forms for the table and for JSON.
    private struct Row: Sendable {
        let title: String
        let text: String
        /// The member name in the JSON, or `nil` if it is for people only.
        let member: String?
        let json: String
    }

    private var rows: [Row] = []
    private var groups: [(name: String, report: BenchReport)] = []
    private var ownFaults: [String] = []

    /// All rows, followed by those of the groups.
    private var allRows: [Row] { rows + groups.flatMap(\.report.allRows) }

    /// The reasons why the figures are not valid, each with the member's path in the JSON.
    var faults: [String] {
        ownFaults + groups.flatMap { name, group in group.faults.map { "\(name).\($0)" } }
    }

    /// Adds figures as a nested object of the JSON.
    mutating func add(_ name: String, _ group: BenchReport) {
        groups.append((name, group))
    }

    /// Adds the figures of another report.
    mutating func add(_ other: BenchReport) {
        rows += other.rows
        groups += other.groups
        ownFaults += other.ownFaults
    }

    /// Adds a text value.
    mutating func add(_ title: String, _ member: String, _ word: String) {
        rows.append(Row(title: title, text: word, member: member, json: "\"\(word)\""))
    }

    /// Adds the reason why a figure is missing.
    mutating func note(_ title: String, _ text: String) {
        rows.append(Row(title: title, text: text, member: nil, json: ""))
    }

    /// Adds a number to the JSON only, because the table for people shows it elsewhere.
    mutating func keep(_ member: String, _ value: Double) {
        check(member, value)
        rows.append(Row(title: "", text: "", member: member, json: Self.text(value)))
    }

    /// Adds a number, which is not valid if it is negative: a price is often the difference of two measurements.
    mutating func add(_ title: String, _ member: String, _ value: Double, _ unit: String) {
        check(member, value)
        let number = Self.text(value)
        rows.append(Row(title: title, text: "\(number) \(unit)", member: member, json: number))
    }

    /// Adds the CPU seconds of one unit, in µs.
    mutating func add(_ title: String, _ member: String, cpu seconds: Double) {
        add(title, member, seconds * 1e6, "µs")
    }

    /// Adds a number of lost or wrong messages, which is not valid unless it is 0.
    mutating func addLoss(_ title: String, _ member: String, _ count: Int) {
        if count > 0 { ownFaults.append("\(member) is \(count) instead of 0") }
        add(title, member, Double(count), "")
    }

    /// Adds a time in milliseconds that may be negative.
    mutating func addOffset(_ title: String, _ member: String, ms: Double) {
        let number = Self.text(ms)
        rows.append(Row(title: title, text: "\(number) ms", member: member, json: number))
    }

    private mutating func check(_ member: String, _ value: Double) {
        if !value.isFinite || value < 0 { ownFaults.append("\(member) is \(value)") }
    }

    /// Adds percentiles.
    mutating func add(_ title: String, _ member: String, _ latency: Latency) {
        let (p50, p99) = (Self.text(latency.p50), Self.text(latency.p99))
        let max = Self.text(latency.max)
        rows.append(
            Row(
                title: title,
                text: "p50 \(p50) ms, p99 \(p99) ms, max \(max) ms",
                member: member,
                json: "{\"p50\":\(p50),\"p99\":\(p99),\"max\":\(max)}"
            )
        )
    }

    /// One JSON object, with latencies in ms and CPU in µs.
    var json: String {
        let members =
            rows.compactMap { row in row.member.map { "\"\($0)\":\(row.json)" } }
            + groups.map { "\"\($0.name)\":\($0.report.json)" }
        return "{\(members.joined(separator: ","))}"
    }

    /// One line per figure, for people.
    var table: String {
        let rows = allRows.filter { !$0.title.isEmpty }
        let width = (rows.map(\.title.count).max() ?? 0) + 2
        return rows.map { row in
            row.title + String(repeating: " ", count: width - row.title.count) + row.text
        }.joined(separator: "\n")
    }

    /// Returns a number for the table and for JSON, which has no infinity.
    private static func text(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        return value >= 1000 ? String(Int(value.rounded())) : String((value * 100).rounded() / 100)
    }
}

extension Histogram<UInt64> {
    /// The percentiles of values recorded in µs.
    var latency: BenchReport.Latency {
        func ms(_ percentile: Double) -> Double {
            Double(valueAtPercentile(percentile)) / 1000
        }
        return BenchReport.Latency(p50: ms(50), p99: ms(99), max: Double(max) / 1000)
    }
}
