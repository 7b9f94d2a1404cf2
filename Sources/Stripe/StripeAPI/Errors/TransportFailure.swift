/// Why a request ended without a response.
public struct TransportFailure: Sendable, Hashable, CustomStringConvertible {
    /// What a caller distinguishes.
    public enum Kind: String, Sendable {
        /// The deadline passed, wherever the request was: connecting, waiting, or in the middle of the body.
        case timeout
        /// No connection: refused, unreachable, unknown host, TLS failure.
        case connection
        /// The connection was lost after it had been made.
        case reset
        /// The peer does not speak HTTP.
        case notHTTP
        /// The calling task was cancelled.
        case cancelled
    }

    /// What a caller distinguishes.
    public let kind: Kind

    /// One line for an operator; never a URL, a header or a body.
    public let detail: String

    /// Describes a failure.
    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// Kind and detail.
    public var description: String { "\(kind.rawValue): \(detail)" }
}
