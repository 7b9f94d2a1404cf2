import Foundation
import NIOCore
import PollerTesting
import Testing

@testable import RedisClient

@Suite struct RedisReplyDecoderTests {
    @Test("a number outside the safe integers is a valid reply without an `int`")
    func extremeIntegers() {
        let most: Int64 = 9_007_199_254_740_991
        for number in [Int64.min, Int64.max, most + 1, -most - 1] {
            #expect(RedisValue.integer(number).int == nil)
            #expect(RedisValue.bulk(Array("\(number)".utf8)).int == nil)
            #expect(RedisValue.simpleString("\(number)").int == nil)
        }
        for number in [most, -most, 0] {
            #expect(RedisValue.integer(number).int == Int(number))
        }
        for text in ["1e3", "nan", "inf", "", "0x10", " 1", "9223372036854775808"] {
            #expect(RedisValue.bulk(Array(text.utf8)).int == nil)
        }
    }

    private static let limits = RedisReplyLimits(bytesMax: 4_096, elementsMax: 100, depthMax: 8)

    /// Feeds `chunks` and returns the replies and the error.
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

    @Test("a small reply is complete after the memory of a large one was released")
    func releasedMemory() {
        let texts = RedisValue.bulk([UInt8](repeating: 65, count: 3 << 20))
        let values = RedisValue.array((0..<70_000).map { .integer(Int64($0)) })
        let small = RedisValue.array([.bulk([66]), .integer(1), .array([]), .null])
        let replies = [small, texts, small, values, small]
        let limits = RedisReplyLimits(RedisConfiguration())
        let decoded = decode([replies.flatMap { RESP.bytes($0) }], limits: limits)
        #expect(decoded.values == replies && decoded.error == nil)
    }

    @Test("the bytes of an integer are read like its text")
    func integerBytes() {
        let texts = [
            "0", "7", "-7", "+7", "-0", "007", "9007199254740991", "-9007199254740991",
            "9007199254740992", "0000000000000000000012", "", "-", "+", "--1", "1-", " 1", "1 ",
            "1.5", "12a", "\u{661}",
        ]
        for text in texts {
            let value = RedisValue.bulk(Array(text.utf8))
            #expect(value.int == RedisValue.simpleString(text).int, "\(text)")
            #expect(value.firstByte == text.utf8.first)
        }
    }

    @Test("replies before an invalid one are still returned")
    func violationLater() {
        let (values, error) = decode("+OK\r\n:1\r\n*1000000000\r\n+never\r\n")
        #expect(values == [.simpleString("OK"), .integer(1)])
        #expect(error == .tooLarge("more than 100 elements"))
    }

    @Test("a protocol violation is permanent")
    func final() throws {
        let decoder = RedisReplyDecoder(limits: Self.limits)
        for text in ["@\r\n", "+OK\r\n"] {
            #expect(throws: RedisCodecError.self) {
                try decoder.decode(ByteBuffer(string: text)) { _ in }
            }
        }
    }

    @Test(
        "invalid bytes are rejected",
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

    @Test("arrays may nest as deep as the default limit and no deeper")
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

    @Test("a reply may have as many bytes as the limit and no more")
    func size() {
        let body = [UInt8](repeating: 65, count: 4_096 - "$4088\r\n".utf8.count - 2)
        #expect(decode([RESP.bytes(.bulk(body))]).values == [.bulk(body)])
        #expect(decode([RESP.bytes(.bulk(body + [65]))]).error == .tooLarge("more than 4096 bytes"))
        // Many small elements count together.
        let many = RedisValue.array((0..<99).map { _ in .bulk([UInt8](repeating: 1, count: 40)) })
        #expect(decode([RESP.bytes(many)]).error == .tooLarge("more than 4096 bytes"))
        // The count restarts with each reply.
        let half = RESP.bytes(.bulk([UInt8](repeating: 1, count: 3_000)))
        #expect(decode([half + half + half]).values.count == 3)
    }

    @Test("hiredis never sees the end of a line with a length beyond the limit")
    func guardStopsBeforeLineEnd() {
        for text in ["*1000000000\r\n", "$1000000000\r\n", "*2\r\n:1\r\n*99\r\n"] {
            var inspector = RedisReplyGuard(limits: Self.limits)
            let bytes = Array(text.utf8)
            let verdict = unsafe bytes.withUnsafeBytes { unsafe inspector.inspect($0) }
            #expect(verdict.violation != nil)
            #expect(verdict.accepted == bytes.count - 2)
        }
    }

    @Test("an endless line is rejected")
    func endlessLine() {
        let limits = RedisReplyLimits(bytesMax: 1 << 20, elementsMax: 1, depthMax: 1)
        let chunk = [UInt8](repeating: 65, count: 8_192)
        let (values, error) = decode([[43]] + (0..<9).map { _ in chunk }, limits: limits)
        #expect(values.isEmpty && error == .tooLarge("a line of more than 65536 bytes"))
    }
}

@Suite struct RedisReplyFuzzTests {
    private static let limits = RedisReplyLimits(bytesMax: 8_192, elementsMax: 400, depthMax: 8)

    /// Feeds `bytes` in random pieces.
    private func decode(
        _ bytes: [UInt8],
        using random: inout SeededGenerator
    ) throws -> [RedisValue] {
        let decoder = RedisReplyDecoder(limits: Self.limits)
        var values: [RedisValue] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let piece = rest.prefix(Int.random(in: 1...64, using: &random))
            rest = rest.dropFirst(piece.count)
            try decoder.decode(ByteBuffer(bytes: piece)) { values.append($0) }
        }
        return values
    }

    @Test("any valid reply is decoded from any pieces")
    func roundTrip() throws {
        let seed = SeededGenerator.newSeed()
        var random = SeededGenerator(seed: seed)
        for round in 0..<1_500 {
            let replies = (0..<3).map { _ in RESP.random(depth: 5, using: &random) }
            let bytes = replies.flatMap { RESP.bytes($0) }
            guard bytes.count < Self.limits.bytesMax else { continue }
            let values = try decode(bytes, using: &random)
            try #require(values == replies, "TEST_SEED=\(seed) round \(round)")
        }
    }

    @Test("mutated replies cause an error or wait for bytes, within the limits")
    func mutated() {
        let seed = SeededGenerator.newSeed()
        var random = SeededGenerator(seed: seed)
        var refused = 0
        var accepted = 0
        for round in 0..<6_000 {
            let replies = (0..<3).map { _ in RESP.random(depth: 4, using: &random) }
            var bytes = replies.flatMap { RESP.bytes($0) }
            for _ in 0..<Int.random(in: 1...4, using: &random) { mutate(&bytes, using: &random) }
            do {
                for value in try decode(bytes, using: &random) {
                    accepted += 1
                    let size = measure(value)
                    #expect(
                        size.elements <= Self.limits.elementsMax && size.depth <= 8,
                        "TEST_SEED=\(seed) round \(round)"
                    )
                }
            } catch {
                refused += 1
            }
        }
        // Both outcomes must occur, or the mutations test nothing.
        #expect(refused > 100 && accepted > 100, "TEST_SEED=\(seed)")
    }

    @Test("random bytes never crash the decoder")
    func garbage() {
        var random = SeededGenerator(seed: SeededGenerator.newSeed())
        let alphabet = Array("+-:$*0123456789\r\n\0x".utf8)
        for _ in 0..<6_000 {
            let count = Int.random(in: 1...80, using: &random)
            let bytes = (0..<count).map { _ in alphabet.randomElement(using: &random) ?? 0 }
            _ = try? decode(bytes, using: &random)  // an error is a right answer
        }
    }

    private func mutate(_ bytes: inout [UInt8], using random: inout SeededGenerator) {
        let interesting = [
            "*1000000000\r\n", "$2147483648\r\n", "$-2\r\n", "*-1\r\n", "*9223372036854775807\r\n",
            "\r\n", "\r", "*8\r\n*8\r\n*8\r\n", "$5\r\n", "9", "-", "",
        ].map { Array($0.utf8) }
        guard !bytes.isEmpty else { return }
        let at = Int.random(in: 0..<bytes.count, using: &random)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: bytes[at] = UInt8.random(in: 0...255, using: &random)
        case 1: bytes.remove(at: at)
        case 2: bytes.insert(contentsOf: interesting.randomElement(using: &random) ?? [], at: at)
        default: bytes.removeSubrange(at..<min(bytes.count, at + 5))
        }
    }

    private func measure(_ value: RedisValue) -> (elements: Int, depth: Int) {
        guard let elements = value.array else { return (0, 0) }
        let inner = elements.map { measure($0) }
        return (
            elements.count + inner.reduce(0) { $0 + $1.elements },
            1 + (inner.map(\.depth).max() ?? 0)
        )
    }
}

/// Encodes replies as a server does, independently of the code under test.
enum RESP {
    static func bytes(_ value: RedisValue) -> [UInt8] {
        switch value {
        case .simpleString(let text): Array("+\(text)\r\n".utf8)
        case .error(let error): Array("-\(error)\r\n".utf8)
        case .integer(let number): Array(":\(number)\r\n".utf8)
        case .slice(let bytes): Array("$\(bytes.count)\r\n".utf8) + bytes + Array("\r\n".utf8)
        case .array(let elements):
            Array("*\(elements.count)\r\n".utf8) + elements.flatMap { bytes($0) }
        case .null: Array("$-1\r\n".utf8)
        }
    }

    /// Returns a random valid reply whose arrays nest at most `depth` deep.
    static func random(depth: Int, using random: inout SeededGenerator) -> RedisValue {
        switch Int.random(in: 0..<(depth > 0 ? 8 : 6), using: &random) {
        case 0: return .simpleString(text(using: &random))
        case 1:
            return .error(RedisReplyError(code: "ERR", message: text(using: &random)))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &random))
        case 3: return .integer(Int64.random(in: -9...9, using: &random))
        case 4: return .null
        case 5:
            let count = Int.random(in: 0...40, using: &random)
            return .bulk((0..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        default:
            let count = Int.random(in: 0...4, using: &random)
            return .array((0..<count).map { _ in self.random(depth: depth - 1, using: &random) })
        }
    }

    private static func text(using random: inout SeededGenerator) -> String {
        let letters = Array("abc XYZ09:$*+-é")
        let count = Int.random(in: 1...12, using: &random)
        return String((0..<count).map { _ in letters.randomElement(using: &random) ?? "a" })
    }
}

extension SeededGenerator {
    /// The seed of a random test: `TEST_SEED` to repeat a failure, otherwise a new one each time.
    static func newSeed() -> UInt64 {
        ProcessInfo.processInfo.environment["TEST_SEED"].flatMap { UInt64($0) }
            ?? UInt64.random(in: 1...999_999_999)
    }
}
