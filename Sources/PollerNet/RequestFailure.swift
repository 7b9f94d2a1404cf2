import PollerHTTP
import PollerIdentity

/// Why a request has no response: the cause for decisions, and the text for an operator.
package struct RequestFailure: Error, Hashable, Sendable {
    /// The cause, as far as callers distinguish it.
    package enum Cause: Hashable, Sendable {
        /// The name has no address now.
        case unresolved
        /// No address is permitted.
        case blocked
        /// The connection led to another address.
        case wrongPeer
        /// The client does not accept such a request.
        case unusable
        /// No complete response in time.
        case deadline
        /// No connection in time.
        case connectTimeout
        /// No TLS handshake in time.
        case handshakeTimeout
        /// The TLS handshake failed, for example because of an untrusted certificate.
        case tls
        /// No server listens there, or there is no route.
        case unreachable
        /// The connection was closed before a complete response.
        case closed
        /// The connection was reset.
        case reset
        /// The response exceeds the limit.
        case tooLarge
        /// Another cause, such as a response that is not valid HTTP, or too many requests that wait for a connection.
        case other
        /// The process is shutting down.
        case cancelled
    }

    package let cause: Cause
    /// A short text for operators; never the URL, which may hold a customer's token.
    package let reason: String
    /// The client's own text, at most 160 characters, for output that quotes it.
    package let raw: String

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
