import NIOCore
import NIOHTTP1
import SafeNumbers

/// The state machine of one connection, without a socket: events in, one action out.
///
/// *Problem*: a server may send a response before the request, twice, in fragments or without end.
/// Each caller must get exactly one outcome, that of its own request. *Approach*: a connection
/// serves one request at a time; ``Phase`` records its progress. A response is delivered only once
/// all bytes that arrived with it are processed (``readComplete(isClean:)``). Surplus bytes make
/// the connection unusable; they are never taken as the next response. Any irregularity closes the
/// connection. It is reused only after a complete response to a completely sent request. *Retries*:
/// a request is sent on another connection if it is repeatable, its connection has served before
/// (so the server may have closed it meanwhile), and no byte of a response has arrived. *A
/// malformed head*: once a complete status line has arrived, the server has decided. A later error
/// keeps the status (``HTTPReply/hasHead``): an accepted delivery must not be repeated because of a
/// header.
struct ConnectionState {
    /// The properties of the current request.
    struct Expectation: Hashable, Sendable {
        var isRepeatable = true
        /// Whether it has a body, which may still be in transit when a response arrives.
        var hasBody = false
        var bodyBytesMax = 1 << 20
        var refusesLongBodies = true
    }

    /// The progress of the connection.
    enum Phase: Hashable, Sendable {
        /// The socket is connected, the TLS handshake is not complete.
        case opening
        /// Free for a request.
        case idle
        /// A request was sent; at most 1xx responses have arrived.
        case awaitingHead
        /// The head has arrived, the body is arriving.
        case readingBody
        /// The whole response has arrived; bytes that arrived with it are not processed yet.
        case complete
        /// Not usable any more.
        case closed
    }

    /// The action to perform.
    enum Action {
        case none
        /// Accept requests.
        case serve
        /// The connection is not usable: close it, and fail a request that waits for it.
        case refuse(HTTPFailure)
        /// Report the request's outcome, then reuse or close the connection.
        case finish(HTTPResult.Outcome, isReusable: Bool)
        /// Close, and send the request on another connection.
        case repeatElsewhere(HTTPFailure)
        /// Close; there is no current request.
        case close
    }

    /// The limit for heads, 1xx responses, trailers and chunk framing: a page of headers with
    /// cookies takes 8 KiB.
    static let headBytesMax = 64 << 10
    /// The limit for the overhead of chunks: a body in chunks of one byte takes six times its size.
    static let framingRatio = 8

    private(set) var phase = Phase.opening
    /// The number of requests that were completed before the current one.
    private(set) var served = 0
    private var expectation = Expectation()
    private var reply: HTTPReply?
    /// All bytes that arrived since the request.
    private var wireBytes = 0
    /// The status of the response whose head is arriving; `nil` while its first line is.
    private var status: Int?
    private var isKeptAlive = false
    private var isWritten = false
    /// Whether bytes arrived after the end of the response.
    private var hasSurplus = false

    /// The socket is ready, and TLS if it is used.
    mutating func opened() -> Action {
        guard phase == .opening else { return .none }
        phase = .idle
        return .serve
    }

    /// A request is being sent; the connection must be idle.
    mutating func begin(_ expectation: Expectation) {
        precondition(phase == .idle, "a connection serves one request at a time")
        phase = .awaitingHead
        self.expectation = expectation
        reply = nil
        status = nil
        wireBytes = 0
        isWritten = !expectation.hasBody
        hasSurplus = false
    }

    /// The body has been handed to the system.
    mutating func bodyWritten() {
        isWritten = true
    }

    /// Bytes arrived and are not decoded yet.
    mutating func received(byteCount: Int) -> Action {
        guard byteCount > 0 else { return .none }
        switch phase {
        case .opening, .closed: return .none
        case .idle:
            phase = .closed
            return .close
        case .complete: hasSurplus = true
        case .awaitingHead, .readingBody: wireBytes += byteCount
        }
        return .none
    }

    /// A complete status line arrived; that of a 1xx response does not count.
    mutating func received(status: Int) {
        if phase == .awaitingHead, status >= 200 { self.status = status }
    }

    /// The bytes are decoded.
    ///
    /// Checks whether more arrived than a response can need.
    mutating func decoded() -> Action {
        guard phase == .awaitingHead || phase == .readingBody,
            wireBytes > Self.headBytesMax + Self.framingRatio * (reply?.body.readableBytes ?? 0)
        else { return .none }
        return broken(.notHTTP("more than 64 KiB outside the body"))
    }

    /// A part of a response was decoded.
    mutating func receive(_ part: HTTPClientResponsePart) -> Action {
        switch (part, phase) {
        case (.head(let head), .awaitingHead): return receive(head)
        case (.body(let bytes), .readingBody): return receive(bytes)
        case (.end, .readingBody): phase = .complete
        case (_, .complete): hasSurplus = true
        case (_, .opening), (_, .idle), (_, .awaitingHead), (_, .readingBody):
            return broken(.notHTTP("an unexpected part of a response"))
        case (_, .closed): break
        }
        return .none
    }

    /// A head was read without the codec.
    mutating func receive(_ head: PlainHead) -> Action {
        switch phase {
        case .awaitingHead: break
        case .complete:
            hasSurplus = true
            return .none
        case .opening, .idle, .readingBody:
            return broken(.notHTTP("an unexpected part of a response"))
        case .closed: return .none
        }
        if expectation.refusesLongBodies, head.length > expectation.bodyBytesMax {
            // The head is valid, so the failure is about the whole response.
            status = nil
            return broken(.tooLarge)
        }
        isKeptAlive = head.isKeptAlive
        reply = HTTPReply(status: head.status, headers: head.headers)
        phase = .readingBody
        return .none
    }

    private mutating func receive(_ head: HTTPResponseHead) -> Action {
        let status = Int(clamping: head.status.code)
        if status == 101 { return broken(.notHTTP("a switch of protocols that was not requested")) }
        // 100, 102, 103: the final response follows.
        if status < 200 { return .none }
        if expectation.refusesLongBodies,
            let announced = head.headers.first(name: "content-length"),
            // A length that no integer can hold exceeds every limit.
            Int(decimal: announced) ?? .max > expectation.bodyBytesMax, status != 204, status != 304
        {
            // The head is valid, so the failure is about the whole response.
            self.status = nil
            return broken(.tooLarge)
        }
        isKeptAlive = head.isKeepAlive
        reply = HTTPReply(status: status, headers: head.headers)
        phase = .readingBody
        return .none
    }

    private mutating func receive(_ bytes: ByteBuffer) -> Action {
        let had = reply?.body.readableBytes ?? 0
        let room = expectation.bodyBytesMax - had
        if had == 0, bytes.readableBytes <= room {
            reply?.body = bytes
            return .none
        }
        // Appends in place: a copy taken out would make each part copy all parts before it.
        reply?.body.writeBytes(bytes.readableBytesView.prefix(room))
        return bytes.readableBytes <= room ? .none : broken(.tooLarge)
    }

    /// All bytes are processed; `isClean` means that no part of a message is left over.
    mutating func readComplete(isClean: Bool) -> Action {
        guard phase == .complete else { return .none }
        return handOver(isReusable: isKeptAlive && isWritten && isClean && !hasSurplus)
    }

    /// The socket or TLS failed, or the peer violated the protocol.
    mutating func fail(_ failure: HTTPFailure) -> Action {
        let wasLost: Bool
        switch failure {
        case .closed, .reset: wasLost = true
        default: wasLost = false
        }
        if phase == .awaitingHead, wasLost, wireBytes == 0, served > 0, expectation.isRepeatable {
            phase = .closed
            return .repeatElsewhere(failure)
        }
        return broken(failure)
    }

    /// Cancels the request, because of its deadline or its caller.
    mutating func abandon(_ failure: HTTPFailure) -> Action {
        broken(failure)
    }

    private mutating func handOver(isReusable: Bool) -> Action {
        guard let reply = reply.take() else { return .none }
        served += 1
        phase = isReusable ? .idle : .closed
        return .finish(.answered(reply), isReusable: isReusable)
    }

    private mutating func broken(_ failure: HTTPFailure) -> Action {
        defer { phase = .closed }
        switch phase {
        case .opening: return .refuse(failure)
        case .idle: return .close
        case .awaitingHead:
            let line = status.map {
                HTTPResult.Outcome.cutShort(HTTPReply(statusLine: $0), failure)
            }
            return .finish(line ?? .failed(failure), isReusable: false)
        case .readingBody:
            guard let reply = reply.take() else { return .close }
            return .finish(.cutShort(reply, failure), isReusable: false)
        // The response is complete, whatever follows it.
        case .complete: return handOver(isReusable: false)
        case .closed: return .none
        }
    }
}
