import Foundation

/// How log lines look.
enum LogFormat: String, Sendable, CaseIterable {
    /// For people: time, level, message, metadata.
    case text
    /// For machines: one JSON object a line.
    case json

    /// Text when somebody looks at standard error, else JSON.
    static var standard: LogFormat { isatty(STDERR_FILENO) == 1 ? .text : .json }
}
