import NIOCore
import NIOEmbedded
import NIOHTTP1
import PollerTesting
import Testing

@testable import PollerHTTP

@Suite("Regular heads and requests")
struct RegularHeadTests {
    private static let fragments = [
        "HTTP/1.1 200 OK\r\n", "HTTP/1.1 200 OK\n", "\r\n", "\n", "\r", " ", "\t", ":", ",",
        "Content-Length: 5\r\n", "content-length:7\r\n", "CONTENT-LENGTH: 5, 5\r\n",
        "content-length : 5\r\n", "Content-Lengths: 1,2\r\n", "Date: Sun, 06 Nov 1994\r\n",
        "X-A: b: c, d\r\n", "folded\r\n", " folded: 1\r\n", "Name\r\n", ": empty\r\n", "a:\r\n",
    ]

    /// The short check decides only that nothing is repaired; the fields decide everything else.
    @Test("a head that counts as regular needs no repair", arguments: [1, 2, 3] as [UInt64])
    func agreesWithFields(seed: UInt64) async {
        var generator = SeededGenerator(seed: seed)
        var regularCount = 0
        for round in 0..<20_000 {
            if round.isMultiple(of: 200) { await Task.yield() }
            let count = Int.random(in: 0...7, using: &generator)
            let parts = (0..<count).compactMap { _ in
                Self.fragments.randomElement(using: &generator)
            }
            let isUsual = Bool.random(using: &generator)
            let text = (isUsual ? "HTTP/1.1 200 OK\r\n" : "") + parts.joined() + "\r\n"
            let head = ByteBuffer(string: text).readableBytesView
            let rebuilt = ResponseHead.rebuilt(head)
            if ResponseHead.isRegular(head) {
                regularCount += 1
                #expect(rebuilt == nil, "seed \(seed): \(text.debugDescription)")
            }
            #expect(ResponseHead.repaired(head) == rebuilt)
        }
        #expect(regularCount > 500, "seed \(seed): the check accepts too few heads")
    }

    /// Any head that is read without the codec must mean the same to the codec.
    @Test("a plain head equals the codec's reading", arguments: [1, 2, 3] as [UInt64])
    func plainHeads(seed: UInt64) async throws {
        var generator = SeededGenerator(seed: seed)
        let lines =
            Self.fragments + [
                "Connection: keep-alive\r\n", "connection: Close\r\n", "Connection: upgrade\r\n",
                "Transfer-Encoding: chunked\r\n", "Upgrade: h2c\r\n", "Proxy-Connection: close\r\n",
                "X-Tail: a \t \r\n", "X!#$%&'*+.^_`|~-9:\ta\tb\r\n", "X-\u{e9}: 1\r\n",
                "X: \u{e9}\r\n",
                "X: \u{7f}\r\n", "Content-Length: 99999999999999999999\r\n",
                "Content-Length: +5\r\n",
                "Content-Length: \r\n", "Content-Length: 0\r\n",
            ]
        let starts = [
            "HTTP/1.1 200 OK\r\n", "HTTP/1.1 404\r\n", "HTTP/1.1 503 \r\n", "HTTP/1.1 204 No\r\n",
            "HTTP/1.0 200 OK\r\n", "HTTP/1.1 100 Go\r\n", "HTTP/1.1 2000 OK\r\n",
            "HTTP/1.1 600 x\r\n",
        ]
        var plainCount = 0
        for round in 0..<8_000 {
            if round.isMultiple(of: 100) { await Task.yield() }
            let count = Int.random(in: 0...5, using: &generator)
            let parts = (0..<count).compactMap { _ in lines.randomElement(using: &generator) }
            let start = starts.randomElement(using: &generator) ?? ""
            let length = Bool.random(using: &generator) ? "Content-Length: 5\r\n" : ""
            let text = start + length + parts.joined() + "\r\n"
            let bytes = ByteBuffer(string: text)
            guard let end = ResponseHead.length(of: bytes.readableBytesView, searched: 0),
                let plain = PlainHead(bytes.readableBytesView.prefix(end))
            else { continue }
            plainCount += 1
            let codec = EmbeddedChannel()
            try codec.pipeline.syncOperations.addHTTPClientHandlers()
            let get = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/")
            try codec.writeOutbound(HTTPClientRequestPart.head(get))
            try codec.writeInbound(
                ByteBuffer(bytes: bytes.readableBytesView.prefix(end))
            )
            let comment = Comment(rawValue: "seed \(seed): \(text.debugDescription)")
            guard case .head(let head) = try codec.readInbound(as: HTTPClientResponsePart.self)
            else {
                Issue.record(comment)
                continue
            }
            #expect(plain.status == Int(clamping: head.status.code), comment)
            #expect(plain.isKeptAlive == head.isKeepAlive, comment)
            let (ours, theirs) = (plain.headers, head.headers)
            #expect(ours.map(\.name) == theirs.map(\.name), comment)
            #expect(ours.map(\.value) == theirs.map(\.value), comment)
            #expect(ours.first(name: "content-length") == "\(plain.length)", comment)
            // The promise of the last response is not awaited.
            _ = try? codec.finish()
        }
        #expect(plainCount > 300, "seed \(seed): too few heads are plain")
    }

    @Test("the head of a usual response is regular")
    func usualHead() {
        let text = """
            HTTP/1.1 200 OK\r
            Server: nginx/1.26.3\r
            Date: Sun, 06 Nov 1994 08:49:37 GMT\r
            Content-Type: application/json\r
            Content-Length: 1402\r
            Connection: keep-alive\r
            \r

            """
        #expect(ResponseHead.isRegular(ByteBuffer(string: text).readableBytesView))
    }

    @Test(
        "a GET and a POST have the bytes of NIO's encoder",
        arguments: [
            HTTPHeaders([("Authorization", "Bearer sk_test_1"), ("Accept", "application/json")]),
            HTTPHeaders([("host", "other.example"), ("X-Empty", "")]), HTTPHeaders(),
        ]
    )
    func sameBytes(headers: HTTPHeaders) throws {
        let call = Self.call(.GET, headers)
        #expect(call.plainBytes(ByteBufferAllocator()) == (try Self.encoded(call)))
        let post = Self.call(.POST, headers, body: ByteBuffer(string: #"{"seq":1}"#))
        #expect(post.plainBytes(ByteBufferAllocator()) == (try Self.encoded(post)))
    }

    /// Returns the bytes of NIO's encoder.
    private static func encoded(_ call: HTTPCall) throws -> ByteBuffer {
        let channel = EmbeddedChannel()
        var configuration = HTTPRequestEncoder.Configuration()
        configuration.automaticallySetFramingHeaders = false
        try channel.pipeline.syncOperations.addHandler(
            HTTPRequestEncoder(configuration: configuration)
        )
        try channel.writeOutbound(HTTPClientRequestPart.head(call.head))
        if let body = call.body {
            try channel.writeOutbound(HTTPClientRequestPart.body(.byteBuffer(body)))
        }
        try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        var encoded = ByteBuffer()
        while var part = try channel.readOutbound(as: ByteBuffer.self) {
            encoded.writeBuffer(&part)
        }
        return encoded
    }

    @Test("other methods, bodies and chunked requests are left to NIO's encoder")
    func others() {
        let allocator = ByteBufferAllocator()
        let chunked = HTTPHeaders([("Transfer-Encoding", "chunked")])
        #expect(Self.call(.HEAD, [:]).plainBytes(allocator) == nil)
        #expect(Self.call(.POST, [:]).plainBytes(allocator) == nil)
        #expect(Self.call(.GET, [:], body: ByteBuffer(string: "{}")).plainBytes(allocator) == nil)
        #expect(Self.call(.GET, chunked).plainBytes(allocator) == nil)
        let body = ByteBuffer(string: "{}")
        #expect(Self.call(.PUT, [:], body: body).plainBytes(allocator) == nil)
        #expect(Self.call(.POST, chunked, body: body).plainBytes(allocator) == nil)
    }

    private static func call(
        _ method: HTTPMethod,
        _ headers: HTTPHeaders,
        body: ByteBuffer? = nil
    ) -> HTTPCall {
        HTTPCall(
            method,
            "/v1/sources/src_1?client_secret=a%20b",
            at: HTTPOrigin(isSecure: false, host: "::1", port: 8080),
            addresses: [],
            headers: headers,
            body: body,
            deadline: .now(),
            bodyBytesMax: 1000
        )
    }
}
