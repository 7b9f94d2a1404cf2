import NIOCore
import NIOEmbedded
import NIOHTTP1
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
    func agreesWithFields(seed: UInt64) {
        var generator = SplitMix(state: seed)
        var regularCount = 0
        for _ in 0..<20_000 {
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
        "a GET has the bytes of NIO's encoder",
        arguments: [
            HTTPHeaders([("Authorization", "Bearer sk_test_1"), ("Accept", "application/json")]),
            HTTPHeaders([("host", "other.example"), ("X-Empty", "")]), HTTPHeaders(),
        ]
    )
    func sameBytes(headers: HTTPHeaders) throws {
        let call = Self.call(.GET, headers)
        let channel = EmbeddedChannel()
        var configuration = HTTPRequestEncoder.Configuration()
        configuration.automaticallySetFramingHeaders = false
        try channel.pipeline.syncOperations.addHandler(
            HTTPRequestEncoder(configuration: configuration)
        )
        try channel.writeOutbound(HTTPClientRequestPart.head(call.head))
        try channel.writeOutbound(HTTPClientRequestPart.end(nil))
        var encoded = ByteBuffer()
        while var part = try channel.readOutbound(as: ByteBuffer.self) {
            encoded.writeBuffer(&part)
        }
        #expect(call.getBytes(ByteBufferAllocator()) == encoded)
    }

    @Test("other methods, bodies and chunked requests are left to NIO's encoder")
    func others() {
        let allocator = ByteBufferAllocator()
        let chunked = HTTPHeaders([("Transfer-Encoding", "chunked")])
        #expect(Self.call(.HEAD, [:]).getBytes(allocator) == nil)
        #expect(Self.call(.POST, [:]).getBytes(allocator) == nil)
        #expect(Self.call(.GET, [:], body: ByteBuffer(string: "{}")).getBytes(allocator) == nil)
        #expect(Self.call(.GET, chunked).getBytes(allocator) == nil)
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
