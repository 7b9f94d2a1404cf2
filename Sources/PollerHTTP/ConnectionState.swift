import NIOCore
import NIOHTTP1
import SafeNumbers

/// What one connection may do, decided without a socket: events in, one action out.
///
/// *Problem*: a server may answer before it was asked, twice, by halves or without end; and whoever
/// waits for an answer must get exactly one outcome, his own.
/// *Approach*: a connection serves one request at a time and says so in its phase. An answer is
/// handed over only once the bytes that came with it are used up (``readComplete(isClean:)``): what
/// follows it unasked makes the connection useless, never the answer of the next request. Whatever
/// does not go exactly right ends the connection; only a whole answer to a request that was sent
/// whole lets it be used again.
/// *Repeating*: a request that nobody may have seen is worth another connection: one that can be
/// repeated, on a connection that has served before (which the server may have closed meanwhile),
/// of whose answer no byte came.
/// *A broken head*: once a whole status line has come the server has decided. What breaks after it leaves the
/// status (``HTTPReply/hasHead``): a delivery that was accepted must not be made again because of a header.
struct ConnectionState {
    /// What the request under way allows.
    struct Expectation: Hashable, Sendable {
        var isRepeatable = true
        /// Whether it has a body, which may still be on its way when an answer comes.
        var hasBody = false
        var bodyBytesMax = 1 << 20
        var refusesLongBodies = true
    }

    /// How far the connection is.
    enum Phase: Hashable, Sendable {
        /// The socket is connected, TLS is not agreed upon yet.
        case opening
        /// Free for a request.
        case idle
        /// A request went out; at most 1xx heads have come.
        case awaitingHead
        /// The head has come, the body comes.
        case readingBody
        /// The whole answer has come; what came with it is not looked at yet.
        case complete
        /// Of no more use.
        case closed
    }

    /// What is to be done.
    enum Action {
        case none
        /// Take requests.
        case serve
        /// Nobody can use it: close, and tell whoever waits for a connection.
        case refuse(HTTPFailure)
        /// Tell the request's outcome; then use the connection again, or close it.
        case finish(HTTPResult.Outcome, isReusable: Bool)
        /// Close, and send the request on another connection.
        case repeatElsewhere(HTTPFailure)
        /// Close; no request is under way.
        case close
    }

    /// Heads, 1xx, trailers and what frames chunks: a page of headers with cookies is 8 KiB.
    static let headBytesMax = 64 << 10
    /// A body in chunks of one byte comes in six times its size.
    static let framingRatio = 8

    private(set) var phase = Phase.opening
    /// Requests that were answered before this one.
    private(set) var served = 0
    private var expectation = Expectation()
    private var reply: HTTPReply?
    /// All bytes that came since the request.
    private var wireBytes = 0
    /// The status of the answer whose head is under way; nil while its first line is.
    private var status: Int?
    private var isKeptAlive = false
    private var isWritten = false
    /// Whether something came after the answer's end.
    private var hasSurplus = false

    /// The socket, and TLS if there is any, are ready.
    mutating func opened() -> Action {
        guard phase == .opening else { return .none }
        phase = .idle
        return .serve
    }

    /// A request goes out; only an idle connection may be asked.
    mutating func begin(_ expectation: Expectation) {
        precondition(phase == .idle, "one request at a time, or answers could be mixed up")
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

    /// Bytes came, before they are decoded.
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

    /// A whole status line came; that of a 1xx is none of an answer.
    mutating func received(status: Int) {
        if phase == .awaitingHead, status >= 200 { self.status = status }
    }

    /// The bytes that came are decoded: whether more came than an answer can need.
    mutating func decoded() -> Action {
        guard phase == .awaitingHead || phase == .readingBody,
            wireBytes > Self.headBytesMax + Self.framingRatio * (reply?.body.readableBytes ?? 0)
        else { return .none }
        return broken(.notHTTP("more than 64 KiB that are no body"))
    }

    /// A part of an answer was decoded.
    mutating func receive(_ part: HTTPClientResponsePart) -> Action {
        switch (part, phase) {
        case (.head(let head), .awaitingHead): return receive(head)
        case (.body(let bytes), .readingBody): return receive(bytes)
        case (.end, .readingBody): phase = .complete
        case (_, .complete): hasSurplus = true
        case (_, .opening), (_, .idle), (_, .awaitingHead), (_, .readingBody):
            return broken(.notHTTP("an answer out of turn"))
        case (_, .closed): break
        }
        return .none
    }

    private mutating func receive(_ head: HTTPResponseHead) -> Action {
        let status = Int(clamping: head.status.code)
        if status == 101 { return broken(.notHTTP("another protocol, which nobody asked for")) }
        // 100, 102, 103: the answer comes yet.
        if status < 200 { return .none }
        if expectation.refusesLongBodies,
            let announced = head.headers.first(name: "content-length"),
            // A length that no number holds is more than any body may have.
            Int(decimal: announced) ?? .max > expectation.bodyBytesMax, status != 204, status != 304
        {
            // Its head is understood: it is refused as a whole.
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
        // In place: a copy taken out would make each part copy all before it.
        reply?.body.writeBytes(bytes.readableBytesView.prefix(room))
        return bytes.readableBytes <= room ? .none : broken(.tooLarge)
    }

    /// Everything that came has been looked at; `isClean` says that no part of a message is left over.
    mutating func readComplete(isClean: Bool) -> Action {
        guard phase == .complete else { return .none }
        return handOver(isReusable: isKeptAlive && isWritten && isClean && !hasSurplus)
    }

    /// Something broke: the socket, TLS, or what the peer says.
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

    /// The request is given up: its time is over, or nobody wants it any more.
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
        // It is whole, whatever came after it.
        case .complete: return handOver(isReusable: false)
        case .closed: return .none
        }
    }
}
