import Logging
import Synchronization

/// Keeps what is logged, for tests that wait for it.
///
/// A class, because handlers are copied.
final class LogRecorder: Sendable {
    private let entries = Mutex<[String]>([])

    /// A logger that writes here.
    var logger: Logger {
        var logger = Logger(label: "test") { _ in Handler(recorder: self) }
        logger.logLevel = .debug
        return logger
    }

    /// Whether a line holds both texts.
    func has(_ message: String, _ detail: String = "") -> Bool {
        entries.withLock { $0.contains { $0.contains(message) && $0.contains(detail) } }
    }

    private struct Handler: LogHandler {
        let recorder: LogRecorder
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.debug

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let line = "\(event.message) \(event.metadata ?? [:])"
            recorder.entries.withLock { $0.append(line) }
        }
    }
}
