import Testing

@testable import RedisClient

@Suite struct RedisSentinelAnswerTests {
    private let sentinel = RedisEndpoint.tls(host: "s", port: 26_379)

    private func texts(_ words: String...) -> RedisValue {
        .array(words.map { .bulk(Array($0.utf8)) })
    }

    private func answer(_ host: String, epoch: String) -> RedisSentinelAnswer? {
        RedisSentinelAnswer(
            [
                texts(host, "6379"), texts("name", "m", "config-epoch", epoch),
                .array([texts("name", "x", "ip", "10.0.0.7", "port", "26380", "odd")]),
            ],
            from: sentinel
        )
    }

    @Test("the newest answer counts, however few give it; of equals the one most give")
    func best() {
        let old = answer("old", epoch: "3")
        let new = answer("new", epoch: "4")
        let all = [old, new, old].compactMap(\.self)
        #expect(RedisSentinelAnswer.best(of: all) == new)
        let stale = answer("stale", epoch: "3")
        let tied = [stale, old, old].compactMap(\.self)
        #expect(RedisSentinelAnswer.best(of: tied) == old)
        #expect(RedisSentinelAnswer.best(of: []) == nil)
    }

    @Test("an answer names the master, its epoch and the other sentinels, all over TLS if asked so")
    func reads() {
        let read = answer("10.0.0.1", epoch: "12")
        #expect(read?.master == .tls(host: "10.0.0.1", port: 6379))
        #expect(read?.epoch == 12)
        #expect(read?.peers == [.tls(host: "10.0.0.7", port: 26_380)])
    }

    @Test("who may only ask for the address still gets it; who knows no address says nothing")
    func partial() {
        let refused = RedisValue.error(RedisReplyError(line: "NOPERM no"))
        let read = RedisSentinelAnswer([texts("h", "1"), refused, refused], from: sentinel)
        #expect(read?.epoch == 0 && read?.peers == [])
        #expect(RedisSentinelAnswer([.null, refused, refused], from: sentinel) == nil)
        #expect(RedisSentinelAnswer([texts("h", "0"), .null, .null], from: sentinel) == nil)
    }
}
