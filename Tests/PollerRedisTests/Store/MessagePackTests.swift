import PollerTesting
import RedisClient
import Testing

@testable import PollerRedis

/// The records that scripts and the program exchange.
@Suite struct MessagePackTests {
    private static let texts = [0, 1, 31, 32, 255, 256, 65_535, 65_536]
        .map { String(repeating: "x", count: $0) }
    private static let numbers: [Int64] = [
        0, 1, 127, 128, 255, 256, 65_536, 4_294_967_296, 1_764_300_000_000, -1, -33, -129, -32_769,
        -2_147_483_649,
    ]

    @Test("a script reads texts, bytes, numbers and flags by name, and its reply is read back")
    func exchange() async throws {
        var writer = MessagePackWriter()
        writer.beginList(2)
        writer.beginMap()
        writer.add(CommitField.id, "id")
        writer.add(CommitField.isUrgent, true)
        writer.add(CommitField.isEndpoint, false)
        writer.add(CommitField.secret)
        writer.append([0, 255, 10])
        writer.add(CommitField.events)
        writer.beginList(Self.texts.count)
        for text in Self.texts { writer.append(text) }
        writer.endMap()
        writer.beginList(Self.numbers.count)
        for number in Self.numbers { writer.append(number) }
        let script = RedisScript(
            source: """
                #!lua
                local v = cmsgpack.unpack(ARGV[1])
                local first = { v[1].id, v[1].isUrgent == true, v[1].isEndpoint == nil, v[1].secret }
                return cmsgpack.pack(first, v[1].events, v[2], { name = 1 / 2 }, {})
                """
        )
        let argument = writer.argument
        try await withRedis { client in
            let reply = try await client.eval(script, keys: ["k"], arguments: [argument])
            try check(MessagePackReader(try #require(reply.bytes)))
        }
    }

    private func check(_ reply: MessagePackReader) throws {
        var reader = reply
        #expect(reader.list() == 4)
        #expect(reader.next()?.string == "id")
        for _ in 0..<2 {
            guard case .true = reader.next() else { return fail("a flag was not read") }
        }
        #expect(reader.next()?.text.map(Array.init) == [0, 255, 10])
        #expect(reader.list() == Self.texts.count)
        for text in Self.texts { #expect(reader.next()?.string == text) }
        #expect(reader.list() == Self.numbers.count)
        for number in Self.numbers { #expect(reader.next()?.int == Int(number)) }
        #expect(reader.map() == 1)
        #expect(reader.next()?.string == "name")
        #expect(reader.next()?.int == 0)
        #expect(reader.list() == 0)
        #expect(reader.next() == nil)
    }

    @Test("a number out of range and a value of another type are not read")
    func unreadable() {
        for number in [Double.infinity, -.infinity, .nan, 1e300] {
            #expect(MessagePackValue.double(number).int == nil)
        }
        #expect(MessagePackValue.int(.max).int == nil)
        #expect(MessagePackValue.double(1_764_300_627_104.571).int == 1_764_300_627_104)
        #expect(MessagePackValue.nothing.int == nil && MessagePackValue.int(1).text == nil)
        for bytes: [UInt8] in [[], [0xC1], [0xD9, 2, 65], [0xCB, 1], [0xDB, 255, 255, 255, 255]] {
            var reader = MessagePackReader(bytes)
            #expect(reader.next() == nil)
        }
    }

    @Test("any bytes are read or rejected without a trap")
    func random() {
        let seed = UInt64.random(in: 0...UInt64.max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<2000 {
            let count = Int.random(in: 0..<24, using: &generator)
            var reader = MessagePackReader(
                (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            )
            var values = 0
            while reader.next() != nil { values += 1 }
            #expect(values <= count, "seed \(seed)")
        }
    }
}
