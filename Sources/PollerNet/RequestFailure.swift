package import Poller
import PollerHTTP

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

    /// A failure that we found ourselves; `raw` where others said it in other words.
    init(_ cause: Cause, _ reason: String, raw: String? = nil) {
        self.cause = cause
        self.reason = reason
        self.raw = raw ?? reason
    }

    /// Says what the HTTP client did not do; `timeout` is what the request had.
    init(_ failure: HTTPFailure, _ timeout: Duration) {
        switch failure {
        case .deadline: self.init(.deadline, "no complete answer within \(timeout.text)")
        case .connectTimeout: self.init(.connectTimeout, "no connection within 10s")
        case .handshakeTimeout: self.init(.handshakeTimeout, "no TLS handshake within 10s")
        case .tls(let words): self.init(.tls, "TLS failed: \(words)", raw: words)
        case .unresolved: self.init(.unresolved, "the host has no address")
        case .unreachable(let number):
            self.init(
                .unreachable,
                "nobody can be reached there: \(HTTPFailure.systemMessage(number))"
            )
        case .wrongPeer: self.init(.wrongPeer, "the connection led to another address")
        case .closed: self.init(.closed, "the receiver closed the connection")
        case .reset(let number): self.init(.reset, HTTPFailure.systemMessage(number))
        case .tooLarge: self.init(.tooLarge, "the answer is too large")
        case .notHTTP(let words): self.init(.other, "the answer is no HTTP: \(words)")
        case .tooManyWaiting: self.init(.other, "too many requests wait for a connection")
        case .cancelled:
            self.init(.cancelled, "the attempt was cut off: the process is shutting down")
        case .other(let words): self.init(.other, words)
        }
    }
}
