import NIOCore
import NIOHTTP1
import Testing

@testable import PollerHTTP

@Suite("ConnectionState")
struct ConnectionStateTests {
    /// A connection that is free for a request and has served `served` others.
    private func idle(served: Int = 0) -> ConnectionState {
        var state = ConnectionState()
        _ = state.opened()
        for _ in 0..<served {
            state.begin(ConnectionState.Expectation())
            _ = state.received(byteCount: 20)
            _ = state.receive(.head(head(204)))
            _ = state.receive(.end(nil))
            _ = state.readComplete(isClean: true)
        }
        return state
    }

    private func busy(
        served: Int = 0,
        _ expectation: ConnectionState.Expectation = ConnectionState.Expectation()
    ) -> ConnectionState {
        var state = idle(served: served)
        state.begin(expectation)
        return state
    }

    private func head(
        _ status: Int,
        _ headers: HTTPHeaders = [:],
        version: HTTPVersion = .http1_1
    ) -> HTTPResponseHead {
        HTTPResponseHead(
            version: version,
            status: HTTPResponseStatus(statusCode: status),
            headers: headers
        )
    }

    @Test("a connection serves once its socket and TLS are ready, and only once")
    func opening() {
        var state = ConnectionState()
        #expect(state.phase == .opening)
        guard case .serve = state.opened() else { return #expect(Bool(false), "no serve") }
        guard case .none = state.opened() else { return #expect(Bool(false), "served twice") }
        #expect(state.phase == .idle)
    }

    @Test("an error before the first request fails a waiting request")
    func refused() {
        var state = ConnectionState()
        guard case .refuse(.tls("no")) = state.fail(.tls("no")) else {
            return #expect(Bool(false), "not refused")
        }
        #expect(state.phase == .closed)
        guard case .none = state.fail(.closed) else {
            return #expect(Bool(false), "reported twice")
        }
    }

    @Test("a response is delivered when all bytes are processed, then the connection is reused")
    func answered() {
        var state = busy()
        _ = state.received(byteCount: 100)
        _ = state.receive(.head(head(200, ["a": "b"])))
        _ = state.receive(.body(ByteBuffer(string: "he")))
        _ = state.receive(.body(ByteBuffer(string: "llo")))
        guard case .none = state.receive(.end(nil)) else {
            return #expect(Bool(false), "delivered too early")
        }
        guard
            case .finish(.answered(let reply), isReusable: true) = state.readComplete(isClean: true)
        else { return #expect(Bool(false), "no answer") }
        #expect(reply.status == 200 && reply.headers.first(name: "A") == "b")
        #expect(String(buffer: reply.body) == "hello")
        #expect(state.phase == .idle && state.served == 1)
    }

    @Test("bytes after a response close the connection and do not affect the response")
    func surplus() {
        let endings: [(inout ConnectionState) -> ConnectionState.Action] = [
            { $0.readComplete(isClean: false) },
            { state in
                _ = state.received(byteCount: 5)
                return state.readComplete(isClean: true)
            },
            { state in
                _ = state.receive(.head(self.head(200)))
                return state.readComplete(isClean: true)
            },
            { $0.fail(.notHTTP("garbage")) },
            { $0.fail(.closed) },
        ]
        for ending in endings {
            var state = busy()
            _ = state.received(byteCount: 40)
            _ = state.receive(.head(head(200)))
            _ = state.receive(.end(nil))
            guard case .finish(.answered, isReusable: false) = ending(&state) else {
                Issue.record("not delivered")
                continue
            }
            #expect(state.phase == .closed)
        }
    }

    @Test("unsolicited bytes close an idle connection")
    func unsolicited() {
        var state = idle(served: 1)
        guard case .close = state.received(byteCount: 1) else {
            return #expect(Bool(false), "kept")
        }
        #expect(state.phase == .closed)
    }

    @Test("1xx responses are skipped; 101 is a protocol violation")
    func interim() {
        var state = busy()
        for status in [100, 102, 103] {
            guard case .none = state.receive(.head(head(status))) else {
                return #expect(Bool(false), "\(status)")
            }
        }
        #expect(state.phase == .awaitingHead)
        guard case .finish(.failed(.notHTTP), isReusable: false) = state.receive(.head(head(101)))
        else { return #expect(Bool(false), "101") }
    }

    @Test("a response with `Connection: close`, or before the request was sent, is the last")
    func last() {
        var closing = busy()
        _ = closing.receive(.head(head(200, ["connection": "close"])))
        _ = closing.receive(.end(nil))
        guard case .finish(.answered, isReusable: false) = closing.readComplete(isClean: true)
        else { return #expect(Bool(false), "close") }
        for isWritten in [false, true] {
            var early = busy(ConnectionState.Expectation(isRepeatable: false, hasBody: true))
            if isWritten { early.bodyWritten() }
            _ = early.receive(.head(head(413)))
            _ = early.receive(.end(nil))
            guard
                case .finish(.answered(let reply), let isReusable) = early.readComplete(
                    isClean: true
                )
            else { return #expect(Bool(false), "early") }
            #expect(reply.status == 413 && isReusable == isWritten)
        }
    }

    @Test(
        "only a GET on a reused connection is repeated, and only before a byte of its response"
    )
    func repeating() {
        for failure in [HTTPFailure.closed, .reset(104)] {
            var worn = busy(served: 1)
            guard case .repeatElsewhere = worn.fail(failure) else {
                return #expect(Bool(false), "not repeated")
            }
        }
        var new = busy()
        var post = busy(served: 1, ConnectionState.Expectation(isRepeatable: false))
        var begun = busy(served: 1)
        _ = begun.received(byteCount: 1)
        for (name, action) in [
            ("new", new.fail(.closed)), ("post", post.fail(.closed)),
            ("begun", begun.fail(.closed)),
        ] {
            guard case .finish(.failed(.closed), isReusable: false) = action else {
                Issue.record("\(name) was repeated")
                continue
            }
        }
        var late = busy(served: 1)
        guard case .finish(.failed(.deadline), isReusable: false) = late.abandon(.deadline) else {
            return #expect(Bool(false), "a deadline was repeated")
        }
    }

    @Test("an error after a complete status line keeps the status, except that of a 1xx")
    func statusLine() {
        for failure in [HTTPFailure.closed, .notHTTP("x"), .deadline] {
            var state = busy(served: 1)
            _ = state.received(byteCount: 17)
            state.received(status: 202)
            guard
                case .finish(.cutShort(let reply, failure), isReusable: false) = state.fail(failure)
            else {
                Issue.record("\(failure)")
                continue
            }
            #expect(reply.status == 202 && !reply.hasHead && reply.headers.isEmpty)
        }
        var interim = busy()
        interim.received(status: 103)
        guard case .finish(.failed(.closed), isReusable: false) = interim.fail(.closed) else {
            return #expect(Bool(false), "103")
        }
        // The status of an earlier response must not be used for this one.
        var next = busy(served: 1)
        next.received(status: 200)
        _ = next.receive(.head(head(204)))
        _ = next.receive(.end(nil))
        _ = next.readComplete(isClean: true)
        next.begin(ConnectionState.Expectation())
        guard case .finish(.failed(.deadline), isReusable: false) = next.abandon(.deadline) else {
            return #expect(Bool(false), "an old status")
        }
    }

    @Test("a body beyond its limit is cut there, or rejected when it is announced")
    func bounded() {
        let ten = ConnectionState.Expectation(bodyBytesMax: 10)
        for length in ["11", "9223372036854775807", "9223372036854775808", "99999999999999999999"] {
            var announced = busy(ten)
            guard
                case .finish(.failed(.tooLarge), isReusable: false) = announced.receive(
                    .head(head(200, ["content-length": length]))
                )
            else { return #expect(Bool(false), "announced \(length)") }
        }
        for parts in [["12345678901"], ["12345", "67890", "1"]] {
            var state = busy(ten)
            _ = state.receive(.head(head(200)))
            var action = ConnectionState.Action.none
            for part in parts { action = state.receive(.body(ByteBuffer(string: part))) }
            guard case .finish(.cutShort(let reply, .tooLarge), isReusable: false) = action else {
                Issue.record("not cut")
                continue
            }
            #expect(String(buffer: reply.body) == "1234567890")
        }
        var fits = busy(ten)
        _ = fits.receive(.head(head(200)))
        _ = fits.receive(.body(ByteBuffer(string: "1234567890")))
        #expect(fits.phase == .readingBody)
    }

    @Test("endless heads, 1xx responses and chunk framing are cut off")
    func overhead() {
        var state = busy()
        _ = state.received(byteCount: ConnectionState.headBytesMax)
        guard case .none = state.decoded() else { return #expect(Bool(false), "too early") }
        _ = state.received(byteCount: 1)
        guard case .finish(.failed(.notHTTP), isReusable: false) = state.decoded() else {
            return #expect(Bool(false), "endless")
        }
        var chunked = busy()
        _ = chunked.receive(.head(head(200)))
        _ = chunked.received(byteCount: 600_000)
        _ = chunked.receive(.body(ByteBuffer(repeating: 1, count: 100_000)))
        guard case .none = chunked.decoded() else { return #expect(Bool(false), "chunks of one") }
    }

    @Test("a response is cut short when the connection ends in its middle")
    func half() {
        var state = busy(served: 1)
        _ = state.received(byteCount: 30)
        _ = state.receive(.head(head(200)))
        _ = state.receive(.body(ByteBuffer(string: "ha")))
        guard case .finish(.cutShort(let reply, .closed), isReusable: false) = state.fail(.closed)
        else { return #expect(Bool(false), "half") }
        #expect(String(buffer: reply.body) == "ha")
    }
}
