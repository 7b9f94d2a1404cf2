import AsyncHTTPClient
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
package import Poller

/// Why a request came to no answer: what to decide on, and what to tell an operator.
///
/// | cause | class of an attempt |
/// |---|---|
/// | `unresolved`: the name has no address now | `dns` |
/// | `blocked`: no address may be reached; `wrongPeer`: the connection led to another | `blocked` |
/// | `unusable`: the client takes no such URL | `unusable` |
/// | `deadline`: no complete answer in time | `timeout` |
/// | `connectTimeout`: no connection in time | `timeout` |
/// | `handshakeTimeout`, `tls`: no TLS handshake in time, or a certificate nobody believes | `tls` |
/// | `unreachable`: nobody listens there, or there is no way to it | `connect` |
/// | `closed`, `reset`: the connection ended early; `tooLarge`; `other` | `reset` |
/// | `cancelled`: the process is shutting down | `local` |
package struct RequestFailure: Error, Hashable, Sendable {
    /// What went wrong, as far as it makes a difference.
    package enum Cause: Hashable, Sendable {
        case unresolved, blocked, wrongPeer, unusable
        case deadline, connectTimeout, handshakeTimeout, tls, unreachable
        case closed, reset, tooLarge, other
        case cancelled
    }

    package let cause: Cause
    /// A few words for operators; never the URL, which may hold a customer's token.
    package let reason: String
    /// The client's own words, at most 160 characters, for what is told as it came.
    package let raw: String

    /// How the log of a delivery's attempts names it.
    package var kind: AttemptClass {
        switch cause {
        case .unresolved: .dns
        case .blocked, .wrongPeer: .blocked
        case .unusable: .unusable
        case .deadline, .connectTimeout: .timeout
        case .handshakeTimeout, .tls: .tls
        case .unreachable: .connect
        case .closed, .reset, .tooLarge, .other: .reset
        case .cancelled: .local
        }
    }

    /// A failure that we found ourselves.
    init(_ cause: Cause, _ reason: String) {
        self.cause = cause
        self.reason = reason
        raw = reason
    }

    /// Reads what the HTTP client threw; `timeout` is what the request had.
    init(_ error: any Error, _ timeout: Duration) {
        if let failure = error as? RequestFailure {
            self = failure
            return
        }
        raw = String("\(error)".prefix(160))
        switch error {
        case let error as HTTPClientError where error == .deadlineExceeded:
            (cause, reason) = (.deadline, "no complete answer within \(timeout.text)")
        case let error as HTTPClientError where error == .connectTimeout:
            (cause, reason) = (.connectTimeout, "no connection within 10s")
        case let error as HTTPClientError where error == .tlsHandshakeTimeout:
            (cause, reason) = (.handshakeTimeout, "no TLS handshake within 10s")
        case let error as HTTPClientError where error == .remoteConnectionClosed:
            (cause, reason) = (.closed, "the receiver closed the connection")
        case let error as HTTPClientError where error == .cancelled:
            (cause, reason) = (
                .cancelled, "the attempt was cut off: the process is shutting down"
            )
        case is NIOSSLError, is NIOSSLExtraError, is BoringSSLError:
            (cause, reason) = (.tls, "TLS failed: \(raw)")
        case is PinnedClients.WrongPeer:
            (cause, reason) = (.wrongPeer, "the connection led to another address")
        case let error as IOError:
            let isReset = error.errnoCode == ECONNRESET || error.errnoCode == EPIPE
            (cause, reason) = (isReset ? .reset : .unreachable, Self.words(error))
        case let error as NIOConnectionError:
            let first = error.connectionErrors.lazy.compactMap { $0.error as? IOError }.first
            let why = first.map(Self.words) ?? raw
            (cause, reason) = (.unreachable, "nobody can be reached there: \(why)")
        default: (cause, reason) = (.other, raw)
        }
    }

    /// What the system calls it, as NIO's own words tell a refusal as a reset.
    private static func words(_ error: IOError) -> String {
        unsafe String(cString: strerror(error.errnoCode))
    }
}
