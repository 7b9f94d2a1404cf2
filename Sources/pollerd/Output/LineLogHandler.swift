import Foundation
import JSONText
import Logging
import PollerIdentity
import ProgramOutput
import SafeNumbers

/// Writes one line per entry to ``LogOutput``, as text or as a JSON object.
///
/// *Shape* (JSON): `{"time":"…Z","level":"info","message":"…","logger":"…","source":"src_…"}`. The names of the
/// metadata are members. swift-log's own handler does not support JSON.
struct LineLogHandler: LogHandler {
    var logLevel: Logger.Level
    var metadata: Logger.Metadata = [:]
    private let label: String
    private let format: LogFormat

    init(label: String, format: LogFormat, level: Logger.Level) {
        self.label = label
        self.format = format
        logLevel = level
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        // At level info the HTTP server only repeats the addresses that ``Announcer`` prints.
        if event.level == .info, event.source == "HummingbirdCore", logLevel == .info { return }
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        LogOutput.standardError.append(line(event.level, "\(event.message)", all))
    }

    /// Returns one entry with its line feed.
    func line(_ level: Logger.Level, _ message: String, _ metadata: Logger.Metadata) -> String {
        let time = WallClock.now()
        let pairs = metadata.sorted { $0.key < $1.key }
        switch format {
        case .json:
            let members = pairs.map { name, value in
                ",\(JSONWriter.literal(name)):\(Self.json("\(value)", of: name))"
            }
            return """
                {"time":"\(time)","level":"\(level)","logger":\(JSONWriter.literal(label)),\
                "message":\(JSONWriter.literal(message))\(members.joined())}

                """
        case .text:
            let members = pairs.map { " \($0.key)=\(Self.oneLine("\($0.value)"))" }.joined()
            let level = "\(level)".uppercased().padding(
                toLength: 8,
                withPad: " ",
                startingAt: 0
            )
            return "\(time) \(level)\(message)\(members)\n"
        }
    }

    /// Fields that are counts or measurements.
    ///
    /// An index requires one type per field in all lines.
    private static let numbers: Set<String> = [
        "attempt", "attempts", "count", "failures", "http.duration_ms", "http.status", "in.flight",
        "partition", "run", "seq",
    ]

    private static func json(_ text: String, of name: String) -> String {
        numbers.contains(name) && Int(decimal: text) != nil ? text : JSONWriter.literal(text)
    }

    private static func oneLine(_ text: String) -> String {
        text.contains(where: { $0.isNewline || $0 == " " }) ? JSONWriter.literal(text) : text
    }
}

enum LogFormat: String, Sendable, CaseIterable {
    /// For people: time, level, message, metadata.
    case text
    /// For machines: one JSON object per line.
    case json

    /// Text if standard error is a terminal, otherwise JSON.
    static var standard: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
}

/// This machine's clock, used for signatures and HTTP dates, not for due times.
enum WallClock {
    /// Returns the current time of this machine.
    static func now() -> Timestamp {
        Timestamp(ms: Int64(saturating: Date().timeIntervalSince1970 * 1000))
    }
}
