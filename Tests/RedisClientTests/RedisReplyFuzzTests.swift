import NIOCore
import Testing

@testable import RedisClient

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

    @Test("any valid reply survives the round trip in any pieces")
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

    @Test("mutated replies end in an error or in waiting, within the limits")
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
