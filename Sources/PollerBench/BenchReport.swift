/// What a run measured; the member names of its JSON are part of the interface.
package struct BenchReport: Sendable {
    /// Percentiles of a latency in milliseconds.
    struct Latency: Sendable {
        let p50: Double
        let p99: Double
        let max: Double
    }

    /// A figure as a table shows it and as JSON names it.
    private struct Row: Sendable {
        let title: String
        let text: String
        let member: String
        let json: String
    }

    private var rows: [Row] = []
    private var groups: [(name: String, report: BenchReport)] = []

    /// Adds figures that are an object of their own in the JSON.
    mutating func add(_ name: String, _ group: BenchReport) {
        groups.append((name, group))
    }

    /// Adds a number.
    mutating func add(_ title: String, _ member: String, _ value: Double, _ unit: String) {
        let number = Self.text(value)
        rows.append(Row(title: title, text: "\(number) \(unit)", member: member, json: number))
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

    /// One object; latencies in ms, CPU in µs.
    package var json: String {
        let members =
            rows.map { "\"\($0.member)\":\($0.json)" }
            + groups.map { "\"\($0.name)\":\($0.report.json)" }
        return "{\(members.joined(separator: ","))}"
    }

    /// A line a figure, for people.
    package var table: String {
        let rows = rows + groups.flatMap(\.report.rows)
        let width = (rows.map(\.title.count).max() ?? 0) + 2
        return rows.map { row in
            row.title + String(repeating: " ", count: width - row.title.count) + row.text
        }.joined(separator: "\n")
    }

    private static func text(_ value: Double) -> String {
        value >= 1000 ? String(Int(value.rounded())) : String((value * 100).rounded() / 100)
    }
}
