import Testing

@testable import RedisClient

@Suite struct RedisSlotMapTests {
    private let asked = RedisEndpoint.tcp(host: "10.0.0.9", port: 7000)

    private func node(_ host: String?, _ port: Int64) -> RedisValue {
        .array([host.map { .bulk(Array($0.utf8)) } ?? .null, .integer(port), .bulk([0x69])])
    }

    private func range(_ first: Int64, _ last: Int64, _ nodes: RedisValue...) -> RedisValue {
        .array([.integer(first), .integer(last)] + nodes)
    }

    private func at(_ port: Int) -> RedisEndpoint { .tcp(host: "10.0.0.9", port: port) }

    @Test("it knows the owner of every slot, and hosts that nodes leave out")
    func reads() throws {
        let reply = RedisValue.array([
            range(0, 5_000, node("10.0.0.1", 1), node("10.0.0.2", 2)),
            range(5_001, 16_382, node(nil, 3), node("", 4)),
            range(16_383, 16_383, node("?", 5)),
        ])
        let map = try #require(RedisSlotMap(reply, from: asked))
        #expect(map.owner(of: 0) == .tcp(host: "10.0.0.1", port: 1))
        #expect(map.owner(of: 5_000) == .tcp(host: "10.0.0.1", port: 1))
        #expect(map.owner(of: 5_001) == at(3))
        #expect(map.owner(of: 16_383) == nil && !map.isComplete)
        #expect(map.nodes.count == 4 && map.nodes.contains(at(4)))
    }

    @Test(
        "what is no map is refused",
        arguments: [
            RedisValue.null, .array([.integer(1)]), .array([.array([.integer(0), .integer(1)])]),
            .array([.array([.integer(-1), .integer(1), .array([])])]),
            .array([.array([.integer(0), .integer(16_384), .array([])])]),
        ]
    )
    func refused(reply: RedisValue) {
        #expect(RedisSlotMap(reply, from: asked) == nil)
    }

    @Test("a change says who took which slots from whom, and whether it was the replica")
    func changes() throws {
        let before = try #require(
            RedisSlotMap(
                .array([range(0, 99, node("", 1), node("", 2)), range(100, 16_383, node("", 3))]),
                from: asked
            )
        )
        let failedOver = try #require(
            RedisSlotMap(
                .array([range(0, 99, node("", 2)), range(100, 16_383, node("", 3))]),
                from: asked
            )
        )
        #expect(
            failedOver.changes(since: before) == [
                RedisMasterChange(old: at(1), new: at(2), slots: [0...99], isFailover: true)
            ]
        )
        var resharded = before
        resharded.move(7, to: at(3))
        resharded.move(9, to: at(3))
        #expect(
            resharded.changes(since: before) == [
                RedisMasterChange(old: at(1), new: at(3), slots: [7...7, 9...9], isFailover: false)
            ]
        )
        #expect(before.changes(since: before).isEmpty)
        var replaced = before
        for slot in 0..<100 { replaced.move(slot, to: at(3)) }
        #expect(replaced.changes(since: before).map(\.isFailover) == [true], "it may be one")
    }

    @Test("redirections are read, those of a nameless node as the node's own host")
    func redirections() {
        func read(_ line: String) -> RedisRedirect? {
            RedisRedirect(RedisReplyError(line: line), from: asked)
        }
        #expect(
            read("MOVED 3999 1.2.3.4:6381")
                == .moved(slot: 3_999, to: .tcp(host: "1.2.3.4", port: 6381))
        )
        #expect(read("ASK 0 :6381") == .ask(at(6381)))
        #expect(read("ASK 0 ::1:6381") == .ask(.tcp(host: "::1", port: 6381)))
        for line in ["ERR x", "MOVED", "MOVED 16384 h:1", "MOVED 1 h", "MOVED 1 h:0", "ASK x h:1"] {
            #expect(read(line) == nil)
        }
    }

    @Test("of several views the healthy one of the newest epoch counts")
    func views() throws {
        func view(_ state: String, _ epoch: Int, _ port: Int64) throws -> RedisClusterView {
            let info = "cluster_state:\(state)\r\ncluster_current_epoch:\(epoch)\r\n"
            return try #require(
                RedisClusterView(
                    [.array([range(0, 16_383, node("", port))]), .bulk(Array(info.utf8))],
                    from: asked
                )
            )
        }
        let views = try [view("fail", 9, 1), view("ok", 3, 2), view("ok", 4, 3), view("ok", 2, 4)]
        #expect(RedisClusterView.best(of: views)?.map.owner(of: 0) == at(3))
        #expect(RedisClusterView([.array([]), .null], from: asked) == nil)
    }
}
