import Logging
import Synchronization

/// Keeps what is logged, for tests of what an operator reads.
final class RecordedLog: Sendable {
    private let lines = Mutex<[String]>([])

    var all: [String] { lines.withLock { $0 } }

    var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

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
