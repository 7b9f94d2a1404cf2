import Testing

@testable import RedisClient

@Suite struct RedisSlotTests {
    @Test("a key's slot is what the specification says, by its hash tag if it has one")
    func slots() {
        // The check value of CRC16 in the specification, and what CLUSTER KEYSLOT answers.
        #expect(RedisSlot.of("123456789".utf8) == 0x31c3)
        #expect(RedisSlot.of("foo".utf8) == 12_182)
        #expect(RedisSlot.of("".utf8) == 0)
        #expect(RedisSlot.of("{user1000}.following".utf8) == RedisSlot.of("user1000".utf8))
        #expect(RedisSlot.of("foo{{bar}}zap".utf8) == RedisSlot.of("{bar".utf8))
        #expect(RedisSlot.of("foo{bar}{zap}".utf8) == RedisSlot.of("bar".utf8))
        #expect(RedisSlot.of("foo{}{bar}".utf8) == 8_363)
        #expect(RedisSlot.of("open{x".utf8) != RedisSlot.of("x".utf8))
        #expect(RedisSlot.of(.int(7)) == RedisSlot.of(.string("7")))
        #expect(RedisSlot.of(.bytes([0x66, 0x6f, 0x6f])) == 12_182)
    }

    @Test(
        "a command's key is found where Redis has it",
        arguments: [
            (RedisCommand("GET", ["k", "x"]), "k"),
            (RedisCommand("eval", ["return 1", 2, "k", "l", "a"]), "k"),
            (RedisCommand("EVALSHA", ["sha", 1, "k"]), "k"),
            (RedisCommand("EVALSHA", ["sha", 0, "arg"]), nil),
            (RedisCommand("XREADGROUP", ["GROUP", "g", "c", "STREAMS", "k", ">"]), "k"),
            (RedisCommand("XGROUP", ["CREATE", "k", "g", "0"]), "k"),
            (RedisCommand("ZUNION", [1, "k"]), "k"),
            (RedisCommand("BLMPOP", [0, 1, "k", "LEFT"]), "k"),
            (RedisCommand("DEBUG", ["SLEEP", "0"]), nil),
            (RedisCommand("DEBUG", ["object", "k"]), "k"),
            (RedisCommand("Time"), nil),
            (RedisCommand("PUBLISH", ["c", "m"]), nil),
            (RedisCommand("SCRIPT", ["LOAD", "x"]), nil),
            (RedisCommand("SPUBLISH", ["k", "m"]), "k"),
            (RedisCommand("GET"), nil),
        ] as [(RedisCommand, String?)]
    )
    func keys(command: RedisCommand, key: String?) {
        #expect(command.firstKey == key.map { .string($0) })
    }
}
