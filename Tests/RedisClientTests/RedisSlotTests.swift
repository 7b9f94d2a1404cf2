import Testing

@testable import RedisClient

@Suite struct RedisSlotTests {
    @Test("a key's slot matches the specification, and is that of its hash tag if it has one")
    func slots() {
        // The check value of CRC16 in the specification, and replies of CLUSTER KEYSLOT.
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
        "the first key of a command is found",
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

@Suite struct RedisSlotMapTests {
    private let node = RedisEndpoint.tcp(host: "10.0.0.9", port: 7000)

    private func node(_ host: String?, _ port: Int64) -> RedisValue {
        .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port), .bulk([0x69])])
    }

    private func range(_ first: Int64, _ last: Int64, _ nodes: RedisValue...) -> RedisValue {
        .array([.integer(first), .integer(last)] + nodes)
    }

    private func at(_ port: Int) -> RedisEndpoint { .tcp(host: "10.0.0.9", port: port) }

    @Test("the map has the owner of every slot, and hosts that the node omits")
    func reads() throws {
        let reply = RedisValue.array([
            range(0, 5_000, node("10.0.0.1", 1), node("10.0.0.2", 2)),
            range(5_001, 16_382, node(nil, 3), node("", 4)),
            range(16_383, 16_383, node("?", 5)),
        ])
        let map = try #require(RedisSlotMap(reply, from: node))
        #expect(map.owner(of: 0) == .tcp(host: "10.0.0.1", port: 1))
        #expect(map.owner(of: 5_000) == .tcp(host: "10.0.0.1", port: 1))
        #expect(map.owner(of: 5_001) == at(3))
        #expect(map.owner(of: 16_383) == nil && !map.isComplete)
        #expect(map.nodes.count == 4 && map.nodes.contains(at(4)))
    }

    @Test(
        "an invalid map is rejected",
        arguments: [
            RedisValue.null, .array([.integer(1)]), .array([.array([.integer(0), .integer(1)])]),
            .array([.array([.integer(-1), .integer(1), .array([])])]),
            .array([.array([.integer(0), .integer(16_384), .array([])])]),
        ]
    )
    func refused(reply: RedisValue) {
        #expect(RedisSlotMap(reply, from: node) == nil)
    }

    @Test("a change has the old and the new node, and whether it is a failover")
    func changes() throws {
        let before = try #require(
            RedisSlotMap(
                .array([range(0, 99, node("", 1), node("", 2)), range(100, 16_383, node("", 3))]),
                from: node
            )
        )
        let failedOver = try #require(
            RedisSlotMap(
                .array([range(0, 99, node("", 2)), range(100, 16_383, node("", 3))]),
                from: node
            )
        )
        #expect(
            failedOver.changes(since: before) == [
                RedisSlotMap.Change(old: at(1), new: at(2), isFailover: true)
            ]
        )
        var resharded = before
        resharded.move(7, to: at(3))
        resharded.move(9, to: at(3))
        #expect(
            resharded.changes(since: before) == [
                RedisSlotMap.Change(old: at(1), new: at(3), isFailover: false)
            ]
        )
        #expect(before.changes(since: before).isEmpty)
        var replaced = before
        for slot in 0..<100 { replaced.move(slot, to: at(3)) }
        #expect(replaced.changes(since: before).map(\.isFailover) == [true], "it may be a failover")
    }

    @Test("redirections are parsed; an empty host is that of the replying node, and `?` unknown")
    func redirections() {
        func read(_ line: String) -> RedisRedirect? {
            RedisRedirect(RedisReplyError(line: line), from: node)
        }
        #expect(
            read("MOVED 3999 1.2.3.4:6381")
                == .moved(slot: 3_999, to: .tcp(host: "1.2.3.4", port: 6381))
        )
        #expect(read("ASK 0 :6381") == .ask(at(6381)))
        #expect(read("ASK 0 ::1:6381") == .ask(.tcp(host: "::1", port: 6381)))
        #expect(read("MOVED 3999 :6381") == .moved(slot: 3_999, to: at(6381)))
        #expect(read("MOVED 3999 ?:6381") == .unknown && read("ASK 0 ?:6381") == .unknown)
        for line in ["ERR x", "MOVED", "MOVED 16384 h:1", "MOVED 1 h", "MOVED 1 h:0", "ASK x h:1"] {
            #expect(read(line) == nil)
        }
    }

    @Test("of several views the healthy one of the newest epoch is used")
    func views() throws {
        func view(_ state: String, _ epoch: Int, _ port: Int64) throws -> RedisClusterView {
            let info = "cluster_state:\(state)\r\ncluster_current_epoch:\(epoch)\r\n"
            return try #require(
                RedisClusterView(
                    [.array([range(0, 16_383, node("", port))]), .bulk(Array(info.utf8))],
                    from: node
                )
            )
        }
        let views = try [view("fail", 9, 1), view("ok", 3, 2), view("ok", 4, 3), view("ok", 2, 4)]
        #expect(RedisClusterView.best(of: views)?.map.owner(of: 0) == at(3))
        #expect(RedisClusterView([.array([]), .null], from: node) == nil)
    }
}

@Suite struct RedisRefreshStateTests {
    private let start = RedisInstant(uptimeNs: 1_000_000_000)

    private func state() -> RedisRefreshState {
        RedisRefreshState(stableInterval: .seconds(10), unstableInterval: .milliseconds(250))
    }

    @Test("a thousand redirections cause one refresh, and one more after it")
    func storm() {
        var state = state()
        #expect(state.request(now: start) == start)
        let isFirst = state.begin(now: start)
        let isSecond = state.begin(now: start)
        #expect(isFirst && !isSecond)
        for _ in 0..<1_000 { #expect(state.request(now: start) == nil) }
        let next = state.finished(now: start + .milliseconds(3), isStable: true)
        #expect(next == start + RedisRefreshState.spacing)
        let isThird = state.begin(now: next)
        #expect(isThird)
        #expect(state.finished(now: next, isStable: true) == next + .seconds(10))
    }

    @Test("refreshes are frequent while a node is missing, and immediate after a long pause")
    func trouble() {
        var state = state()
        _ = state.begin(now: start)
        #expect(state.finished(now: start, isStable: false) == start + .milliseconds(250))
        #expect(state.request(now: start + .milliseconds(20)) == start + .milliseconds(100))
        #expect(state.request(now: start + .seconds(3)) == start + .seconds(3))
    }
}
