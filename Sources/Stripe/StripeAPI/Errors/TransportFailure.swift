import AsyncHTTPClient
import NIOCore
import NIOHTTP1
import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The reason why a request had no response.
public struct TransportFailure: Sendable, Hashable, CustomStringConvertible {
    /// The kind of a failure.
    public enum Kind: String, Sendable {
        /// The deadline passed while connecting, waiting or receiving the body.
        case timeout
        /// No connection: refused, unreachable, unknown host or TLS failure.
        case connection
        /// An established connection was lost.
        case reset
        /// The server does not speak HTTP.
        case notHTTP
        /// The calling task was cancelled.
        case cancelled
    }

    /// The kind of the failure.
    public let kind: Kind

    /// A one-line message for operators, without URLs, headers or bodies.
    public let detail: String

    /// Creates a failure.
    public init(kind: Kind, detail: String) {
        self.kind = kind
        self.detail = detail
    }

    /// The kind and the detail.
    public var description: String { "\(kind.rawValue): \(detail)" }
}

extension TransportFailure {
    /// Classifies an error of the HTTP client; an unknown error counts as a failed connection.
    init(_ error: any Error) {
        switch error {
        case is CancellationError:
            self.init(kind: .cancelled, detail: "the task was cancelled")
        case let error as HTTPClientError:
            self.init(kind: Self.kind(of: error), detail: error.shortDescription)
        case HTTPParserError.invalidEOFState:
            self.init(kind: .reset, detail: "the connection closed in the middle of the response")
        case is HTTPParserError:
            self.init(kind: .notHTTP, detail: "the response is not HTTP")
        case let error as IOError:
            self.init(
                kind: Self.kind(ofErrno: error.errnoCode),
                detail: Self.systemMessage(of: error)
            )
        case ChannelError.connectTimeout:
            self.init(kind: .timeout, detail: "connecting timed out")
        case is ChannelError:
            self.init(kind: .reset, detail: "\(error)")
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.lazy.compactMap { $0.error as? IOError }.first
            let reason = cause.map { ": \(Self.systemMessage(of: $0))" } ?? ""
            self.init(
                kind: .connection,
                detail: "cannot connect to \(error.host):\(error.port)\(reason)"
            )
        default:
            self.init(kind: .connection, detail: "\(type(of: error))")
        }
    }

    private static func kind(of error: HTTPClientError) -> Kind {
        switch error {
        case .deadlineExceeded, .readTimeout, .writeTimeout, .connectTimeout, .tlsHandshakeTimeout,
            .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout, .socksHandshakeTimeout:
            .timeout
        case .cancelled, .requestStreamCancelled: .cancelled
        case .remoteConnectionClosed, .uncleanShutdown: .reset
        default: .connection
        }
    }

    /// Returns the system's message, because NIO describes a refused connection as a reset.
    private static func systemMessage(of error: IOError) -> String {
        unsafe String(cString: strerror(error.errnoCode))
    }

    private static func kind(ofErrno code: CInt) -> Kind {
        switch code {
        case ECONNRESET, EPIPE, ECONNABORTED: .reset
        case ETIMEDOUT: .timeout
        default: .connection
        }
    }
}
