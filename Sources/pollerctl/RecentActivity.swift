import PollerClient
import PollerWire

/// What the cluster did in the last hour, a line a figure.
struct RecentActivity {
    /// How often processes add to it.
    static let pause = Duration.seconds(10)
    /// Minutes drawn.
    private static let minutes = 60
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// Nil where the server keeps none.
    private let history: StatsHistory?

    /// Asks the server.
    init(_ client: PollerClient) async throws {
        do {
            history = try await client.statsHistory()
        } catch PollerError.problem(let problem) where problem.status == 404 {
            history = nil
        }
    }

    /// The view for people; empty where nothing is known.
    var lines: [String] {
        guard let history else { return [] }
        let series = history.series
        return [
            line("Polls", series.polls, history),
            line("Changes", series.changes, history),
            line("Deliveries", series.deliveries, history),
            line("Failures", series.failures, history, badly: true),
            lag(series),
        ]
    }

    /// A figure's last hour, and its rate in the last whole minute.
    private func line(
        _ title: String,
        _ values: [Int],
        _ history: StatsHistory,
        badly: Bool = false
    ) -> String {
        let last = values.dropLast().last ?? 0
        let rate = Double(last) / Double(max(history.stepSeconds, 1))
        let shown = "\(Self.rounded(rate))/s"
        let colour: Terminal.Colour? = badly && last > 0 ? .careful : nil
        return "\(Self.padded(title)) \(Self.sparkline(values.dropLast())) "
            + Terminal.coloured(shown, colour)
    }

    private func lag(_ series: StatsHistory.Series) -> String {
        let p99 = series.lagP99.dropLast().map { $0.value ?? 0 }
        let last = series.lagP99.dropLast().last?.value
        let shown = last.map { "p99 \(Duration.milliseconds($0).shown)" } ?? "–"
        return "\(Self.padded("Lag")) \(Self.sparkline(p99[...])) \(shown)"
    }

    /// The last hour as bars, the highest of them as high as the greatest number.
    static func sparkline(_ values: ArraySlice<Int>) -> String {
        let shown = values.suffix(minutes)
        let top = max(shown.max() ?? 0, 1)
        return String(
            shown.map { value in
                // Only nothing is drawn as nothing.
                value == 0 ? " " : bars[min(value * bars.count / (top + 1), bars.count - 1)]
            }
        )
    }

    /// Two figures that count: 0.25, 3.1, 240.
    private static func rounded(_ rate: Double) -> String {
        let factor = rate >= 10 ? 1.0 : rate >= 1 ? 10 : 100
        let value = (rate * factor).rounded() / factor
        return factor == 1 || value == 0 ? String(Int(value)) : String(value)
    }

    private static func padded(_ title: String) -> String {
        title + String(repeating: " ", count: max(0, 10 - title.count))
    }
}
