import NIOCore
import PollerTesting
import Testing

@testable import RedisClient

@Suite struct RedisPipelineStateTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)

    private func state(commandsMax: Int = 10, bytesMax: Int = 100) -> RedisPipelineState<Int> {
        RedisPipelineState(
            commandsMax: commandsMax,
            bytesMax: bytesMax,
            timeout: .seconds(5)
        )
    }

    private func wire(_ text: String) -> ByteBuffer { ByteBuffer(string: text) }

    private func written(_ state: inout RedisPipelineState<Int>, at: RedisInstant) -> String {
        var buffer = ByteBuffer()
        state.write(into: &buffer, bytesMax: 1_000, now: at)
        return String(buffer: buffer)
    }

    private func completion(_ reply: RedisPipelineState<Int>.Reply) -> (Int, [RedisValue])? {
        guard case .complete(let waiter, let replies) = reply else { return nil }
        return (waiter, replies)
    }

    @Test("replies go to the requests in the order they were written")
    func order() {
        var state = state()
        for waiter in 1...3 {
            _ = state.submit(waiter, wire: wire("\(waiter)"), commands: 1, now: start)
        }
        #expect(written(&state, at: start) == "123")
        for waiter in 1...3 {
            let done = completion(state.receive(.integer(Int64(waiter))))
            #expect(done?.0 == waiter && done?.1 == [.integer(Int64(waiter))])
        }
        #expect(state.commands == 0 && state.bytes == 0 && state.nextExpiry == nil)
    }

    @Test("a pipeline completes with its last reply, errors in place")
    func pipeline() {
        var state = state()
        _ = state.submit(1, wire: wire("ab"), commands: 2, now: start)
        _ = written(&state, at: start)
        let failure = RedisValue.error(RedisReplyError(code: "ERR", message: "x"))
        #expect(completion(state.receive(failure)) == nil)
        #expect(completion(state.receive(.null))?.1 == [failure, .null])
    }

    @Test("an abandoned slot consumes its replies, so the next request gets its own")
    func abandoned() {
        var state = state()
        let first = state.submit(1, wire: wire("a"), commands: 2, now: start)
        _ = state.submit(2, wire: wire("b"), commands: 1, now: start)
        _ = written(&state, at: start)
        #expect(state.cancel(first ?? 0) == 1)
        #expect(state.cancel(first ?? 0) == nil, "only once")
        #expect(state.commands == 3, "the slots are still taken")
        #expect(completion(state.receive(.integer(1))) == nil)
        #expect(completion(state.receive(.integer(1))) == nil)
        #expect(completion(state.receive(.integer(2)))?.0 == 2)
    }

    @Test("a request cancelled before it was written is never written")
    func cancelledWaiting() {
        var state = state()
        let first = state.submit(1, wire: wire("a"), commands: 1, now: start)
        _ = state.submit(2, wire: wire("b"), commands: 1, now: start)
        #expect(state.cancel(first ?? 0) == 1)
        #expect(written(&state, at: start) == "b")
        #expect(state.commands == 1 && state.bytes == 1)
    }

    @Test("at their deadline, waiting requests fail as not sent and written ones as timed out")
    func expiry() {
        var state = state()
        _ = state.submit(1, wire: wire("a"), commands: 1, now: start)
        _ = written(&state, at: start)
        _ = state.submit(2, wire: wire("b"), commands: 1, now: start)
        #expect(state.nextExpiry == start + .seconds(5))
        #expect(state.expire(now: start + .milliseconds(4_999)).failures.isEmpty)
        let due = state.expire(now: start + .seconds(5))
        #expect(due.failures.map(\.waiter) == [2, 1])
        #expect(due.failures.map(\.error) == [.notConnected, .timedOut])
        #expect(!due.isStalled)
        #expect(state.nextExpiry == start + .seconds(10))
        #expect(state.expire(now: start + .seconds(10)).isStalled)
    }

    @Test("a late reply keeps the connection and is discarded")
    func lateReply() {
        var state = state()
        _ = state.submit(1, wire: wire("a"), commands: 1, now: start)
        _ = written(&state, at: start)
        _ = state.expire(now: start + .seconds(5))
        #expect(completion(state.receive(.null)) == nil)
        #expect(!state.expire(now: start + .seconds(20)).isStalled)
    }

    @Test("a lost connection fails written requests and keeps waiting ones")
    func lost() {
        var state = state()
        let first = state.submit(1, wire: wire("a"), commands: 1, now: start)
        _ = state.submit(2, wire: wire("b"), commands: 3, now: start)
        _ = state.submit(3, wire: wire("c"), commands: 1, now: start)
        _ = written(&state, at: start)
        _ = state.cancel(first ?? 0)
        _ = state.submit(4, wire: wire("d"), commands: 1, now: start)
        let failures = state.connectionLost(first: .replyTooLarge("x"))
        #expect(failures.map(\.waiter) == [2, 3])
        #expect(
            failures.map(\.error) == [
                .connectionLost(maybeExecuted: true), .connectionLost(maybeExecuted: true),
            ],
            "the special error belonged to the abandoned one"
        )
        #expect(written(&state, at: start) == "d")
        #expect(state.commands == 1)
    }

    @Test("the request whose reply caused a loss fails with the cause")
    func lostFirst() {
        var state = state()
        for waiter in 1...2 {
            _ = state.submit(waiter, wire: wire("a"), commands: 1, now: start)
        }
        _ = written(&state, at: start)
        let failures = state.connectionLost(first: .protocolError("x"))
        #expect(
            failures.map(\.error) == [.protocolError("x"), .connectionLost(maybeExecuted: true)]
        )
    }

    @Test("commands and bytes are bounded")
    func bounds() {
        var state = state(commandsMax: 3, bytesMax: 5)
        #expect(state.submit(1, wire: wire("aaaa"), commands: 1, now: start) != nil)
        #expect(state.submit(2, wire: wire("bb"), commands: 1, now: start) == nil, "bytes")
        #expect(state.submit(3, wire: wire("c"), commands: 3, now: start) == nil, "commands")
        #expect(state.submit(4, wire: wire("d"), commands: 2, now: start) != nil)
        #expect(state.submit(5, wire: wire(""), commands: 1, now: start) == nil, "full")
        _ = written(&state, at: start)
        _ = state.receive(.null)
        #expect(state.submit(6, wire: wire("eeee"), commands: 1, now: start) != nil)
    }

    @Test("a reply without a request is unexpected")
    func unexpected() {
        var state = state()
        guard case .unexpected = state.receive(.null) else {
            return fail("accepted a reply without a request")
        }
    }

    @Test("closing fails waiting requests; a write stops at its limit")
    func closing() {
        var state = state()
        for waiter in 1...3 {
            _ = state.submit(waiter, wire: wire("xx"), commands: 1, now: start)
        }
        var buffer = ByteBuffer()
        state.write(into: &buffer, bytesMax: 3, now: start)
        #expect(buffer.readableBytes == 4)
        #expect(state.close().map(\.waiter) == [3])
        #expect(state.hasWritten && !state.hasWaiting)
    }

    @Test("no sequence of events gives a reply to the wrong request or forgets one")
    func randomSequences() throws {
        let seed = SeededGenerator.newSeed()
        var random = SeededGenerator(seed: seed)
        for round in 0..<200 {
            var model = PipelineModel(state: self.state(commandsMax: 50, bytesMax: 500), now: start)
            for _ in 0..<300 { model.step(using: &random) }
            model.finish()
            try #require(model.problems.isEmpty, "TEST_SEED=\(seed) round \(round)")
            try #require(model.answered > 0)
        }
    }
}

/// Drives ``RedisPipelineState`` with random events and a simulated server that replies to each
/// command with the number of its request.
struct PipelineModel {
    var state: RedisPipelineState<Int>
    var now: RedisInstant
    private(set) var problems: [String] = []
    private(set) var answered = 0
    private var nextWaiter = 0
    private var open: [Int: UInt64] = [:]
    /// The commands that the server has received and not answered.
    private var server: [Int] = []

    init(state: RedisPipelineState<Int>, now: RedisInstant) {
        self.state = state
        self.now = now
    }

    mutating func step(using random: inout SeededGenerator) {
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<8: submit(commands: Int.random(in: 1...3, using: &random))
        case 8..<11: write()
        case 11..<16: answer()
        case 16..<18:
            if let (waiter, id) = open.min(by: { $0.key % 7 < $1.key % 7 }) {
                settle(state.cancel(id), expected: waiter)
            }
        case 18:
            now = now + .milliseconds(Int.random(in: 0...2_000, using: &random))
            let expiry = state.expire(now: now)
            for failure in expiry.failures { settle(failure.waiter) }
            if expiry.isStalled { lose() }
        default: lose()
        }
    }

    /// Answers everything; a request that is still open then was forgotten.
    mutating func finish() {
        write()
        while !server.isEmpty { answer() }
        if !open.isEmpty { problems.append("forgotten: \(open.keys.sorted())") }
        if state.commands != 0 || state.bytes != 0 { problems.append("limits leak") }
        if state.nextExpiry != nil { problems.append("expiry without requests") }
    }

    private mutating func submit(commands: Int) {
        nextWaiter += 1
        var wire = ByteBuffer()
        for _ in 0..<commands { wire.writeInteger(UInt32(nextWaiter)) }
        if let id = state.submit(nextWaiter, wire: wire, commands: commands, now: now) {
            open[nextWaiter] = id
        }
    }

    private mutating func write() {
        var buffer = ByteBuffer()
        state.write(into: &buffer, bytesMax: 10_000, now: now)
        while let waiter = buffer.readInteger(as: UInt32.self) { server.append(Int(waiter)) }
    }

    private mutating func answer() {
        guard !server.isEmpty else { return }
        let waiter = server.removeFirst()
        switch state.receive(.integer(Int64(waiter))) {
        case .accepted: break
        case .unexpected: problems.append("reply to \(waiter) was not expected")
        case .complete(let receiver, let replies):
            answered += 1
            for reply in replies where reply != .integer(Int64(receiver)) {
                problems.append("\(receiver) got \(reply)")
            }
            settle(receiver)
        }
    }

    private mutating func lose() {
        server = []
        for failure in state.connectionLost(first: nil) { settle(failure.waiter) }
    }

    private mutating func settle(_ waiter: Int?, expected: Int? = nil) {
        guard let waiter, expected == nil || expected == waiter,
            open.removeValue(forKey: waiter) != nil
        else {
            problems.append("settled \(String(describing: waiter)) wrongly")
            return
        }
    }
}
