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

extension TransportFailure {
    /// Sorts an error of the HTTP client; anything unknown counts as a failed connection.
    init(_ error: any Error) {
        switch error {
        case is CancellationError:
            self.init(kind: .cancelled, detail: "the task was cancelled")
        case let error as HTTPClientError:
            self.init(kind: Self.kind(of: error), detail: error.shortDescription)
        case HTTPParserError.invalidEOFState:
            self.init(kind: .reset, detail: "connection closed in the middle of the response")
        case is HTTPParserError:
            self.init(kind: .notHTTP, detail: "the peer's answer is not HTTP")
        case let error as IOError:
            self.init(
                kind: Self.kind(ofErrno: error.errnoCode),
                detail: Self.systemMessage(of: error)
            )
        case ChannelError.connectTimeout:
            self.init(kind: .timeout, detail: "connecting took too long")
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

    /// What the system calls it, as NIO's own words tell a refusal as a reset.
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
