import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import Poller
import PollerNet

/// Why an attempt came to no answer.
struct WebhookFailure: Hashable, Sendable {
    let kind: AttemptClass
    /// A few words for operators; never the URL, which may hold a customer's token.
    let reason: String

    /// Reads what the HTTP client threw; `timeout` is what the attempt had.
    init(_ error: any Error, timeout: Duration) {
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded:
            (kind, reason) = (.timeout, "no complete answer within \(timeout.text)")
        case let error as HTTPClientError where error == .connectTimeout:
            (kind, reason) = (.timeout, "no connection within 10s")
        case let error as HTTPClientError where error == .tlsHandshakeTimeout:
            (kind, reason) = (.tls, "no TLS handshake within 10s")
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            (kind, reason) = (.reset, "the receiver closed the connection")
        case let error as HTTPClientError where error == .cancelled:
            (kind, reason) = (.local, "the attempt was cut off: the process is shutting down")
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            (kind, reason) = (.tls, "TLS failed: \("\(error)".prefix(160))")
        case is PinnedClients.WrongPeer:
            (kind, reason) = (.blocked, "the connection led to another address")
        case let error as IOError:
            kind = error.errnoCode == ECONNRESET || error.errnoCode == EPIPE ? .reset : .connect
            reason = Self.words(error)
        case let error as NIOConnectionError:
            let cause = error.connectionErrors.lazy.compactMap { $0.error as? IOError }.first
            let why = cause.map(Self.words) ?? String("\(error)".prefix(160))
            (kind, reason) = (.connect, "nobody can be reached there: \(why)")
        default:
            (kind, reason) = (.reset, String("\(error)".prefix(160)))
        }
    }

    /// What the system calls it, as NIO's own words tell a refusal as a reset.
    private static func words(_ error: IOError) -> String {
        unsafe String(cString: strerror(error.errnoCode))
    }

    /// The attempt's result.
    var result: AttemptResult { .failed(reason, kind) }
}
