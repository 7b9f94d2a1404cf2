package import PollerDeliveries
import PollerHTTP
import PollerIdentity

/// Why a request has no response: the cause for decisions, and the text for an operator.
///
/// | cause | class of an attempt |
/// |---|---|
/// | `unresolved`: the name has no address now | `dns` |
/// | `blocked`: no address is permitted; `wrongPeer`: the connection led to another | `blocked` |
/// | `unusable`: the client does not accept such a request | `unusable` |
/// | `deadline`: no complete response in time | `timeout` |
/// | `connectTimeout`: no connection in time | `timeout` |
/// | `handshakeTimeout`, `tls`: no TLS handshake in time, or an untrusted certificate | `tls` |
/// | `unreachable`: no server listens there, or there is no route | `connect` |
/// | `closed`, `reset`: the connection ended early; `tooLarge`; `other` | `reset` |
/// | `cancelled`: the process is shutting down | `local` |
package struct RequestFailure: Error, Hashable, Sendable {
    /// The cause, as far as callers distinguish it.
    package enum Cause: Hashable, Sendable {
        case unresolved, blocked, wrongPeer, unusable
        case deadline, connectTimeout, handshakeTimeout, tls, unreachable
        case closed, reset, tooLarge, other
        case cancelled
    }

    package let cause: Cause
    /// A short text for operators; never the URL, which may hold a customer's token.
    package let reason: String
    /// The client's own text, at most 160 characters, for output that quotes it.
    package let raw: String

    /// The class under which the attempt log of a delivery records it.
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

    /// Makes a failure that this process detected; `raw` is the original text of another library.
    init(_ cause: Cause, _ reason: String, raw: String? = nil) {
        self.cause = cause
        self.reason = reason
        self.raw = raw ?? reason
    }

    /// Describes a failure of the HTTP client; `timeout` is that of the request.
    init(_ failure: HTTPFailure, _ timeout: Duration) {
        switch failure {
        case .deadline: self.init(.deadline, "no complete response within \(timeout.text)")
        case .connectTimeout: self.init(.connectTimeout, "no connection within 10s")
        case .handshakeTimeout: self.init(.handshakeTimeout, "no TLS handshake within 10s")
        case .tls(let words): self.init(.tls, "TLS failed: \(words)", raw: words)
        case .unresolved: self.init(.unresolved, "the host has no address")
        case .unreachable(let number):
            self.init(
                .unreachable,
                "the host is unreachable: \(HTTPFailure.systemMessage(number))"
            )
        case .wrongPeer: self.init(.wrongPeer, "the connection led to another address")
        case .closed: self.init(.closed, "the receiver closed the connection")
        case .reset(let number): self.init(.reset, HTTPFailure.systemMessage(number))
        case .tooLarge: self.init(.tooLarge, "the response is too large")
        case .notHTTP(let words): self.init(.other, "the response is not valid HTTP: \(words)")
        case .tooManyWaiting: self.init(.other, "too many requests wait for a connection")
        case .cancelled:
            self.init(.cancelled, "the attempt was cancelled: the process is shutting down")
        case .other(let words): self.init(.other, words)
        }
    }
}
