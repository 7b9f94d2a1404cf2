import PollerClient
import PollerWire
import SafeNumbers

/// The activity of the last hour, one line per metric.
struct RecentActivity {
    /// The interval at which processes update the history.
    static let updateInterval = Duration.seconds(10)
    /// The maximum number of minutes drawn.
    private static let minutesMax = 60
    /// The columns for the title and for a rate or two durations.
    private static let labelColumns = 34
    private static let bars = Array("▁▂▃▄▅▆▇█")

    /// `nil` if the server keeps no history.
    private let history: StatsHistory?

    /// Reads the history.
    init(_ client: PollerClient) async throws {
        do {
            history = try await client.statsHistory()
        } catch PollerError.problem(let problem) where problem.status == 404 {
            history = nil
        }
    }

    /// The lines for display within a width; empty without a history.
    func lines(within width: Int?) -> [String] {
        guard let history else { return [] }
        let series = history.series
        let minutes = min(Self.minutesMax, max(0, (width ?? .max) - Self.labelColumns))
        return [
            line("Polls", series.polls, history, minutes),
            line("Changes", series.changes, history, minutes),
            line("Deliveries", series.deliveries, history, minutes),
            line("Failures", series.failures, history, minutes, badly: true),
            lag(series, minutes),
        ]
    }

    /// A metric's last hour and its rate in the last full minute.
    private func line(
        _ title: String,
        _ values: [Int],
        _ history: StatsHistory,
        _ minutes: Int,
        badly: Bool = false
    ) -> String {
        let last = values.dropLast().last ?? 0
        let rate = Double(last) / Double(max(history.stepSeconds, 1))
        let shown = "\(Self.rounded(rate))/s"
        let colour: Terminal.Colour? = badly && last > 0 ? .careful : nil
        return "\(Self.padded(title)) \(Self.sparkline(values.dropLast().suffix(minutes))) "
            + Terminal.coloured(shown, colour)
    }

    private func lag(_ series: StatsHistory.Series, _ minutes: Int) -> String {
        let p99 = series.lagP99.dropLast().map { $0.value ?? 0 }
        func last(_ name: String, _ values: [Measured]) -> String? {
            let ms = values.dropLast().last?.value
            return ms.map { "\(name) \(Duration.milliseconds($0).shown)" }
        }
        let shown = [last("p50", series.lagP50), last("p99", series.lagP99)].compactMap(\.self)
        return "\(Self.padded("Lag")) \(Self.sparkline(p99.suffix(minutes))) "
            + (shown.isEmpty ? "–" : shown.joined(separator: ", "))
    }

    /// Draws numbers as bars scaled to the maximum.
    static func sparkline(_ values: ArraySlice<Int>) -> String {
        let top = max(values.max() ?? 0, 1)
        return String(
            values.map { value in
                // Only zero is blank.
                value == 0 ? " " : bars[min(value * bars.count / (top + 1), bars.count - 1)]
            }
        )
    }

    /// A rate with two significant digits: 0.25, 3.1, 240.
    private static func rounded(_ rate: Double) -> String {
        let factor = rate >= 10 ? 1.0 : rate >= 1 ? 10 : 100
        let value = (rate * factor).rounded() / factor
        return factor == 1 || value == 0 ? String(Int(saturating: value)) : String(value)
    }

    private static func padded(_ title: String) -> String {
        title + String(repeating: " ", count: max(0, 10 - title.count))
    }
}
