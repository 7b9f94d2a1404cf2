import NIOCore
import NIOEmbedded
import NIOHTTP1
import PollerTesting
import Testing

@testable import PollerHTTP

@Suite("Random servers")
struct FuzzTests {
    /// Each outcome belongs to one request, and each request has exactly one.
    ///
    /// A response that belongs to another request contains the number of that request.
    @Test(
        "every request has exactly one outcome, and never another's response",
        arguments: (0..<24).map { UInt64($0) }
    )
    func oneOutcome(seed: UInt64) throws {
        var client = try FuzzedClient(seed: seed)
        for _ in 0..<1500 { client.step() }
        client.finish()
        #expect(client.requests > 100, "seed \(seed): too few requests")
        #expect(client.answers > 20, "seed \(seed): too few responses")
        for problem in client.problems { Issue.record("seed \(seed): \(problem)") }
    }
}

/// One request, and all results that it received.
private final class FuzzedExchange: HTTPExchange {
    private(set) var results: [HTTPResult] = []

    override func complete(with result: HTTPResult) { results.append(result) }
}

/// A dialer whose connections are embedded channels, controlled by the test on one thread.
private final class FuzzedDialer: ConnectionMaker {
    /// A connection: an embedded channel in place of a socket.
    struct FakeConnection {
        let channel: EmbeddedChannel
        let connection: HTTPConnection
        let address: SocketAddress
    }

    /// Attempts in progress, of which some will fail; bound to the loop that everything runs on.
    let attempts: NIOLoopBoundBox<[(OriginConnections, HTTPExchange?, SocketAddress)]>

    init(_ loop: any EventLoop) {
        attempts = NIOLoopBoundBox([], eventLoop: loop)
    }

    func dial(
        _ addresses: [SocketAddress],
        from origin: OriginConnections,
        for owner: HTTPExchange?,
        on eventLoop: any EventLoop
    ) {
        attempts.value.append((origin, owner, addresses[0]))
    }
}

/// A client's connections on an embedded event loop, and servers that respond, break and misbehave
/// at random.
private struct FuzzedClient {
    private var random: SeededGenerator
    private let loop = EmbeddedEventLoop()
    private let dialer: FuzzedDialer
    private let connections: LoopConnections
    private let origin: HTTPOrigin
    private let address: SocketAddress
    private var channels: [FuzzedDialer.FakeConnection] = []
    /// The bytes that each channel's server has yet to send, in pieces that arrive separately.
    private var pending: [ObjectIdentifier: [ByteBuffer]] = [:]
    private var exchanges: [FuzzedExchange] = []
    private(set) var problems: [String] = []

    var requests: Int { exchanges.count }
    var answers: Int {
        exchanges.count { if case .answered? = $0.results.first?.outcome { true } else { false } }
    }

    init(seed: UInt64) throws {
        random = SeededGenerator(seed: seed)
        address = try SocketAddress(ipAddress: "192.0.2.1", port: 80)
        origin = HTTPOrigin(isSecure: false, host: "a.test", port: 80)
        dialer = FuzzedDialer(loop)
        var limits = ConnectionLimits()
        limits.connectionsMax = 4
        limits.waitingMax = 6
        limits.idleMs = 20_000
        limits.ageMs = 60_000
        connections = LoopConnections(loop, limits, dialer)
    }

    mutating func step() {
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<25: sendRequest()
        case 25..<40: connect()
        case 40..<85: deliver()
        case 85..<88: end()
        case 88..<94: cancel()
        case 94..<98: loop.advanceTime(by: .milliseconds(.random(in: 1...300, using: &random)))
        default: sendUnsolicited()
        }
        receiveRequests()
    }

    /// Ends everything, and counts the results.
    mutating func finish() {
        connections.close()
        while !dialer.attempts.value.isEmpty { connect() }
        loop.advanceTime(by: .seconds(100))
        for exchange in exchanges {
            if exchange.results.count != 1 {
                problems.append("request \(exchange.id) has \(exchange.results.count) outcomes")
            }
            for result in exchange.results { check(result, exchange) }
        }
    }

    /// The body of a response repeats the number of its request three times, so a mutation does not
    /// make it another's.
    private mutating func check(_ result: HTTPResult, _ exchange: FuzzedExchange) {
        guard case .answered(let reply) = result.outcome else { return }
        let names = String(buffer: reply.body).split(separator: "-")
        guard names.count == 3, Set(names).count == 1, names[0] != "\(exchange.id)" else { return }
        problems.append("request \(exchange.id) was answered as \(names[0])")
    }

    private mutating func sendRequest() {
        let id = UInt64(exchanges.count + 1)
        let isPost = Int.random(in: 0..<4, using: &random) == 0
        let call = HTTPCall(
            isPost ? .POST : .GET,
            "/\(id)",
            at: origin,
            addresses: [address],
            headers: [:],
            body: isPost ? ByteBuffer(string: "body") : nil,
            deadline: loop.now + .milliseconds(.random(in: 10...2000, using: &random)),
            bodyBytesMax: 1000
        )
        let exchange = FuzzedExchange(id, call)
        exchanges.append(exchange)
        connections.start(exchange)
    }

    private mutating func connect() {
        guard !dialer.attempts.value.isEmpty else { return }
        let (origin, owner, address) = dialer.attempts.value.removeFirst()
        guard Int.random(in: 0..<6, using: &random) > 0 else {
            origin.failedToOpen(for: owner, to: [address], .unreachable(111))
            return
        }
        let channel = EmbeddedChannel(loop: loop)
        let connection = HTTPConnection(origin, for: owner, to: [address])
        do {
            try connection.install(in: channel.pipeline.syncOperations)
            channel.remoteAddress = address
            try channel.connect(to: address).wait()
        } catch {
            problems.append("an embedded channel failed: \(error)")
        }
        channels.append(
            FuzzedDialer.FakeConnection(channel: channel, connection: connection, address: address)
        )
        connection.connected(to: address)
    }

    /// Lets each server read the requests and prepare responses.
    private mutating func receiveRequests() {
        for fake in channels {
            var text = ""
            while let bytes = try? fake.channel.readOutbound(as: IOData.self) {
                if case .byteBuffer(let buffer) = bytes { text += String(buffer: buffer) }
            }
            guard !text.isEmpty else { continue }
            let id = text.split(separator: " ")[1].dropFirst()
            let pieces = answer("\(id)-\(id)-\(id)")
            pending[ObjectIdentifier(fake.channel), default: []] += pieces
        }
        // The pending bytes of a closed channel are dropped, because its identity may be reused.
        for fake in channels where !fake.channel.isActive {
            pending[ObjectIdentifier(fake.channel)] = nil
        }
        channels.removeAll { !$0.channel.isActive }
    }

    /// Returns a response in pieces, sometimes invalid.
    private mutating func answer(_ body: String) -> [ByteBuffer] {
        var bytes: [UInt8]
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            let chunks = body.map { "1\r\n\($0)\r\n" }.joined()
            bytes = Array(
                "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n\(chunks)0\r\n\r\n".utf8
            )
        case 1:
            let answer = "HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)"
            bytes = Array("HTTP/1.1 103 Early Hints\r\n\r\n\(answer)".utf8)
        default:
            bytes = Array(
                "HTTP/1.1 200 OK\r\ncontent-length: \(body.utf8.count)\r\n\r\n\(body)".utf8
            )
        }
        if Int.random(in: 0..<5, using: &random) == 0 {
            for _ in 0...Int.random(in: 0..<3, using: &random) {
                let at = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.insert(UInt8.random(in: 0...255, using: &random), at: at)
                default: if bytes.count > 1 { bytes.remove(at: at) }
                }
            }
        }
        var pieces: [ByteBuffer] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = min(rest.count, Int.random(in: 1...40, using: &random))
            pieces.append(ByteBuffer(bytes: rest.prefix(count)))
            rest = rest.dropFirst(count)
        }
        // With the last byte of the response arrives another, unsolicited one, or its beginning.
        if Int.random(in: 0..<6, using: &random) == 0 {
            let unsolicited = Array(
                "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\nevil-evil-evil".utf8
            )
            let count = Int.random(in: 1...unsolicited.count, using: &random)
            pieces[pieces.count - 1].writeBytes(unsolicited.prefix(count))
            if count < unsolicited.count {
                pieces.append(ByteBuffer(bytes: unsolicited.dropFirst(count)))
            }
        }
        return pieces
    }

    private mutating func deliver() {
        guard let fake = channels.randomElement(using: &random) else { return }
        let key = ObjectIdentifier(fake.channel)
        guard var pieces = pending[key], !pieces.isEmpty else { return }
        let piece = pieces.removeFirst()
        pending[key] = pieces
        // An error is handled by the connection.
        _ = try? fake.channel.writeInbound(piece)
    }

    /// Sends unsolicited bytes on an idle connection.
    private mutating func sendUnsolicited() {
        guard let fake = channels.randomElement(using: &random),
            pending[ObjectIdentifier(fake.channel), default: []].isEmpty, fake.connection.isIdle
        else { return }
        let unsolicited = "HTTP/1.1 200 OK\r\ncontent-length: 14\r\n\r\nevil-evil-evil"
        _ = try? fake.channel.writeInbound(
            ByteBuffer(string: String(unsolicited.prefix(.random(in: 1...60, using: &random))))
        )
    }

    private mutating func end() {
        guard let fake = channels.randomElement(using: &random) else { return }
        if Bool.random(using: &random) {
            fake.channel.pipeline.fireErrorCaught(IOError(errnoCode: 104, reason: "read"))
        }
        _ = fake.channel.close()
    }

    private mutating func cancel() {
        guard !exchanges.isEmpty else { return }
        connections.cancel(.random(in: 1...UInt64(exchanges.count), using: &random))
    }
}
