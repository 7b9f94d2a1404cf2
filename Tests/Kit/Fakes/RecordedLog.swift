package import Logging
import Synchronization

/// Records log lines, for tests of the messages an operator reads.
///
/// It is a class because handlers are copied.
package final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])

    /// Creates an empty log.
    package init() {}

    /// The lines: `<level>: <message> <name>=<value> …`, the metadata sorted by name.
    package var all: [String] { lines.withLock { $0 } }

    /// The lines of level error, without the level.
    package var errors: [String] {
        all.filter { $0.hasPrefix("error: ") }.map { String($0.dropFirst(7)) }
    }

    /// A logger that writes here.
    package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    /// Returns whether a line contains both texts.
    package func has(_ message: String, _ detail: String = "") -> Bool {
        all.contains { $0.contains(message) && $0.contains(detail) }
    }

    private struct Handler: LogHandler {
        let log: RecordedLog
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.trace

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let merged = metadata.merging(event.metadata ?? [:]) { $1 }
            let fields = merged.map { "\($0)=\($1)" }.sorted().joined(separator: " ")
            log.lines.withLock { $0.append("\(event.level): \(event.message) \(fields)") }
        }
    }
}
