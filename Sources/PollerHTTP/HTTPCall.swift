import Foundation
package import NIOCore
package import NIOHTTP1

/// The destination of a request, which determines the connections it may use.
package struct HTTPOrigin: Hashable, Sendable {
    /// Whether it is `https`.
    package let isSecure: Bool
    /// Lower case, without the brackets of an IPv6 address; used for SNI and for checking the
    /// certificate.
    package let host: String
    package let port: Int
    /// The value of `Host`: with the port only if it is not the scheme's default.
    package let authority: String

    package init(isSecure: Bool, host: String, port: Int) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
        let bracketed = host.contains(":") ? "[\(host)]" : host
        authority = port == (isSecure ? 443 : 80) ? bracketed : "\(bracketed):\(port)"
    }

    /// Hashes the fields that differ most; equality compares the rest.
    package func hash(into hasher: inout Hasher) {
        hasher.combine(port)
        hasher.combine(host)
    }

    package static func == (one: HTTPOrigin, other: HTTPOrigin) -> Bool {
        one.port == other.port && one.isSecure == other.isSecure && one.host == other.host
    }
}

/// One request, and the limits of its response.
package struct HTTPCall: Sendable {
    package let origin: HTTPOrigin
    /// The host's addresses, in the order to try them; no connection to another address is used.
    ///
    /// Empty: any free connection is used, and the call fails with ``HTTPFailure/unresolved`` if
    /// there is none.
    package let addresses: [SocketAddress]
    /// Whether an earlier attempt has failed.
    ///
    /// Then the first of ``addresses`` is tried first, whichever responded last, and a connection
    /// is used only if it leads there.
    package let isRetry: Bool
    package let method: HTTPMethod
    /// Path and query as written in the request line.
    package let target: String
    /// The headers, without those of the connection and the body's length, which are added here.
    ///
    /// `Host` is added too unless it comes first.
    package let headers: HTTPHeaders
    package let body: ByteBuffer?
    /// The time by which the last byte of the response must have arrived.
    package let deadline: NIODeadline
    /// The most bytes kept of the response body.
    ///
    /// If it is longer, the connection is closed.
    package let bodyBytesMax: Int
    /// Whether a response that announces a longer body is rejected after its head.
    package let refusesLongBodies: Bool

    /// Makes a request.
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
    /// It contains the body's length, so that the encoder need not search the headers again.
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

    /// The bytes of a GET without a body or a POST with one; `nil` if NIO's encoder must write the request.
    ///
    /// They equal those of the encoder. Written directly, a request needs no head object, no copy of
    /// the headers and no call of the handlers.
    func plainBytes(_ allocator: ByteBufferAllocator) -> ByteBuffer? {
        guard body == nil ? method == .GET : method == .POST else { return nil }
        var bytes = allocator.buffer(capacity: 512 + (body.map { 512 + $0.readableBytes } ?? 0))
        bytes.writeString(body == nil ? "GET " : "POST ")
        bytes.writeString(target)
        bytes.writeString(" HTTP/1.1\r\n")
        if headers.first?.name != "host" {
            bytes.writeString("host: ")
            bytes.writeString(origin.authority)
            bytes.writeString("\r\n")
        }
        for (name, value) in headers {
            // The encoder frames the body of such a request in chunks.
            if name.utf8.count == 17, name.lowercased() == "transfer-encoding" { return nil }
            bytes.writeString(name)
            bytes.writeString(": ")
            bytes.writeString(value)
            bytes.writeString("\r\n")
        }
        if let body {
            bytes.writeString("content-length: ")
            bytes.writeString(String(body.readableBytes))
            bytes.writeString("\r\n")
        }
        bytes.writeString("\r\n")
        if let body { bytes.writeImmutableBuffer(body) }
        return bytes
    }

    /// Whether it may be repeated if it is unknown whether it arrived: RFC 9110 §9.2.1.
    var isRepeatable: Bool { (method == .GET || method == .HEAD) && body == nil }
}

/// A response as far as it was read.
package struct HTTPReply: Sendable {
    package let status: Int
    package let headers: HTTPHeaders
    /// Whether the head was valid.
    ///
    /// Otherwise only the status line was read, and there are no headers.
    package private(set) var hasHead = true
    /// At most ``HTTPCall/bodyBytesMax`` bytes; a slice of the read buffer if it arrived in one
    /// piece.
    package internal(set) var body = ByteBuffer()

    /// Makes a response with a valid head.
    init(status: Int, headers: HTTPHeaders) {
        self.status = status
        self.headers = headers
    }

    /// Makes a response of which only the status line was read.
    init(statusLine status: Int) {
        self.status = status
        headers = [:]
        hasHead = false
    }
}

/// The outcome of a request, with its timing.
package struct HTTPResult: Sendable {
    /// The outcome: exactly one of these, exactly once.
    package enum Outcome: Sendable {
        /// A complete response.
        case answered(HTTPReply)
        /// A response with an incomplete body, or of whose head only the status line was valid
        /// (``HTTPReply/hasHead``).
        case cutShort(HTTPReply, HTTPFailure)
        /// No response.
        case failed(HTTPFailure)
    }

    package let outcome: Outcome
    /// When it was handed to a connection; `nil` if it never was.
    package let sentAt: NIODeadline?
    /// When the head of the response arrived; `nil` if it never did.
    package let headAt: NIODeadline?
    /// The address that it was sent to; `nil` if it was not sent.
    package let peer: SocketAddress?
}

/// Why there is no response, or only a part of it.
package enum HTTPFailure: Error, Hashable, Sendable {
    /// No complete response before the deadline.
    case deadline
    /// No connection within ``ConnectionLimits/openMs``.
    case connectTimeout
    /// A connection, but no TLS within the same time.
    case handshakeTimeout
    /// An untrusted certificate, or no common protocol; the text of the TLS library.
    case tls(String)
    /// No connection is free, and the call has no addresses. The caller must resolve the name and
    /// call again. Requests that find a free connection thus need no name lookup.
    case unresolved
    /// No server listens there, or there is no route; the system's error number.
    case unreachable(CInt)
    /// The connection led to another address than requested.
    case wrongPeer
    /// The connection ended early.
    case closed
    /// The connection was reset; the system's error number.
    case reset(CInt)
    /// The body is longer than the limit.
    case tooLarge
    /// The bytes are not an HTTP/1.1 response, or its head has no end.
    case notHTTP(String)
    /// Too many requests wait for a connection to this origin.
    case tooManyWaiting
    /// The task was cancelled, or the client was closed.
    case cancelled
    /// Any other error, with the text of the library that reported it.
    case other(String)
}

extension HTTPFailure {
    /// Returns the system's text for an error number.
    ///
    /// NIO's own text describes a refused connection as a reset.
    package static func systemMessage(_ number: CInt) -> String {
        unsafe String(cString: strerror(number))
    }
}

/// The limits of connections and of waiting requests.
package struct ConnectionLimits: Hashable, Sendable {
    /// Connections to one origin per event loop; further requests wait.
    package var connectionsMax = 1024
    /// Requests that wait for a connection to one origin; more than a process has in flight.
    package var waitingMax = 4096
    /// How long connecting may take, and as long again for TLS.
    package var openMs: Int64 = 10_000
    /// How long an idle connection is kept: below the 60 s and more after which servers close.
    package var idleMs: Int64 = 30_000
    /// How long a connection is used: a host whose address has changed gets no new requests after
    /// it.
    package var ageMs: Int64 = 600_000

    /// Makes the default limits.
    package init() {}
}
