import Foundation
import NIOHTTP1
import PollerClient
import PollerDeliveries
import PollerIdentity
import PollerQueue
import PollerTesting
import PollerWatches
import PollerWire
import Testing

@testable import PollerAPI

@Suite("Deliveries over HTTP", .timeLimit(.minutes(5)))
struct DeliveryRoutesTests {
    private static let url = "https://shop.example/hook"

    /// Marks the delivery of a source to the inline URL and commits a failed attempt.
    private func fail(
        _ api: LiveAPI,
        _ source: String,
        _ state: DeliveryState,
        _ verdict: Verdict,
        endpoint: EndpointID? = nil
    ) async throws -> DeliveryID {
        let key = try WatchKey(account: .main, source: SourceID(source), kind: .source)
        let url = try NotifyURL(Self.url)
        let mark =
            endpoint.map { DeliveryMark(endpoint: $0, watch: key) }
            ?? DeliveryMark(url: url, watch: key)
        let deliveries = api.backend.deliveries
        try await deliveries.mark([mark])
        let id = deliveries.id(of: mark.endpoint, key)
        let claim = try await deliveries.claim(
            ClaimRequest(partition: id.partition, lease: .seconds(45))
        )
        var result = AttemptResult.failed("answered 503", code: 503)
        result.phases = AttemptPhases(connectMs: 2, totalMs: 7)
        result.excerpt = "sorry"
        for lease in claim.leases {
            let attempt = AttemptRecord(
                at: claim.now,
                event: EventID(unchecked: "evt_1"),
                seq: 1,
                number: 1,
                outcome: result.outcome,
                kind: result.kind,
                code: result.code,
                address: "192.0.2.7:443",
                phases: result.phases,
                reason: result.reason,
                excerpt: result.excerpt
            )
            let change = DeliveryChange(state: state, lastError: "answered 503", attempt: attempt)
            _ = try await deliveries.commit([
                Commit(ref: lease.ref, verdict: verdict, change: change, signal: .failing)
            ])
        }
        return id
    }

    @Test("a delivery has its state, attempts and endpoint health")
    func get() async throws {
        try await LiveAPI.run { api in
            let state = DeliveryState(cursor: 1, failures: 1, attempts: 2, dead: [1])
            let id = try await fail(api, "src_1", state, .next(after: .seconds(60)))
            let answer = try await api.get("/v1/deliveries/\(id)")
            #expect(answer.status == 200, "\(answer.text)")
            #expect(answer["id"] == id.description && answer["state"] == "failing")
            #expect(answer["source"] == "src_1" && answer["url"] == Self.url)
            #expect(answer.json["dead_seqs"] as? [Int] == [1])
            #expect(answer["last_error"] == "answered 503")
            let health = try #require(answer.json["endpoint_health"] as? [String: Any])
            #expect(health["circuit"] as? String == "closed" && health["failures"] as? Int == 1)
            #expect(health["failing_since"] is String)
            let attempts = try await api.get("/v1/deliveries/\(id)/attempts").list("data")
            #expect(attempts.map { $0["class"] as? String } == ["server_error"])
            #expect(attempts.first?["excerpt"] as? String == "sorry")
            #expect((attempts.first?["ms"] as? [String: Any])?["total"] as? Int == 7)
        }
    }

    @Test("lists filter by endpoint, source and state")
    func list() async throws {
        try await LiveAPI.run { api in
            let watch = #"{"source":"src_2","notify":["\#(Self.url)"]}"#
            _ = try await api.post("/v1/watches", watch)
            let rest = DeliveryState(cursor: 1, attempts: 1)
            let dead = try await fail(api, "src_1", DeliveryState(dead: [1]), .setAside)
            let done = try await fail(api, "src_2", rest, .rest)
            func ids(_ query: String) async throws -> Set<String> {
                let answer = try await api.get("/v1/deliveries?\(query)")
                #expect(answer.status == 200, "\(answer.text)")
                return Set(answer.list("data").compactMap { $0["id"] as? String })
            }
            #expect(try await ids("") == [dead.description, done.description])
            #expect(try await ids("state=dead") == [dead.description])
            #expect(try await ids("state=done&source=src_2") == [done.description])
            #expect(try await ids("source=src_2&state=dead").isEmpty)
            let endpoint = EndpointID(account: .main, url: Self.url)
            #expect(try await ids("endpoint=\(endpoint)").count == 2)
            #expect(try await ids("endpoint=ep_AAAAAAAAAAAAAAAA").isEmpty)
            for wrong in ["state=lost", "account=a", "endpoint=x", "source=%0a", "limit=0"] {
                #expect(try await api.get("/v1/deliveries?\(wrong)").status == 400, "\(wrong)")
            }
        }
    }

    @Test("a listed delivery shows the open circuit or the pause of its endpoint")
    func waiting() async throws {
        try await LiveAPI.run { api in
            let endpoint = EndpointID(account: .main, url: Self.url)
            let state = DeliveryState(failures: 1, attempts: 1)
            _ = try await fail(api, "src_1", state, .next(after: .zero))
            func one() async throws -> [String: Any] {
                try #require(try await api.get("/v1/deliveries").list("data").first)
            }
            let free = try await one()
            #expect(free["next_attempt_at"] is String && free["endpoint_health"] == nil)
            for _ in 0..<9 { _ = try await fail(api, "src_1", state, .next(after: .zero)) }
            let held = try await one()
            let health = try #require(held["endpoint_health"] as? [String: Any])
            #expect(
                health["circuit"] as? String == "open" && health["failure"] as? String == "silent"
            )
            #expect(held["next_attempt_at"] as? String == health["held_until"] as? String)
            try await api.backend.deliveries.pause(LaneID(endpoint: endpoint))
            let stopped = try await one()
            #expect(stopped["next_attempt_at"] is NSNull)
            #expect((stopped["endpoint_health"] as? [String: Any])?["paused"] as? Bool == true)
            let shown = try await CommandRun.pollerctl("delivery", "list", url: api.url)
            #expect(shown.output.contains("when enabled"), "\(shown.output)")
        }
    }

    @Test("an endpoint has its count of dead deliveries and the last error")
    func deadLettered() async throws {
        try await LiveAPI.run { api in
            let made = try await api.post("/v1/endpoints", #"{"url":"\#(Self.url)"}"#)
            let id = try #require(made["id"])
            func health() async throws -> [String: Any]? {
                try await api.get("/v1/endpoints/\(id)").json["health"] as? [String: Any]
            }
            #expect(try await health() == nil)
            let state = DeliveryState(cursor: 1, attempts: 1, dead: [1])
            for source in ["src_1", "src_2"] {
                let endpoint = EndpointID(unchecked: id)
                let dead = try await fail(api, source, state, .setAside, endpoint: endpoint)
                let details = try await api.get("/v1/deliveries/\(dead)")
                #expect(details["given_up_at"] != nil && details["last_error"] == "answered 503")
            }
            let details = try #require(try await health())
            #expect(
                details["dead"] as? Int == 2 && details["last_error"] as? String == "answered 503"
            )
            let shown = try await CommandRun.pollerctl("endpoint", "get", id, url: api.url)
            #expect(shown.output.contains("events of 2 deliveries"), "\(shown.output)")
        }
    }

    @Test("a retry sends dead letters again; without any, it fails with `nothing_to_retry`")
    func retry() async throws {
        try await LiveAPI.run { api in
            let state = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
            let dead = try await fail(api, "src_1", state, .setAside)
            let client = try api.client()
            let revived = try await client.retry(delivery: dead.description)
            #expect(revived.retryingSeqs == [1, 2] && revived.state == "waiting")
            #expect(try await client.retry(delivery: dead.description).retryingSeqs == [1, 2])
            let rest = DeliveryState(cursor: 1, attempts: 1)
            let done = try await fail(api, "src_2", rest, .rest)
            let nothing = try await api.post("/v1/deliveries/\(done)/retry")
            #expect(nothing.status == 409 && nothing.code == "nothing_to_retry")
            let unknown = try await api.post("/v1/deliveries/dlv_0_AAAAAAAAAAAA/retry")
            #expect(unknown.status == 404 && unknown.code == "delivery_not_found")
            for id in ["dlv_0_short", "dlv_-1_AAAAAAAAAAAA", "dlv_00_AAAAAAAAAAAA", "x"] {
                #expect(try await api.get("/v1/deliveries/\(id)").status == 400, "\(id)")
            }
            #expect(try await api.get("/v1/deliveries/dlv_999_AAAAAAAAAAAA").status == 404)
        }
    }

    @Test("a dismissed delivery is not dead for lists, doctor and retry")
    func dismiss() async throws {
        try await LiveAPI.run { api in
            let state = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
            let dead = try await fail(api, "src_1", state, .setAside)
            let client = try api.client()
            for _ in 0..<2 {
                let rested = try await client.dismiss(delivery: dead.description)
                #expect(rested.state == "done" && rested.deadSeqs == [])
            }
            #expect(try await api.get("/v1/deliveries?state=dead").list("data").isEmpty)
            let nothing = try await api.post("/v1/deliveries/\(dead)/retry")
            #expect(nothing.code == "nothing_to_retry", "\(nothing.text)")
            #expect(try await api.get("/v1/stats").number("deliveries_dead") == 0)
            let checks = try await api.get("/v1/doctor").list("checks")
            let check = checks.first { $0["name"] as? String == "deliveries" }
            #expect(check?["message"] as? String == "nothing waits")
            let attempts = try await client.attempts(of: dead.description)
            #expect(attempts.count == 1, "what was tried stays on record")
            let unknown = try await api.post("/v1/deliveries/dlv_0_AAAAAAAAAAAA/dismiss")
            #expect(unknown.code == "delivery_not_found")
        }
    }

    @Test("a retry at a disabled endpoint fails with advice to enable it")
    func retryDisabled() async throws {
        try await LiveAPI.run { api in
            let made = try await api.post("/v1/endpoints", #"{"url":"\#(Self.url)"}"#)
            let endpoint = try EndpointID(try #require(made["id"]))
            let state = DeliveryState(cursor: 2, attempts: 9, dead: [1])
            let id = try await fail(api, "src_1", state, .setAside, endpoint: endpoint)
            _ = try await api.post("/v1/endpoints/\(endpoint)/disable")
            let refused = try await api.post("/v1/deliveries/\(id)/retry")
            #expect(refused.status == 409 && refused.code == "endpoint_disabled")
            let advice = "pollerctl endpoint enable \(endpoint)"
            #expect(refused["detail"]?.contains(advice) == true, "\(refused.text)")
            _ = try await api.post("/v1/endpoints/\(endpoint)/enable")
            #expect(try await api.post("/v1/deliveries/\(id)/retry").status == 200)
        }
    }

    @Test("the doctor's counts of dead and failing deliveries match the lists")
    func doctor() async throws {
        try await LiveAPI.run { api in
            try await api.announce("worker,notifier", host: "one")
            _ = try await fail(api, "src_1", DeliveryState(dead: [1]), .setAside)
            let goesOn = DeliveryState(cursor: 1, failures: 1, attempts: 2, dead: [1])
            _ = try await fail(api, "src_2", goesOn, .next(after: .seconds(60)))
            let dead = try await api.get("/v1/deliveries?state=dead").list("data").count
            #expect(dead == 2)
            let checks = try await api.get("/v1/doctor").list("checks")
            let check = checks.first { $0["name"] as? String == "deliveries" }
            let message = try #require(check?["message"] as? String)
            #expect(message == "1 are failing and are retried; \(dead) have dead letters")
        }
    }

    @Test("a server runs one replay of an endpoint, and four in all")
    func reservedReplays() async throws {
        try await LiveAPI.run { api in
            let replayer = Replayer(
                watches: api.backend.watches,
                outbox: api.backend.outbox,
                deliveries: api.backend.deliveries,
                clock: ContinuousClock()
            )
            let runner = ReplayRunner(replayer: replayer)
            let jobs = (0...4).map { number in
                let endpoint = EndpointID(unchecked: "ep_\(number)")
                return ReplayJob(endpoint: endpoint, choice: .dead, since: nil)
            }
            #expect(jobs[..<4].map(runner.reserve) == Array(repeating: .reserved, count: 4))
            #expect(runner.reserve(jobs[4]) == .tooMany && runner.reserve(jobs[3]) == .isRunning)
            runner.release(jobs[0])
            #expect(runner.reserve(jobs[4]) == .reserved)
        }
    }

    @Test("a replay retries the dead letters of an endpoint, and a dry run only counts them")
    func replay() async throws {
        try await LiveAPI.run { api in
            for number in 1...3 {
                let state = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
                _ = try await fail(api, "src_\(number)", state, .setAside)
            }
            let endpoint = EndpointID(account: .main, url: Self.url).description
            let client = try api.client()
            func finished() async throws -> Received<Replay> {
                var replay = try await client.replay(endpoint: endpoint)
                try await eventually("the replay is over") {
                    replay = try await client.replay(endpoint: endpoint)
                    return replay.isOver
                }
                return replay
            }
            try await client.replay(endpoint: endpoint, isDryRun: true)
            let counted = try await finished()
            #expect(counted.state == "finished" && counted.matched == 3 && counted.events == 6)
            let still = try await api.get("/v1/deliveries?state=dead").list("data")
            #expect(still.allSatisfy { ($0["retrying_seqs"] as? [Int])?.isEmpty == true })
            try await client.replay(endpoint: endpoint, rate: 1000)
            #expect(try await finished().matched == 3)
            let revived = try await api.get("/v1/deliveries?state=dead").list("data")
            #expect(revived.map { $0["retrying_seqs"] as? [Int] } == [[1, 2], [1, 2], [1, 2]])

            let path = "/v1/endpoints/\(endpoint)/replay"
            for wrong in [
                #"{"status":"all"}"#, #"{"status":"lost"}"#, #"{"since":"yesterday"}"#,
                #"{"rate":0}"#, #"{"sinse":1}"#, "[]",
            ] {
                let answer = try await api.post(path, wrong)
                #expect([400, 422].contains(answer.status), "\(wrong): \(answer.text)")
            }
            let never = try await api.get("/v1/endpoints/ep_AAAAAAAAAAAAAAAA/replay")
            #expect(never.status == 404 && never.code == "replay_not_found")
        }
    }

    @Test("pollerctl lists, shows, dismisses and retries deliveries")
    func commandLine() async throws {
        try await LiveAPI.run { api in
            let state = DeliveryState(cursor: 2, attempts: 9, dead: [1, 2])
            let id = try await fail(api, "src_1", state, .setAside).description
            let list = try await CommandRun.pollerctl("delivery", "list", url: api.url)
            #expect(list.status == 0 && list.output.hasPrefix("\(id)\tsrc_1\t"), "\(list)")
            #expect(list.output.contains("\tdead\t2\t9\tseq 1,2\t"))
            let attempts = try await CommandRun.pollerctl(
                "delivery",
                "attempts",
                id,
                url: api.url
            )
            #expect(attempts.output.contains("\tfailed\tserver_error\t503\t-/2/-/7\t192.0.2.7:443"))
            let get = try await CommandRun.pollerctl("delivery", "get", id, url: api.url)
            #expect(get.output.contains("dead") && get.output.contains(Self.url))
            let other = try await fail(api, "src_2", state, .setAside).description
            let rests = try await CommandRun.pollerctl("delivery", "dismiss", other, url: api.url)
            #expect(rests.output == "\(other) is dismissed\n", "\(rests)")
            let retry = try await CommandRun.pollerctl("delivery", "retry", id, url: api.url)
            #expect(retry.output == "\(id) resends events 1, 2\n")
            let some = try await CommandRun.pollerctl("delivery", "retry", "no", id, url: api.url)
            #expect(some.status == 1 && some.errors.contains("no: "), "\(some)")
            #expect(some.output == "\(id) resends events 1, 2\n", "the others continue")
            let wrong = try await CommandRun.pollerctl(
                "delivery",
                "replay",
                "ep_AAAAAAAAAAAAAAAA",
                "--status",
                "all",
                url: api.url
            )
            #expect(wrong.status == 64 && wrong.errors.contains("--since"))
        }
    }
}
