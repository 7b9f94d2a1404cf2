import Foundation
package import NIOCore
package import NIOHTTP1

/// Where a request goes, and so which connections it may use.
package struct HTTPOrigin: Hashable, Sendable {
    /// Whether it is `https`.
    package let isSecure: Bool
    /// Lower case, without the brackets of a v6 address; SNI and the certificate go by it.
    package let host: String
    package let port: Int
    /// What `Host` says: the port only where it is not the scheme's own.
    package let authority: String

    /// Describes an origin.
    package init(isSecure: Bool, host: String, port: Int) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        let bracketed = host.contains(":") ? "[\(host)]" : host
        authority = port == (isSecure ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }

    /// By what differs most; the rest is compared.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(port)
        hasher.combine(host)
    }

    package static func == (one: HTTPOrigin, other: HTTPOrigin) -> Bool {
        one.port == other.port && one.isSecure == other.isSecure && one.host == other.host
    }
}

/// One request, and how much of an answer it wants.
package struct HTTPCall: Sendable {
    package let origin: HTTPOrigin
    /// Where its host is, in the order to be tried: no connection to another address is used.
    ///
    /// None: any connection that is free is used, and the call ends with ``HTTPFailure/unresolved`` when
    /// there is none.
    package let addresses: [SocketAddress]
    /// Whether an attempt before has failed: then the first of ``addresses`` is tried first, whichever
    /// has answered last, and a connection is used only if it leads there.
    package let isRetry: Bool
    package let method: HTTPMethod
    /// Path and query as they stand in the request line.
    package let target: String
    /// Without those of the connection and of the body's length, which are added here, as is `Host`
    /// unless it comes first.
    package let headers: HTTPHeaders
    package let body: ByteBuffer?
    /// When the last byte of the answer must have come.
    package let deadline: NIODeadline
    /// As much of the answer's body is kept; where it has more, the connection is closed.
    package let bodyBytesMax: Int
    /// Whether an answer that announces a longer body is refused at its head.
    package let refusesLongBodies: Bool

    /// Describes a request.
    package init(
        _ method: HTTPMethod,
        _ target: String,
        at origin: HTTPOrigin,
        addresses: [SocketAddress],
        isRetry: Bool = false,
        headers: HTTPHeaders,
        body: ByteBuffer? = nil,
        deadline: NIODeadline,
        bodyBytesMax: Int,
        refusesLongBodies: Bool = true
    ) {
        self.origin = origin
        self.addresses = addresses
        self.isRetry = isRetry
        self.method = method
        self.target = target
        self.headers = headers
        self.body = body
        self.deadline = deadline
        self.bodyBytesMax = bodyBytesMax
        self.refusesLongBodies = refusesLongBodies
    }

    /// The head as it is sent.
    ///
    /// The body's length is said here, so that the encoder need not look through the headers again.
    var head: HTTPRequestHead {
        var headers = headers
        if headers.first?.name != "host" {
            headers = HTTPHeaders([("host", origin.authority)] + headers)
        }
        if let body {
            headers.add(name: "content-length", value: String(body.readableBytes))
        } else if method != .GET, method != .HEAD {
            headers.add(name: "content-length", value: "0")
        }
        return HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
    }

    /// Whether it may be sent again when nobody knows whether it arrived: RFC 9110 §9.2.1.
    var isRepeatable: Bool { (method == .GET || method == .HEAD) && body == nil }
}

/// An answer as far as it was read.
package struct HTTPReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Whether the head was understood; otherwise only the status line was read, and there are no headers.
    package private(set) var hasHead = true
    /// At most as many bytes as were asked for; a slice of what was read, if it came in one piece.
    package internal(set) var body = ByteBuffer()

    /// An answer whose head was understood.
    init(status: Int, headers: HTTPHeaders) {
        self.status = status
        self.headers = headers
    }

    /// An answer of which only the status line was read.
    init(statusLine status: Int) {
        self.status = status
        headers = [:]
        hasHead = false
    }
}

/// What became of a request, and how far it came when.
package struct HTTPResult: Sendable {
    /// What became of it: exactly one of these, exactly once.
    package enum Outcome: Sendable {
        /// A whole answer.
        case answered(HTTPReply)
        /// An answer whose body did not come to its end, or of whose head only the status line was understood
        /// (``HTTPReply/hasHead``).
        case cutShort(HTTPReply, HTTPFailure)
        /// No answer.
        case failed(HTTPFailure)
    }

    package let outcome: Outcome
    /// When it was handed to a connection; nil if it never was.
    package let sentAt: NIODeadline?
    /// When the head of the answer came; nil if it never did.
    package let headAt: NIODeadline?
    /// The address that it was sent to; nil if it was not sent.
    package let peer: SocketAddress?
}

/// Why there is no answer, or not all of it.
package enum HTTPFailure: Error, Hashable, Sendable {
    /// No complete answer before the deadline.
    case deadline
    /// No connection within ``ConnectionLimits/openMs``.
    case connectTimeout
    /// A connection, but no TLS within the same time.
    case handshakeTimeout
    /// A certificate nobody believes, or no protocol in common; the words of the TLS library.
    case tls(String)
    /// No connection is free, and the call does not say where to make one: look the name up and call
    /// again. So nobody looks up a name for a request that needs none.
    case unresolved
    /// Nobody listens there, or there is no way to it; the system's error number.
    case unreachable(CInt)
    /// The connection led to another address than was asked for.
    case wrongPeer
    /// The connection ended early.
    case closed
    /// The connection was broken off; the system's error number.
    case reset(CInt)
    /// The body is longer than is wanted.
    case tooLarge
    /// What came is no answer of HTTP/1.1, or a head without end.
    case notHTTP(String)
    /// Too many requests wait for a connection to this origin.
    case tooManyWaiting
    /// The task was cancelled, or the client was closed.
    case cancelled
    /// Anything else, in the words of the library that said it.
    case other(String)
}

extension HTTPFailure {
    /// What the system calls an error number, as NIO's own words tell a refusal as a reset.
    package static func systemMessage(_ number: CInt) -> String {
        unsafe String(cString: strerror(number))
    }
}

/// The bounds of connections and of those who wait for one.
package struct ConnectionLimits: Hashable, Sendable {
    /// Connections to one origin from one event loop; beyond it requests wait.
    package var connectionsMax = 1024
    /// Requests that wait for a connection to one origin; more than a process has in flight.
    package var waitingMax = 4096
    /// How long a connection may take to be made, and as long again for its TLS.
    package var openMs: Int64 = 10_000
    /// How long a connection is kept without use: below the 60 s and more after which servers close.
    package var idleMs: Int64 = 30_000
    /// How long a connection is used: a host that has moved gets no new requests after it.
    package var ageMs: Int64 = 600_000

    /// The limits as they are above.
    package init() {}
}
