import Foundation
import JSONText
import NIOCore
import NIOHTTP1
import PollerDeliveries
import PollerIdentity
import PollerOperations
import PollerQueue
import PollerTesting
import PollerWatches
import Testing

@testable import PollerAPI

/// The entries in the audit trail match the actual changes and their authors.
@Suite("Accuracy of the audit trail", .timeLimit(.minutes(5)))
struct AuditTruthTests {
    private static let admin = "key-of-ada-0123456789abc"
    private static let other = "key-of-bob-0123456789abc"
    private static let acme = "key-of-acme-0123456789ab"
    private static let keys = """
        \(admin) role=admin name=ada
        \(other) role=admin name=bob
        \(acme) role=admin account=acme name=acme-admin
        """

    private func run(_ body: (LiveAPI) async throws -> Void) async throws {
        try await LiveAPI.run(keys: KeyFile(text: Self.keys), body)
    }

    private func send(
        _ api: LiveAPI,
        _ method: HTTPMethod,
        _ path: String,
        _ body: String? = nil,
        key: String = admin,
        type: String = "application/json"
    ) async throws -> Answer {
        let headers = ["Authorization": "Bearer \(key)", "Content-Type": type]
        return try await api.request(method, path, body: body, headers: headers)
    }

    private func trail(_ api: LiveAPI, key: String = admin) async throws -> [[String: Any]] {
        try await send(api, .GET, "/v1/audit?limit=500", key: key).list("data")
    }

    private func enqueue(_ api: LiveAPI, _ sources: [String], account: String) async throws {
        for source in sources {
            let body = #"{"source":"\#(source)","account":"\#(account)"}"#
            #expect(try await send(api, .POST, "/v1/watches", body).status == 201)
        }
    }

    @Test("a batch cancellation that the store interrupts is audited")
    func interrupted() async throws {
        try await run { api in
            try await enqueue(api, ["src_1", "src_2", "src_3"], account: "acme")
            // A cancellation and its note; the second cancellation fails.
            api.plan.fail(.other, [.answerLost], after: 2)
            let body = #"{"q":"state=open"}"#
            let answer = try await send(api, .POST, "/v1/watches/batch/cancel", body)
            #expect(answer.status == 503, "\(answer.text)")
            let entries = try await trail(api)
            // The store may have carried out the cancellation that failed.
            let results = entries.map { ($0["after"] as? [String: Any])?["result"] as? String }
            #expect(entries.map { $0["action"] as? String } == ["cancelWatches", "cancelWatches"])
            #expect(results == [nil, "unknown"])
        }
    }

    @Test("a change whose answer is lost is audited, because a repeat finds nothing to change")
    func lostAnswer() async throws {
        try await run { api in
            try await enqueue(api, ["src_1"], account: "acme")
            #expect(try await send(api, .DELETE, "/v1/watches/src_1?account=acme").status == 200)
            let path = "/v1/watches/src_1/archive?account=acme"
            let line = try await send(api, .GET, path).text.replacing("src_1", with: "src_2")
            api.plan.fail(.other, [.answerLost])
            let restore = "/v1/watches/batch/restore?trust=true"
            let type = "application/x-ndjson"
            let lost = try await send(api, .POST, restore, line, type: type)
            #expect(lost.status == 503, "\(lost.text)")
            let again = try await send(api, .POST, restore, line, type: type)
            #expect(again.number("present") == 1, "\(again.text)")
            let entries = try await trail(api)
            #expect(
                entries.map { $0["action"] as? String } == ["restoreWatches", "cancelWatch"]
            )
            let after = try #require(entries.first?["after"] as? [String: Any])
            #expect(after["result"] as? String == "unknown")
        }
    }

    @Test("a change is audited even if the following read fails")
    func readBehind() async throws {
        try await run { api in
            try await enqueue(api, ["src_1"], account: "acme")
            // The feed also reads.
            api.plan.fail(.read, Array(repeating: .refused, count: 100))
            let answer = try await send(api, .DELETE, "/v1/watches/src_1?account=acme")
            #expect(answer.status == 503, "\(answer.text)")
            let entries = try await trail(api)
            #expect(entries.map { $0["action"] as? String } == ["cancelWatch"])
        }
    }

    @Test("the entry of a rotation does not contain a concurrent change by another key")
    func rotation() async throws {
        try await run { api in
            let hook = #"{"url":"https://h.example/a"}"#
            let made = try await send(api, .POST, "/v1/endpoints", hook)
            let id = try #require(made["id"])
            let channel = try await RawConnection.open(port: api.port, count: 1)[0]
            defer { channel.close(promise: nil) }
            let head = """
                POST /v1/endpoints/\(id)/rotate HTTP/1.1\r\nHost: x\r\n\
                Authorization: Bearer \(Self.other)\r\nContent-Type: application/json\r\n\
                Content-Length: 2\r\n\r\n
                """
            try await channel.writeAndFlush(ByteBuffer(string: head))
            // The head has been read once the server has responded to a complete later request.
            for _ in 0..<5 { _ = try await trail(api) }
            let change = #"{"url":"https://h.example/b"}"#
            let changed = try await send(api, .PATCH, "/v1/endpoints/\(id)", change)
            #expect(changed.status == 200)
            try await channel.writeAndFlush(ByteBuffer(string: "{}"))
            try await eventually("it is rotated") {
                try await trail(api).contains { $0["by"] as? String == "bob" }
            }
            let entry = try #require(try await trail(api).first { $0["by"] as? String == "bob" })
            let after = try #require(entry["after"] as? [String: Any])
            #expect(after["url"] == nil && after["secret"] as? String == "(changed)", "\(after)")
        }
    }

    @Test("concurrent changes of a lane are each audited with their own values only")
    func lanes() async throws {
        try await run { api in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for number in 0..<40 {
                    group.addTask {
                        let (verb, body): (String, String?) =
                            switch number % 3 {
                            case 0: ("pause", nil)
                            case 1: ("resume", nil)
                            default: ("limit", #"{"rate":\#(number + 1),"burst":1}"#)
                            }
                        let path = "/v1/lanes/acme/sources/\(verb)"
                        let status = try await send(api, .POST, path, body).status
                        #expect(status == 200)
                    }
                }
                try await group.waitForAll()
            }
            var changes = 0
            for entry in try await trail(api) {
                let old = try #require(entry["before"] as? [String: Any])
                let new = try #require(entry["after"] as? [String: Any])
                if entry["action"] as? String == "limitLane" {
                    #expect(Set(old.keys).union(new.keys) == ["limit"])
                    continue
                }
                #expect(Set(old.keys).union(new.keys) == ["paused"])
                changes += (new["paused"] as? Bool) == true ? 1 : -1
            }
            // Each change is recorded once, in any order.
            let lane = try await send(api, .GET, "/v1/lanes/acme/sources")
            #expect(changes == ((lane.json["paused"] as? Bool) == true ? 1 : 0))
        }
    }

    @Test("the query of a batch action is visible to unbound keys and to the account that sent it")
    func words() async throws {
        try await run { api in
            try await enqueue(api, ["src_1", "src_2"], account: "acme")
            let path = "/v1/watches/batch/cancel"
            let answer = try await send(api, .POST, path, #"{"q":"source=src_1"}"#)
            #expect(answer.number("done") == 1, "\(answer.text)")
            let own = #"{"q":"source=src_2","account":"acme"}"#
            #expect(try await send(api, .POST, path, own, key: Self.acme).number("done") == 1)
            func audited(_ key: String) async throws -> [String?] {
                try await trail(api, key: key).map {
                    ($0["after"] as? [String: Any])?["q"] as? String
                }
            }
            #expect(try await audited(Self.admin) == ["source=src_2", "source=src_1"])
            #expect(try await audited(Self.acme) == ["source=src_2", nil])
        }
    }

    @Test("dry runs are not audited, and a replay is audited with its rate and account")
    func replays() async throws {
        try await run { api in
            try await enqueue(api, ["src_1"], account: "acme")
            let cancel = #"{"q":"state=open","dry_run":true}"#
            let counted = try await send(api, .POST, "/v1/watches/batch/cancel", cancel)
            #expect(counted.number("matched") == 1)
            let key = WatchKey("src_1", of: AccountID(unchecked: "acme"))
            let mark = DeliveryMark(url: try NotifyURL("https://acme.example/hook"), watch: key)
            try await api.backend.deliveries.mark([mark])
            let path = "/v1/endpoints/\(mark.endpoint)/replay"
            let dry = try await send(api, .POST, path, #"{"dry_run":true}"#)
            #expect(dry.status == 202, "\(dry.text)")
            try await eventually("it is over") {
                try await send(api, .GET, path)["state"] != "running"
            }
            #expect(try await trail(api).isEmpty)
            let real = try await send(api, .POST, path, #"{"rate":7}"#)
            #expect(real.status == 202, "\(real.text)")
            let entries = try await trail(api, key: Self.acme)
            #expect(entries.count == 1 && entries.first?["account"] as? String == "acme")
            let after = entries.first?["after"] as? [String: String]
            #expect(after == ["status": "dead", "rate": "7"])
        }
    }

    @Test("changes from the configuration file are audited like changes by a route")
    func configured() async throws {
        let stores = try await RedisStores()
        let store = stores.endpoints
        let trail: any AuditTrail = stores.trail
        var generator = SystemRandomNumberGenerator()
        let account = AccountID(unchecked: "acme")
        var wanted = Endpoint(
            id: EndpointID(account: account, name: "books"),
            account: account,
            name: "books",
            url: try NotifyURL("https://books.example/"),
            secrets: [EndpointSecret(WebhookSecret(using: &generator))]
        )
        func apply() async throws -> (before: String?, after: String?) {
            let recorder = AuditRecorder(trail: trail, logger: LiveAPI.quiet)
            let file = FileEndpoints(
                [wanted],
                store: store,
                audit: (recorder, { ConfiguredChanges.endpoint(from: $0, to: $1) })
            )
            try await file.apply()
            let change = try await trail.entries(AuditQuery()).items.first?.change
            return (change?.before?.description, change?.after?.description)
        }
        _ = try await apply()
        wanted.secrets = [EndpointSecret(WebhookSecret(using: &generator))]
        var audited = try await apply()
        #expect(audited == (#"{"secret":"(not shown)"}"#, #"{"secret":"(changed)"}"#))
        wanted.headers = [try EndpointHeader("X-Auth", "canary")]
        audited = try await apply()
        #expect(audited == (#"{"headers":"(not shown)"}"#, #"{"headers":"(changed)"}"#))
        wanted.scope = try EndpointScope(types: ["payment.paid"])
        audited = try await apply()
        #expect(audited == (#"{"types":[]}"#, #"{"types":["payment.paid"]}"#))

        let limit = LaneLimit(ratePerSecond: 5, burst: 1, inFlightMax: 2)
        let lane = LaneID(account: account, kind: .http)
        let change = ConfiguredChanges.limit(of: lane, from: nil, to: limit, standard: .stripe)
        #expect(change.by == .configuration && change.action == "limitLane")
        #expect(change.account == account && change.after?.member("limit") != nil)
    }
}
