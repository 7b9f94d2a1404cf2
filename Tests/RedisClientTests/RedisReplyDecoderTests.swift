import NIOCore
import Testing

@testable import RedisClient

@Suite struct RedisReplyDecoderTests {
    private static let limits = RedisReplyLimits(bytesMax: 4_096, elementsMax: 100, depthMax: 8)

    /// Feeds `chunks` and returns the replies, and why it ended.
    private func decode(
        _ chunks: [[UInt8]],
        limits: RedisReplyLimits = Self.limits
    ) -> (values: [RedisValue], error: RedisCodecError?) {
        let decoder = RedisReplyDecoder(limits: limits)
        var values: [RedisValue] = []
        for chunk in chunks {
            do throws(RedisCodecError) {
                try decoder.decode(ByteBuffer(bytes: chunk)) { values.append($0) }
            } catch {
                return (values, error)
            }
        }
        return (values, nil)
    }

    private func decode(_ text: String) -> (values: [RedisValue], error: RedisCodecError?) {
        decode([Array(text.utf8)])
    }

    @Test("replies are the same wherever the bytes are split")
    func splits() {
        let replies: [RedisValue] = [
            .simpleString("OK"), .integer(-5), .null, .bulk([]), .bulk(Array("\r\n$3\r\n".utf8)),
            .error(RedisReplyError(code: "ERR", message: "no such key")), .array([]),
            .array([.bulk([0, 13, 10]), .array([.integer(1), .null]), .simpleString("x")]),
            .integer(.max), .integer(.min),
        ]
        let bytes = replies.flatMap { RESP.bytes($0) } + Array("*-1\r\n".utf8)
        let expected = replies + [.null]
        for first in 0...bytes.count {
            let (values, error) = decode([Array(bytes[..<first]), Array(bytes[first...])])
            #expect(values == expected && error == nil, "split at \(first)")
        }
        let (values, error) = decode(bytes.map { [$0] })
        #expect(values == expected && error == nil, "one byte at a time")
    }

    @Test("replies before a hostile one are still delivered")
    func violationLater() {
        let (values, error) = decode("+OK\r\n:1\r\n*1000000000\r\n+never\r\n")
        #expect(values == [.simpleString("OK"), .integer(1)])
        #expect(error == .tooLarge("more than 100 elements"))
    }

    @Test("a violation is final")
    func final() throws {
        let decoder = RedisReplyDecoder(limits: Self.limits)
        for text in ["@\r\n", "+OK\r\n"] {
            #expect(throws: RedisCodecError.self) {
                try decoder.decode(ByteBuffer(string: text)) { _ in }
            }
        }
    }

    @Test(
        "hostile bytes are refused",
        arguments: [
            "*1000000000\r\n", "*101\r\n", "*-2\r\n", "*99999999999999999999\r\n", "*\r\n",
            "*1x\r\n", "*+1\r\n", "$4097\r\n", "$9223372036854775807\r\n",
            "$-9223372036854775808\r\n", "$-2\r\n", "$--1\r\n", "$1\r\nab\r\n", "$1\r\na\n\n",
            "$0\r\nx\r\n", ":\r\n", ":12a\r\n", ":9223372036854775808\r\n", ":1\n", "+a\nb\r\n",
            "+a\rb", "HTTP/1.1 400 Bad Request\r\n", "\r\n", "\0", "%1\r\n", "~1\r\n", "_\r\n",
            "*50\r\n*51\r\n", "*2\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n*1\r\n",
        ]
    )
    func hostile(text: String) {
        for chunks in [[Array(text.utf8)], text.utf8.map { [$0] }] {
            let (values, error) = decode(chunks)
            #expect(values.isEmpty && error != nil, "\(values)")
        }
    }

    @Test("arrays nest exactly as deep as the default limit says")
    func depth() {
        let deepest = RedisConfiguration().replyDepthMax
        let limits = RedisReplyLimits(RedisConfiguration())
        func nested(_ depth: Int) -> [UInt8] {
            Array((String(repeating: "*1\r\n", count: depth) + ":7\r\n").utf8)
        }
        let fits = decode([nested(deepest)], limits: limits)
        #expect(fits.values.count == 1 && fits.error == nil)
        #expect(
            decode([nested(deepest + 1)], limits: limits).error
                == .tooLarge("arrays nested more than \(deepest) deep")
        )
    }

    @Test("a reply may have as many bytes as the limit and not one more")
    func size() {
        let body = [UInt8](repeating: 65, count: 4_096 - "$4088\r\n".utf8.count - 2)
        #expect(decode([RESP.bytes(.bulk(body))]).values == [.bulk(body)])
        #expect(decode([RESP.bytes(.bulk(body + [65]))]).error == .tooLarge("more than 4096 bytes"))
        // Many small elements count together.
        let many = RedisValue.array((0..<99).map { _ in .bulk([UInt8](repeating: 1, count: 40)) })
        #expect(decode([RESP.bytes(many)]).error == .tooLarge("more than 4096 bytes"))
        // The count starts afresh with each reply.
        let half = RESP.bytes(.bulk([UInt8](repeating: 1, count: 3_000)))
        #expect(decode([half + half + half]).values.count == 3)
    }

    @Test("hiredis never sees the end of a line that announces too much")
    func guardStopsBeforeLineEnd() {
        for text in ["*1000000000\r\n", "$1000000000\r\n", "*2\r\n:1\r\n*99\r\n"] {
            var inspector = RedisReplyGuard(limits: Self.limits)
            let bytes = Array(text.utf8)
            let verdict = unsafe bytes.withUnsafeBytes { unsafe inspector.inspect($0) }
            #expect(verdict.violation != nil)
            #expect(verdict.accepted == bytes.count - 2)
        }
    }

    @Test("an endless line is refused")
    func endlessLine() {
        let limits = RedisReplyLimits(bytesMax: 1 << 20, elementsMax: 1, depthMax: 1)
        let chunk = [UInt8](repeating: 65, count: 8_192)
        let (values, error) = decode([[43]] + (0..<9).map { _ in chunk }, limits: limits)
        #expect(values.isEmpty && error == .tooLarge("a line of more than 65536 bytes"))
    }
}
